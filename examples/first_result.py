"""A first result: penguins with missing values, a textbook's table worked out by hand, the five classic classes."""

import math

import sklearn.naive_bayes
from palmerpenguins import load_penguins
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_selector as of_type
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import PredefinedSplit, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import naively as nv
import naively.sklearn

CONTESTS = [
    ("iris", load_iris, "GaussianNB", {}),
    ("wine", load_wine, "GaussianNB", {}),
    ("breast cancer", load_breast_cancer, "GaussianNB", {}),
    ("digits", load_digits, "MultinomialNB", {}),
    ("digits", load_digits, "ComplementNB", {}),
    ("digits", load_digits, "BernoulliNB", {"binarize": 7.5}),
    ("digits", load_digits, "CategoricalNB", {"min_categories": 17}),
]

# A penguin seen from afar: most of it was not measured.
PENGUIN = {
    "island": "Dream",
    "bill_length_mm": 43.0,
    "bill_depth_mm": None,
    "flipper_length_mm": 193.0,
    "body_mass_g": None,
    "sex": None,
    "year": 2009,
}

# time, plan, weather, homework, epidemic, television; will there be a date?
COLUMNS = ["时间", "方式", "天气", "课业", "疫情", "电视", "约会"]
DATES = """\
周六 吃饭 晴天 轻松 清零 精彩 是
周日 吃饭 阴天 轻松 清零 精彩 是
周日 吃饭 晴天 轻松 清零 精彩 是
周六 吃饭 阴天 轻松 清零 精彩 是
周间 吃饭 晴天 轻松 清零 精彩 是
周六 逛街 晴天 轻松 平缓 无聊 是
周日 逛街 晴天 适中 平缓 无聊 是
周日 逛街 晴天 轻松 平缓 精彩 是
周日 逛街 阴天 适中 平缓 精彩 否
周六 学习 雨天 轻松 严峻 无聊 否
周间 学习 雨天 繁重 严峻 精彩 否
周间 吃饭 晴天 繁重 严峻 无聊 否
周六 逛街 晴天 适中 清零 精彩 否
周间 逛街 阴天 适中 清零 精彩 否
周日 逛街 晴天 轻松 平缓 无聊 否
周间 吃饭 晴天 繁重 严峻 精彩 否
周六 吃饭 阴天 适中 平缓 精彩 否
"""
QUESTION = "周六 逛街 阴天 适中 清零 无聊"


def show_penguins() -> None:
    """Print what was learned of a mixed table with missing values, its accuracy, and the prediction for one row."""
    penguins = load_penguins()
    nb = nv.NaiveBayes().fit(penguins, target="species")
    print(f"Penguins: {len(penguins)} rows, {int(penguins.isna().sum().sum())} empty cells, fitted as loaded")
    print(nb.summary())

    print("\naccuracy in 5-fold cross-validation, all on the same folds")
    X, y = penguins.drop(columns="species"), penguins["species"]
    scores = nv.cross_validate(penguins, target="species", cv=5)  # the folds of `naively fit`, too
    print(f"  {scores.accuracy:.1%}  naively NaiveBayes")
    for name, pipeline in pipelines():
        print(f"  {(cross_val_predict(pipeline, X, y, cv=PredefinedSplit(scores.folds)) == y).mean():.1%}  {name}")

    known = ", ".join(f"{name} {value}" for name, value in PENGUIN.items() if value is not None)
    shares = zip(nb.classes_, nb.predict_proba(PENGUIN)[0], strict=True)
    print(f"\nA penguin of which little is known ({known}):")
    print(f"  {', '.join(f'{label} {share:.1%}' for label, share in shares)}")


def pipelines() -> list[tuple[str, ClassifierMixin]]:
    """Give what scikit-learn's classes need for the same table: encoders, and imputed missing values."""
    numbers, others = of_type(dtype_include="number"), of_type(dtype_exclude="number")
    often = SimpleImputer(strategy="most_frequent")
    one_hot = make_pipeline(often, OneHotEncoder(sparse_output=False, handle_unknown="ignore"))
    filled = make_column_transformer((SimpleImputer(), numbers), (one_hot, others))
    bins = make_pipeline(SimpleImputer(), KBinsDiscretizer(8, encode="ordinal", strategy="uniform"))
    coded = make_column_transformer((bins, numbers), (make_pipeline(often, OrdinalEncoder()), others))
    return [
        ("scikit-learn imputer, one-hot encoder, GaussianNB", make_pipeline(filled, sklearn.naive_bayes.GaussianNB())),
        ("scikit-learn imputer, bins, CategoricalNB", make_pipeline(coded, sklearn.naive_bayes.CategoricalNB())),
    ]


def show_date() -> None:
    """Print the arithmetic of the worked table, without smoothing and with Laplace's rule."""
    days = [dict(zip(COLUMNS, line.split(), strict=True)) for line in DATES.splitlines()]
    today = dict(zip(COLUMNS, QUESTION.split(), strict=False))
    nb = nv.NaiveBayes().fit(days, target=COLUMNS[-1])
    print(f"\nWill there be a date (是) or not (否)? {len(days)} days are known; today: {QUESTION}")
    for estimate, smoothing in (("mle", 0), ("bayes", 1)):
        nb.set_params(estimate=estimate)  # acts at once, on the counts there are
        print(f'estimate="{estimate}"' + (f", λ = {smoothing}" if smoothing else ", no smoothing"))
        for label in nb.classes_:
            parts = fractions(nb.counts_, today, label, smoothing)
            product = math.prod(n / total for n, total in parts)
            print(f"  {label}  {' · '.join(f'{n:g}/{total:g}' for n, total in parts)} = {product:.6g}")
        print(f"  so {nb.predict(today)[0]}, with probability {nb.predict_proba(today)[0].max():.10f}")


def fractions(counts: nv.Counts, row: dict[str, str], label: str, smoothing: float) -> list[tuple[float, float]]:
    """Give P(class) and each P(value | class) as unreduced fractions: counts, and λ for each possible value."""
    k = counts.classes.place(label)
    parts = [(counts.rows[k] + smoothing, counts.rows.sum() + smoothing * len(counts.classes))]
    for name, table in counts.columns.items():
        line = table.n[k]
        parts.append((line[table.values.place(row[name])] + smoothing, line.sum() + smoothing * len(table.values)))
    return parts


def show_contests() -> None:
    """Print one line for each contest: accuracy in 5-fold cross-validation, ours and scikit-learn's."""
    print("\nThe five classic classes, a changed import away:")
    print("data set       rows x columns  classes  class          naively  scikit-learn")
    for name, load, class_name, settings in CONTESTS:
        X, y = load(return_X_y=True)
        makers = (getattr(module, class_name) for module in (naively.sklearn, sklearn.naive_bayes))
        ours, theirs = (cross_val_score(make(**settings), X, y).mean() for make in makers)
        shape = f"{X.shape[0]} x {X.shape[1]}"
        print(f"{name:13}  {shape:>14}  {len(set(y)):7}  {class_name:13}  {ours:7.4f}  {theirs:12.4f}")


if __name__ == "__main__":
    show_penguins()
    show_date()
    show_contests()
