"""Models of all kinds with rows to ask them about, for those who score flat models by other means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pandas as pd

import naively as nv
from naively.model.recipe import RECIPE

from .tables import penguins

MODELS = ("auto", "textbook")
TEXTS = [
    "Good day, good night", "bad day in New York", "The night is GOOD", "new york new york", "bad bad weather 2021",
    "这 酒店 很好 good", "酒店不好,太贵了", "很好很好 hotel", "ภาษาไทย ดี", "ok 👍🏽 nice 👨‍👩‍👧 day", "🇩🇪 flag 1️⃣ key ☺️",
    "İstanbul ΟΔΟΣ straße ÅNGSTRÖM", "naïve cafe\u0301 re\u0301sume\u0301", "हिन्दी में लिखा", "a b c x", "",
    "क\u200dष word\u200cless it's",
    "snake_case __init__ 42", "two  blanks\tand\nlines", "한국어 텍스트 좋은 날", "ﬁne ⅷ ½ x² ²³",
]  # fmt: skip
MORE_TEXTS = [*TEXTS, "never seen words only", "good 酒店 👍🏽 new york", "day day day day", "?!", "İİ good day İ bad"]
TEXT_FAMILIES: dict[str, dict[str, Any]] = {
    "usual words": {},
    "no pairs": {"pairs": False},
    "up to three words": {"ngram_range": (1, 3)},
    "two words": {"ngram_range": (2, 2)},
    "stop words": {"stop_words": ("good", "the", "酒"), "ngram_range": (1, 2)},
    "a vocabulary": {"vocabulary": ("good", "new york", "bad", "nowhere")},
    "no lower case": {"lowercase": False},
    "words of ideographs": {"cjk": "words"},
    "rules of Python": {"rules": "python"},
    "rules of Python with marks": {"rules": "python", "marks": True},
    "characters": {"unit": "characters", "ngram_range": (1, 3)},
    "inside words": {"unit": "inside", "ngram_range": (2, 5)},
    "complements": {"complement": True},
    "norms of complements": {"complement": True, "norm": True},
    "flags": {"bernoulli": True},
    "rarity": {"idf": True},
    "once": {"times": "once"},
    "logarithms": {"times": "log", "idf": True},
    "few words": {"max_words": 10},
    "frequent words": {"min_df": 2},
}


def plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as rows of what JSON has."""
    return [{n: None if v is None or v != v else v for n, v in row.items()} for row in table.to_dict("records")]


def table_of(seed: int, rows: int = 120) -> pd.DataFrame:
    """Return a table with a column of every kind, missing values, and a class that depends on some of them."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "size": random.normal(y, 1.0).round(2),
            "wide": random.standard_cauchy(rows).round(1) * 10,
            "visits": random.poisson(1.0 + 2.0 * y),
            "color": random.choice(["red", "green", "blue", "?"], rows),
            "shape": np.where(random.random(rows) < 0.5, np.array(["round", "flat", "square"])[y], "other"),
            "member": random.random(rows) < 0.2 + 0.3 * y,
            "grade": random.integers(1, 6, rows),
            "code": random.choice([f"c{n}" for n in range(30)], rows),
        }
    )
    for name in ("size", "wide", "color", "shape"):
        table[name] = table[name].astype(object).where(random.random(rows) > 0.1, None)
    table["class"] = np.array(["low", "mid", "high"])[y]
    return table


def joint_table(rows: int = 400) -> pd.DataFrame:
    """Return a table whose classes differ in triples of columns, and in the covariance of two numbers."""
    random = np.random.default_rng(0)
    size, weight, tall = random.normal(size=(3, rows))
    color, shape = random.choice(["red", "green", "blue"], rows), random.choice(["round", "flat"], rows)
    high = (size > 0) ^ (weight > 0) ^ (color == "red")
    y = np.where(random.random(rows) < 0.1, random.integers(0, 3, rows), np.where(high, 2, random.integers(0, 2, rows)))
    wide = np.array([0.8, -0.8, 0.0])[y] * tall + 0.6 * random.normal(size=rows)
    columns = {"size": size, "weight": weight, "color": color, "tall": tall, "wide": wide, "shape": shape}
    table = pd.DataFrame({name: pd.Series(cells).where(random.random(rows) > 0.03) for name, cells in columns.items()})
    return table.assign(**{"class": np.array(["low", "mid", "high"])[y]})


def joint_model(**settings: Any) -> tuple[nv.NaiveBayes, list[dict[str, Any]]]:
    """Return a model with every kind of term of several columns, and rows, some with values that it has not seen."""
    nb = nv.NaiveBayes(**settings).fit(joint_table(), target="class")
    assert {"pair", "triple", "quadratic"} <= {term["kind"] for term in nb.flat().content["terms"]}
    rows = plain_rows(joint_table().drop(columns="class"))[:40]
    odd = [{"size": inf}, {"tall": -inf}, {"wide": 1e300}, {"color": "pink"}, {"shape": None, "weight": None}]
    return nb, [*rows, dict.fromkeys(rows[0]), *(rows[0] | cells for cells in odd)]


def asked(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows of a table, and rows with values that it does not have."""
    rows = plain_rows(table.drop(columns="class"))[:60]
    odd = {"size": 1e9, "wide": -1e9, "visits": 400, "color": "pink", "shape": "new", "grade": 9, "code": "none"}
    return [*rows, rows[0] | odd, dict.fromkeys(rows[0]), *(rows[1] | {name: odd[name]} for name in odd)]


SETTINGS: dict[str, dict[str, Any]] = {
    "usual": {},
    "missing values count": {"missing": "value"},
    "unseen values are smoothed": {"unseen": "smooth", "missing": "value"},
    "rare values": {"max_categories": 4},
    "a prior": {"prior": {"low": 0.1, "mid": 0.2, "high": 0.7}},
    "class weights": {"class_weight": {"low": 1.0, "mid": 3.0, "high": 0.5}},
    "a temperature": {"temperature": 2.5},
    "frequencies": {"estimate": "mle"},
    "modes": {"estimate": "map"},
    "little smoothing": {"smoothing": 0.1},
    "some columns": {"columns": ["size", "color", "visits"]},
}
FAMILIES: dict[str, dict[str, Any]] = {
    "usual": {},
    "counts": {"visits": "poisson", "grade": "poisson"},
    "bins": {"size": "bins", "wide": nv.Bins(cuts=(-10.0, 0.0, 3.0)), "grade": "bins"},
    "flags": {"visits": nv.Bernoulli(threshold=2.0), "member": "bernoulli"},
    "levels": {"grade": "ordinal", "shape": nv.Ordinal(levels=("flat", "round", "square", "other", "new"))},
    "numbers as labels": {"grade": "categorical", "visits": "categorical"},
    "common values": {"code": nv.Categorical(spread="overall")},
}


def fitted(table: pd.DataFrame, model: str, families: dict[str, Any] | None = None, **how: Any) -> nv.NaiveBayes:
    """Return a model of a table; what a model does not have is an error of its own."""
    return nv.NaiveBayes(model=model, families=families, **how).fit(table, target="class")


def text_models(name: str) -> Iterator[tuple[str, nv.NaiveBayes]]:
    """Give models of texts of one family."""
    y = ["p" if at % 3 else "n" for at in range(len(TEXTS))]
    for model in MODELS:
        found = nv.NaiveBayes(model=model, families={"text": nv.Words(**TEXT_FAMILIES[name])})
        yield model, found.fit({"text": TEXTS * 3}, y * 3)


def letters(classes: int) -> tuple[nv.NaiveBayes, list[dict[str, Any]]]:
    """Return a model with so many classes, and rows."""
    random = np.random.default_rng(classes)
    y = np.arange(40 * classes) % classes
    X = pd.DataFrame({"x": random.normal(y, 2.0), "z": [f"v{n}" for n in y + random.integers(0, 3, len(y))]})
    nb = nv.NaiveBayes().fit(X, [chr(97 + k) for k in y])
    return nb, plain_rows(X[:100])


def wide_model(model: str = "auto", **settings: Any) -> tuple[nv.NaiveBayes, list[dict[str, Any]]]:
    """Return a model of so many columns that most share one weight in the default model, and rows."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200)
    X = pd.DataFrame(random.normal(0.3 * y[:, None], 1.0, (200, 90))).add_prefix("x")
    for name in ("z", "w"):
        X[name] = np.array(["a", "b"])[np.where(random.random(200) < 0.2, y, random.integers(0, 2, 200))]
    X = X.where(random.random(X.shape) > 0.1)
    narrow = type("Narrow", (nv.NaiveBayes,), {"_recipe": replace(RECIPE, most_features=60)})
    nb = narrow(model=model, **settings).fit(X, y)
    assert model == "textbook" or nb.fitted_.model.others
    return nb, plain_rows(X[:20])


def penguin_rows() -> list[dict[str, Any]]:
    """Return the penguins as rows."""
    return plain_rows(penguins()[0])
