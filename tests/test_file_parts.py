"""Named parts of a model file, as streams of Arrow: what they hold comes back, and what cannot be ours is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import naively as nv
from naively.data import model_file as store
from naively.data.model_file import parts as arrow
from naively.errors import UnreadableFile

from .test_store import mutated, reforged

N = 480
RNG = np.random.default_rng(0)
WORDS = RNG.integers(40, size=(N, 8))  # of each text; each tells a little
CLASS = (RNG.normal(size=40)[WORDS].sum(axis=1) + RNG.normal(size=N) > 0).astype(int)
Y = np.array(["no", "yes"])[CLASS]
X = {
    "sky": ["a", "b", None, "b"] * (N // 4),
    "size": np.where(np.arange(N) % 19, np.arange(N) % 7.0, np.nan),
    "bag": np.where(np.arange(3 * N).reshape(N, 3) % 4 == 0, 2, 0),
    "text": [" ".join(f"w{word}" for word in text) for text in WORDS],
}


@pytest.fixture(scope="module")
def bytes_of_file(tmp_path_factory):
    """Return the bytes of a file with joint counts, words that have coefficients, and rows with weights."""
    path = tmp_path_factory.mktemp("parts") / "m.parquet"
    nb = nv.NaiveBayes(families={"text": "words"}).fit(X, Y, sample_weight=np.arange(N) % 3 + 1.0)
    nb.save(path, rows=True)
    assert list(store.read_model(path).parts) == ["joint", "words of text", "rows"]
    return path.read_bytes()


@pytest.fixture
def path(bytes_of_file, tmp_path):
    """Return a file of its own."""
    (tmp_path / "m.parquet").write_bytes(bytes_of_file)
    return tmp_path / "m.parquet"


def with_part(path, name, change):
    """Change the bytes of a part by hand, and seal the file again."""

    def rows(groups):
        (row,) = next(group for group in groups if group[0]["column"] == f"(part) {name}")
        row["data"] = change(row["data"])

    return reforged(path, rows=rows)


def with_table(path, name, change):
    """Change the Arrow table of a part, or what is said beside it, and seal the file again."""

    def data(before):
        table, said = arrow.table_of_bytes(before)
        columns = {column: table.column(column).combine_chunks() for column in table.column_names}
        change(columns, said)
        return arrow.table_to_bytes(pa.table(columns), said)

    return with_part(path, name, data)


def refused(path):
    """Check that a file is refused in a sentence, by Python and so by the command."""
    with pytest.raises(UnreadableFile, match=r"not what Naively writes|makes no classifier") as caught:
        nv.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_sealed_again_is_the_same(path):
    nb = nv.load(path)
    again = nv.load(with_table(path, "rows", lambda columns, said: None))
    assert again.kept_rows_.rows == nb.kept_rows_.rows == N
    assert np.array_equal(again.predict_proba(X), nb.predict_proba(X))


# -- any part ----------------------------------------------------------------------------------------------------------


def bare(data):
    """Return a stream without what is said beside its columns."""
    table = pa.ipc.open_stream(data).read_all().replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


BROKEN = {
    "no bytes": lambda data: b"",
    "missing": lambda data: None,
    "no Arrow": lambda data: b"\x80\x04]q\x00." * 40,
    "half of it": lambda data: data[: len(data) // 2],
    "only its schema": lambda data: data[:64],
    "nothing said": bare,
    "no columns": lambda data: arrow.table_to_bytes(pa.table({}), arrow.table_of_bytes(data)[1]),
    "a list said": lambda data: arrow.table_to_bytes(arrow.table_of_bytes(data)[0], []),
}


@pytest.mark.parametrize("name", ["joint", "words of text", "rows"])
@pytest.mark.parametrize("change", BROKEN)
def test_a_part_that_is_no_arrow_of_ours_is_refused(path, name, change):
    refused(with_part(path, name, BROKEN[change]))


@pytest.mark.parametrize("name", ["joint", "words of text"])
def test_a_part_that_is_not_there_is_refused(path, name):
    def said(footer):
        footer["parts"].remove(name)

    def rows(groups):
        groups[:] = [group for group in groups if group[0]["column"] != f"(part) {name}"]

    refused(reforged(path, said, rows))


@pytest.mark.parametrize("name", ["joint", "words of text", "rows"])
def test_a_damaged_part_is_refused_or_read(path, name):
    """Whatever bytes a part has: a model of finite answers, or one clear error."""
    data, rng = path.read_bytes(), np.random.default_rng(len(name))
    for _ in range(40):
        path.write_bytes(data)
        with_part(path, name, lambda before: mutated(before, rng))
        try:
            nb = nv.load(path)
        except UnreadableFile:
            continue
        assert np.isfinite(nb.predict_proba(X)).all()


# -- joint counts ------------------------------------------------------------------------------------------------------


def cell(column, value, at=0):
    """Return a change of one of the numbers of an array."""

    def change(columns, said):
        numbers = columns[column].flatten().to_numpy().copy()
        numbers[at] = value
        columns[column] = pa.LargeListArray.from_arrays([0, len(numbers)], pa.array(numbers))

    return change


def numbers(change):
    """Return a change of what the grid says of a column of numbers."""
    return lambda columns, said: change(said["grid"]["numbers"][0])


def typed(column, kind):
    """Return a change of the type of an array."""

    def change(columns, said):
        columns[column] = pa.LargeListArray.from_arrays([0, 2], pa.array(["a", "b"] if kind == "texts" else [None, 1]))

    return change


def emptied(columns, said):
    """Take all rows away."""
    columns.update({name: column[:0] for name, column in columns.items()})


FORGED_JOINT = {
    "nothing": emptied,
    "products not finite": cell("products", np.nan, 3),
    "endless products": cell("products", np.inf, 3),
    "negative rows": cell("products", -1.0),
    "negative bins": cell("fine", -1.0),
    "endless bins": cell("fine", np.inf),
    "no products": lambda columns, said: columns.pop("products"),
    "no bins": lambda columns, said: columns.pop("fine"),
    "bins as products": lambda columns, said: columns.update(products=columns["fine"]),
    "products as bins": lambda columns, said: columns.update(fine=columns["products"]),
    "texts": typed("fine", "texts"),
    "a missing number": typed("fine", "missing"),
    "other classes": lambda columns, said: said.update(classes=["no", "maybe"]),
    "classes in another order": lambda columns, said: said["classes"].reverse(),
    "a class less": lambda columns, said: said["classes"].pop(),
    "no grid": lambda columns, said: said.pop("grid"),
    "a grid of nothing": lambda columns, said: said.update(grid={"numbers": [], "labels": []}),
    "no bins of numbers": lambda columns, said: said["grid"].update(numbers=[]),
    "labels without end": lambda columns, said: said["grid"]["labels"][0].update(labels=list(range(100_000))),
    "a label twice": lambda columns, said: said["grid"]["labels"][0].update(labels=["a", "a"]),
    "a label that is none": lambda columns, said: said["grid"]["labels"][0]["labels"].__setitem__(0, {"odd": 1}),
    "a column that is not there": lambda columns, said: said["grid"]["labels"][0].update(name="colour"),
    "a column twice": lambda columns, said: said["grid"]["labels"].append(said["grid"]["labels"][0]),
    "cuts out of order": numbers(lambda bins: bins["cuts"].reverse()),
    "a cut more": numbers(lambda bins: bins["cuts"].append(1e9)),
    "cuts of texts": numbers(lambda bins: bins.update(cuts=["low"] * len(bins["cuts"]))),
    "a cut without end": numbers(lambda bins: bins["cuts"].__setitem__(-1, 1e999)),
    "too few coarse bins": numbers(lambda bins: bins["coarse"].pop()),
    "a coarse bin that is far": numbers(lambda bins: bins["coarse"].__setitem__(-1, 10**6)),
    "a negative coarse bin": numbers(lambda bins: bins["coarse"].__setitem__(0, -5)),
    "half a coarse bin": numbers(lambda bins: bins["coarse"].__setitem__(0, 0.5)),
    "wider bins without end": numbers(lambda bins: bins.update(wider=[10**9] * len(bins["wider"]))),
    "no middles": numbers(lambda bins: bins.update(middles=[])),
    "a scale below 0": numbers(lambda bins: bins.update(scale=-1.0)),
    "no center": numbers(lambda bins: bins.pop("center")),
    "a center that is none": numbers(lambda bins: bins.update(center="middle")),
}


@pytest.mark.parametrize("change", FORGED_JOINT)
def test_joint_counts_that_cannot_be_ours_are_refused(path, change):
    refused(with_table(path, "joint", FORGED_JOINT[change]))


# -- words that have coefficients --------------------------------------------------------------------------------------


def coefficients(made):
    """Return a change of the coefficients, given their matrix."""

    def change(columns, said):
        table = made(arrow.dense_matrix(pa.chunked_array([columns["coefficients"]]), 2).copy())
        columns["coefficients"] = pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), table.shape[1])

    return change


def one(value):
    """Return a change of the first coefficient."""

    def change(table):
        table[0, 0] = value
        return table

    return coefficients(change)


FORGED_WORDS = {
    "not finite": one(np.nan),
    "endless": one(np.inf),
    "a class more": coefficients(lambda table: np.hstack([table, table[:, :1]])),
    "a class less": coefficients(lambda table: table[:, :1]),
    "a word that was not counted": lambda columns, said: columns.update(word=renamed(columns["word"], "zebra")),
    "a word twice": lambda columns, said: columns.update(word=renamed(columns["word"], columns["word"][1].as_py())),
    "a word that is missing": lambda columns, said: columns.update(word=renamed(columns["word"], None)),
    "no words": lambda columns, said: columns.pop("word"),
    "words for coefficients": lambda columns, said: columns.update(coefficients=columns["word"]),
    "no ridge": lambda columns, said: said.pop("ridge"),
    "a ridge of nothing": lambda columns, said: said.update(ridge=0.0),
    "a ridge that is none": lambda columns, said: said.update(ridge="steep"),
    "an endless ridge": lambda columns, said: said.update(ridge=1e999),
}


def renamed(words, name):
    """Return words of which the first has another name."""
    return pa.array([name, *words.to_pylist()[1:]], words.type)


@pytest.mark.parametrize("change", FORGED_WORDS)
def test_words_that_cannot_be_ours_are_refused(path, change):
    refused(with_table(path, "words of text", FORGED_WORDS[change]))


# -- rows --------------------------------------------------------------------------------------------------------------


def at(column, value, row=0):
    """Return a change of one cell."""

    def change(columns, said):
        cells = columns[column].to_pylist()
        cells[row] = value
        columns[column] = pa.array(cells, columns[column].type)

    return change


def of(column, /, **changes):
    """Return a change of what is said of a column."""
    return lambda columns, said: next(about for about in said["columns"] if about["name"] == column).update(changes)


def shortened(columns, said):
    """Take the last row away."""
    columns.update({name: column[:-1] for name, column in columns.items()})


def longer(columns, said):
    """Let the last row come twice."""
    columns.update({name: pa.concat_arrays([column, column[-1:]]) for name, column in columns.items()})


FORGED_ROWS = {
    "an unknown class": at(arrow.CLASS, 2),
    "a negative class": at(arrow.CLASS, -2),
    "no class": at(arrow.CLASS, None),
    "another class": lambda columns, said: columns.update({arrow.CLASS: pa.array([1] * N, pa.int32())}),
    "classes as texts": lambda columns, said: columns.update({arrow.CLASS: pa.array(["no"] * N)}),
    "no classes": lambda columns, said: columns.pop(arrow.CLASS),
    "a negative weight": at(arrow.WEIGHT, -1.0),
    "no weight": at(arrow.WEIGHT, None),
    "an endless weight": at(arrow.WEIGHT, float("inf")),
    "a heavier row": at(arrow.WEIGHT, 1e9),
    "copies of nothing": lambda columns, said: columns.update({arrow.COPIES: pa.array([0] * N, pa.int64())}),
    "more copies": lambda columns, said: columns.update({arrow.COPIES: pa.array([2] * N, pa.int64())}),
    "hashes out of order": lambda columns, said: (
        columns.update({arrow.HASH: pa.array(range(N, 0, -1), pa.uint64())}) or said.update(limit="5")
    ),
    "no row": emptied,
    "one row less": shortened,
    "one row more": longer,
    "a column less": lambda columns, said: (columns.pop("sky"), said["columns"].pop(0)),
    "a column that is not there": of("sky", name="colour"),
    "a column twice": lambda columns, said: said["columns"].append(said["columns"][0]),
    "columns in another order": lambda columns, said: said["columns"].reverse(),
    "numbers as texts": lambda columns, said: columns.update(sky=columns["size"]),
    "texts as numbers": lambda columns, said: columns.update(size=pa.array(["a"] * N)),
    "another type": of("size", of="text"),
    "an unknown type": of("size", of="complex"),
    "levels that are a number": of("sky", levels=3),
    "wider vectors": of("bag", width=9),
    "narrower vectors": of("bag", width=1),
    "vectors of another kind": of("bag", **{"as": "sparse"}),
    "a missing number in a vector": lambda columns, said: columns.update(
        bag=pa.FixedSizeListArray.from_arrays(pa.array([None] * (3 * N), pa.int64()), 3)
    ),
    "no labels": lambda columns, said: said.pop("labels"),
    "a label twice": lambda columns, said: said.update(labels=["no", "no"]),
    "a label that is none": lambda columns, said: said.update(labels=["no", "yes", {"odd": 1}]),
    "labels of no type": lambda columns, said: said.update(dtype="<M8[us]"),
    "a limit that is a word": lambda columns, said: said.update(limit="high"),
    "a limit below all": lambda columns, said: said.update(limit="1"),
    "a limit beyond all": lambda columns, said: said.update(limit=str(2**70)),
}


@pytest.mark.parametrize("change", FORGED_ROWS)
def test_rows_that_cannot_be_ours_are_refused(path, change):
    refused(with_table(path, "rows", FORGED_ROWS[change]))
