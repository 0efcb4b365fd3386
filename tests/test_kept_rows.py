"""Rows that are kept beside the counts: a sample by their content alone; weights, labels, copies, answers that lag."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv
from naively.counting import sample
from naively.counting.counter import TableCounter
from naively.counting.files import FileRows
from naively.counting.reading import labeled_rows
from naively.counting.row_hash import RowHasher, frame_hashes
from naively.counting.rows import Rows
from naively.counting.sample import Sample, sample_places
from naively.data.column import Column
from naively.data.frame import frame_of
from naively.data.schema import Schema
from naively.data.target import Target
from naively.model.recipe import RECIPE

N, KEPT = 400, 150


def table(n=N, seed=0):
    """Return rows of numbers and labels, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    colour = np.array(["red", "green", "blue"])[(y + rng.integers(2, size=n)) % 3]
    return pd.DataFrame({"size": y + rng.normal(size=n), "colour": colour}), y.astype(str)


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [KEPT, N])
def test_faded_rows_are_known_to_calibrate(kept, keep):
    keep(kept)
    X, y = table()
    nb = 0.5 * nv.NaiveBayes().fit(X, y)
    p = nb.predict_proba(X)
    assert nb.calibrate(X, y, sample_weight=np.full(N, 0.5)).predict_proba(X).shape == p.shape


def test_classes_may_weigh_nothing_in_models_that_are_merged(keep):
    keep(KEPT)
    X, y = table()
    y[:60] = "2"
    parts = [nv.NaiveBayes(class_weight={"0": 1.0, "1": 2.0, "2": 0.0}).fit(X[at], y[at]) for at in halves()]
    merged = nv.merge(parts)
    assert merged.counts_.rows.tolist() == [np.sum(y == "0"), 2 * np.sum(y == "1")]
    assert np.isfinite(merged.predict_proba(X)).all()


def halves():
    """Return two halves of the rows, which come one by one."""
    return slice(0, N, 2), slice(1, N, 2)


# -- labels ------------------------------------------------------------------------------------------------------------


def soft_labels(n, seed=0):
    """Return proportions of two classes."""
    p = np.random.default_rng(seed).uniform(size=n)
    return pd.DataFrame({"0": p, "1": 1 - p})


@pytest.mark.parametrize("first", ["plain", "soft"])
def test_plain_and_soft_labels_of_one_model_are_forgotten(first):
    (X, y), (more, _), soft = table(), table(100, 1), soft_labels(100)
    nb = nv.NaiveBayes()
    if first == "plain":
        nb.fit(X, y).partial_fit(more, soft)
    else:
        nb.fit(more, soft).partial_fit(X, y)
    nb.forget(X[:50], y[:50]).forget(more[:20], soft[:20])
    assert nb.kept_rows_.rows == N + 100 - 70
    assert nb.counts_.rows.sum() == pytest.approx(N + 100 - 70)
    nb.forget(X[50:], y[50:])
    whole = nv.NaiveBayes().fit(more[20:], soft[20:])
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def half_labelled(n, seed=0):
    """Return rows of which every second has no label; their columns do not belong together, so they are not used."""
    X, y = table(n, seed)
    size = X["size"].to_numpy(copy=True)
    size[::2] = np.random.default_rng(seed).permutation(size[::2])
    return X.assign(size=size), [label if at % 2 else None for at, label in enumerate(y)]


def test_rows_without_a_label_are_counted_for_no_class_once_some_rows_are_dropped(keep):
    keep(N)
    X, y = half_labelled(N - 10)
    nb = nv.NaiveBayes(unlabelled="em", estimate="map").fit(X, y)
    assert nb.expected_ is None
    assert nb.kept_rows_.rows == N - 10
    assert nb.predict_set(X[:5]).shape == (5, 2)
    more, labels = table(50, 1)
    nb.partial_fit(more, labels)
    assert nb.counts_.rows.sum() == N / 2 - 5 + 50
    assert not nb.kept_rows_.complete
    assert nb.tuning_.learned.joint.rows.sum() == nb.kept_rows_.rows
    assert (nb.fitted_.state.kept.rows().target.codes >= 0).all()
    assert np.isfinite(nb.partial_fit(*table(200, 2)).predict_proba(X)).all()


# -- the sample of rows ------------------------------------------------------------------------------------------------

ROWS = 700


def mixed(rows=ROWS, seed=0):
    """Return a table with numbers, labels and texts, copies of rows among them."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["high", "low", "none"], rows, p=[0.5, 0.4, 0.1])
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows).round(2)),
            "visits": rng.integers(0, 50, rows),
            "color": pd.Series(rng.choice(["red", "grün", "蓝", ""], rows)).replace("", None),
            "member": rng.random(rows) < 0.5,
            "note": [f"{k} and {n}" for k, n in zip(kind, rng.integers(0, 9, rows), strict=True)],
            "kind": kind,
        }
    )
    at = np.arange(rows)
    at[rows // 2 : rows // 2 + 60] = 0  # many copies of one row
    return table.iloc[at].reset_index(drop=True)


@pytest.fixture(params=["DataFrame", "arrow", "shuffled", "columns turned round", "csv", "csv shuffled", "parquet"])
def source(request, tmp_path):
    """Return the same table, written in many ways."""
    table = mixed()
    shuffled = table.sample(frac=1.0, random_state=3)
    if request.param == "columns turned round":
        return table[table.columns[::-1]]
    if request.param == "arrow":
        return pa.Table.from_pandas(table, preserve_index=False)
    if request.param.startswith("csv"):
        (shuffled if "shuffled" in request.param else table).to_csv(path := tmp_path / "t.csv", index=False)
        return path
    if request.param == "parquet":
        pq.write_table(pa.Table.from_pandas(shuffled, preserve_index=False), tmp_path / "t.parquet", row_group_size=50)
        return tmp_path / "t.parquet"
    return shuffled if request.param == "shuffled" else table


def contents(frame, labels):
    """Return how often each row occurs, as plain values in the order of the columns' names."""
    names = sorted(frame.columns)
    columns = []
    for name in names:
        values = frame.columns[name]
        columns.append(values.labels(0, frame.rows) if values.type == "text" else values.numbers(0, frame.rows))
    cells = [
        [None if at < 0 else column.labels[at] for at in column.which]
        if hasattr(column, "which")
        else [None if np.isnan(x) else float(x) for x in column]
        for column in columns
    ]
    return Counter(zip(*cells, labels, strict=True))


def sampled(source, kept, most, keep, families=None, weight=None):
    """Return the rows of the sample, as values, of a table or a file."""
    keep(kept)
    rows = labeled_rows(source, None, "kind", weight)
    if isinstance(rows, FileRows):
        rows.sampling = "rows"
    counter = TableCounter(rows.schema(families))
    rows.count(counter, 1)
    rows = rows.sampled(counter) if isinstance(rows, FileRows) else rows
    rows = rows.take(sample_places(rows, most, counter.schema, 1))
    return contents(rows.source, [rows.target.labels[code] for code in rows.target.codes])


@pytest.mark.parametrize(("kept", "most"), [(100, 100), (100, 30), (340, 50), (20_000, 90), (350, 700), (1, 1)])
def test_the_sample_is_the_same_from_memory_and_files_in_any_order(source, kept, most, keep):
    families = {"note": "words"}
    expected = sampled(mixed(), kept, most, keep, families)
    assert sampled(source, kept, most, keep, families) == expected
    assert expected.total() == min(most, ROWS)


@pytest.mark.parametrize("size", [40, 1000, 1 << 17])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_do_not_matter(size, threads, monkeypatch):
    frame, y = frame_of(mixed().drop(columns="kind")), np.zeros(ROWS, dtype=np.int32)
    monkeypatch.setattr("naively.counting.row_hash.BLOCK", size)
    hasher = RowHasher(TableCounter(frame.schema(), ["one"]))
    assert len(set(frame_hashes(hasher, frame, y, None, threads).tolist())) == ROWS - 60
    np.testing.assert_array_equal(
        frame_hashes(hasher, frame, y, None, threads),
        frame_hashes(RowHasher(TableCounter(frame.schema(), ["other", "one"])), frame, y + 1, np.ones(ROWS), 1),
    )


def test_every_cell_the_class_and_the_weight_change_the_hash():
    row = {"a": [1.0], "b": ["x"], "c": [True], "t": ["two words"]}
    families = {"t": "words"}

    def hashed(X, y=("p",), weights=None):
        rows = labeled_rows(X, y, None, weights)
        return rows.hashed(rows.schema(families), 1).tolist()

    assert hashed(row) == hashed(row, weights=[1.0]) == hashed({name: row[name] for name in reversed(row)})
    changed = [row | {"a": [2.0]}, row | {"b": ["y"]}, row | {"c": [False]}, row | {"t": ["two other words"]}]
    changed += [row | {"a": [np.nan]}, row | {"b": [None]}, row | {"d": [5.0]}]
    found = [hashed(other) for other in changed] + [hashed(row, ["q"]), hashed(row, weights=[2.0])]
    assert len({*map(tuple, found), tuple(hashed(row))}) == len(found) + 1
    families = {}
    assert hashed({"a": [1.0], "b": [2.0]}) != hashed({"a": [2.0], "b": [1.0]})  # cells belong to their columns
    soft = [pd.DataFrame([shares], columns=["p", "q"]) for shares in ([0.5, 0.5], [0.4, 0.6])]
    assert hashed(row, soft[0]) != hashed(row, soft[1])


def made(rows, begin, y, folds=None):
    """Let a sample look at rows of a table, a block at a time; return it."""
    schema = Schema((Column("x", "number"), Column("t", "text", "words")))
    found = Sample.of_files(schema)
    for part in np.array_split(np.arange(begin, begin + rows), 7):
        table = pa.table({"x": part // 2 * 1.0, "t": [f"text {k % 50}" * 3 for k in part // 2]})
        weights = np.where(part % 5 == 0, 0.0, 1.0)
        target = Target(["a", "b"], y[part], np.dtype(object))
        found = found.plus(Rows(frame_of(table), target, weights, folds=None if folds is None else folds[part]))
    return found


def as_values(found):
    part = found.rows()
    x = part.source.columns["x"].numbers(0, part.source.rows)
    labels = [part.target.labels[code] for code in part.target.codes]
    return Counter(zip(x.tolist(), labels, part.weights.tolist(), strict=True))


@pytest.mark.parametrize("cut", [10, 60, 300, 590])
@pytest.mark.parametrize("limit", [1 << 26, 600])
def test_the_sample_of_two_parts_follows_from_both(cut, limit, monkeypatch, keep):
    keep(50)
    monkeypatch.setattr(sample, "BYTES", limit)
    monkeypatch.setattr(sample, "FEWEST", 20)
    y = (np.arange(600) % 4 == 1).astype(np.int32)
    whole = made(600, 0, y)
    first, second = made(cut, 0, y), made(600 - cut, cut, y)
    again, first = second + first, first + second
    assert as_values(first) == as_values(again) == as_values(whole)
    assert whole.complete is first.complete is False
    assert as_values(whole).total() <= 50
    assert limit > 600 or 20 <= len(as_values(whole)) <= 600 // 18
    assert all(weight > 0 for _, _, weight in as_values(whole))


def test_models_of_many_rows_are_the_same_from_memory_and_files(tmp_path, monkeypatch, keep):
    """More rows than are kept: the grid, the weights and the smoothing are chosen on the same sample."""
    keep(200)
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, sample_rows=200, calibration_rows=200))
    table = mixed(1500).drop(columns="note")
    table.sample(frac=1.0, random_state=5).to_csv(path := tmp_path / "t.csv", index=False)
    asked = table.drop(columns="kind")
    for settings in ({}, {"model": "textbook", "smoothing": "auto", "temperature": "auto"}):
        memory, file = (nv.NaiveBayes(**settings).fit(given, target="kind") for given in (table, path))
        assert memory.tuning_.rows == file.tuning_.rows == 200
        np.testing.assert_allclose(file.predict_proba(asked), memory.predict_proba(asked), atol=1e-9)
