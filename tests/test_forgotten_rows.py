"""No byte of a forgotten row stays: neither in memory of the model, nor in its pickle, nor in its file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.counting import sample

from .traces import traces, traces_in_file

SIZE = 150
LOW, HIGH, MIDDLE = -987.654321012345, 987.654321012345, 0.123456789012345
MODELS = {
    "auto": {},
    "refined": {"model": "refined"},
    "textbook, tuned": {"model": "textbook", "smoothing": "auto", "temperature": "auto"},
    "textbook": {"model": "textbook"},
}
FAMILIES = {"text": "words", "few": "poisson", "grade": nv.Ordinal(["low", "middle", "high"])}


def rows_of(n, seed=0):
    """Return rows of columns of many types, with their classes."""
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes"])[rng.integers(2, size=n)]
    table = {
        "size": rng.normal(size=n) + (y == "yes"),
        "colour": rng.choice(["red", "blue", "green"], n),
        "code": rng.integers(1, 5, n).astype(str),
        "other": rng.normal(size=n),
        "text": [" ".join(rng.choice(["apple", "pear", "plum", "fig", "nut"], 4)) for _ in range(n)],
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D"),
        "few": rng.poisson(3, n),
        "grade": rng.choice(["low", "middle", "high"], n),
    }
    return pd.DataFrame(table), y


def with_secrets(at, number, label=None):
    """Return rows of which one holds cells that no other has, and these cells."""
    X, y = rows_of(SIZE)
    y = y.astype(object)
    secret = {"size": number, "colour": "zinnober", "code": "9.876,5", "text": "xylophone apple", "few": 40_961_723}
    X.loc[at, list(secret)] = list(secret.values())
    X.loc[at, "when"] = when = pd.Timestamp("1923-04-05 06:07:08.910")
    y[at] = y[at] if label is None else label
    seconds = when.timestamp()
    cells = [
        number,
        "zinnober",
        "9.876,5",
        "xylophone",
        40_961_723.0,
        seconds,
        seconds * 1e3,
        seconds * 1e6,
        "1923-04-05",
    ]
    return X, y, [*cells, *([] if label is None else [label])]


def check_nothing_stays(nb, cells, tmp_path, rows):
    """Look for cells in a model before and after a question, in its files, and in what is read from these."""
    assert traces(nb, cells) == []
    nb.predict_proba(rows)
    assert "secret" not in nb.summary()
    assert traces(nb, cells) == []
    for kept in (False, True) if nb.kept_rows_.rows else (False,):
        path = tmp_path / f"{kept}.parquet"
        nb.save(path, rows=kept)
        assert traces_in_file(path, cells) == []


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
@pytest.mark.parametrize("kept", ["all rows", "a sample", "no row"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("at", "number", "label"), [(0, LOW, None), (SIZE - 1, HIGH, "secretly"), (70, MIDDLE, None)])
def test_nothing_of_a_forgotten_row_stays(kept, model, at, number, label, monkeypatch, tmp_path):
    """The first row of all with the lowest number, the last one with the highest and a class of its own, any other."""
    if kept == "a sample":
        monkeypatch.setattr(sample, "KEPT", 60)
    X, y, cells = with_secrets(at, number, label)
    nb = nv.NaiveBayes(families=FAMILIES, **MODELS[model]).fit(X, y)
    assert {text.split(" ")[0] for text in traces(nb, cells)} >= {"'zinnober'", "'xylophone'"}  # it can be found
    nb = nb.drop_rows() if kept == "no row" else nb
    nb.forget(X.iloc[[at]], y[[at]])
    check_nothing_stays(nb, cells, tmp_path, X)
    rest = np.arange(SIZE) != at
    if kept == "all rows":
        whole = nv.NaiveBayes(families=FAMILIES, **MODELS[model]).fit(X[rest], y[rest])
        assert np.allclose(nb.predict_proba(X[rest]), whole.predict_proba(X[rest]), rtol=0, atol=1e-9)
