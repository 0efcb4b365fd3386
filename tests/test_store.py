"""A model file gives back what was saved, to the last bit and with every type, or is refused in one clear error."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import Counts, Moments, Table
from naively.data import model_file as store
from naively.data.model_file import file as store_file
from naively.errors import UnreadableFile, UnwritableFile
from naively.stats import Axis, Tables

from .strategies import KINDS, axes_of, checked, state_of

KEPT = Path(__file__).parent / "data" / "model-1.parquet"
COLUMNS = ["column", "value", "class", "n", "shift", "sum", "squares", "data"]
ABOUT = {"settings": {"smoothing": 1.0, "costs": [[0, 1], [50, 0]]}, "schema": ["字", None, True, 1e-300], "": {}}


def model() -> Counts:
    """Return small counts with something of everything."""
    classes = Axis(["spam"], ["ham"])
    words = Table(classes, Axis(["cheap", "hello", None], ["win", "hello"]), [[1, 4, 0, 2], [3, 0, 0, 0.1]])
    codes = Table(classes, Axis([1, "1", 2.5, True, date(2026, 2, 28)]), [[1, 2, 3, 4], [4, 3, 2, 1]])
    sizes = Moments.of(
        classes, ["height", "width"], n=[[5, 5], [4, 0]], mean=[[1e8, -3], [0.1, 0]], variance=[[1, 2], [3, 0]]
    )
    return Counts(classes, [5, 4], {"word": words, "code": codes, "字 size": sizes})


def saved(path: Path, counts: Counts, about: dict[str, Any] | None = None) -> Counts:
    """Return the counts, saved and loaded."""
    store.write_model(path, counts, about or {})
    return store.read_counts(path)[0]


def exactly(statistic: Any) -> list[Any]:
    """Return everything in a statistic, the types of its labels too."""
    types = [[type(label) for label in axis.labels] for axis in axes_of(statistic)]
    return [*types, *state_of(statistic)]


def of_values(labels: Any, declared: Any = ()) -> Counts:
    """Return counts of one column with these values."""
    values = labels if isinstance(labels, Axis) else Axis(labels, declared)
    n = np.arange(1.0, 2 * len(values) + 1).reshape(2, -1)
    return Counts(["a", "b"], [1, 2], {"x": Table(["a", "b"], values, n)})


# -- the round trip -----------------------------------------------------------------------------------------------


@checked
@given(data=st.data(), weighted=st.booleans())
def test_counts_come_back_to_the_last_bit(tmp_path_factory, data: Any, weighted: bool):
    (drawn,) = data.draw(KINDS["Counts"].parts(1, weighted))
    columns = {name: column for name, column in drawn.columns.items() if not isinstance(column, Tables)}
    counts = Counts(drawn.classes, drawn.rows, columns)
    again = saved(tmp_path_factory.getbasetemp() / "drawn.parquet", counts)

    assert exactly(again) == exactly(counts)
    assert again == counts


@pytest.mark.parametrize(
    "labels",
    [
        [],
        [None],
        ["b", "a", "", " ", "1", "null", "字", "a\0b", "\U0001f600", "\uffff", '"', "é"],
        [3, -1, 10, 9, 0, None],
        [2**63 - 1, -(2**63)],
        [10**30, 1],
        [1.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e22, 1e16, float("inf"), None],
        [True, False],
        [True, None],
        [True, 2, 2.5, "true", "2", None],
        [date(2026, 2, 28), date(1, 1, 1), None],
        [datetime(2026, 2, 28, 12, 30, 1, 5), datetime(1, 1, 1)],  # noqa: DTZ001
        [date(2026, 2, 28), "2026-02-28", 7],
    ],
    ids=repr,
)
def test_labels_keep_their_types(tmp_path, labels):
    counts = of_values(labels)

    assert exactly(saved(tmp_path / "m.parquet", counts)) == exactly(counts)


def test_loaded_counts_are_counts_like_others(tmp_path):
    """They add, subtract, weigh, are copied and pickled, whether their labels were asked for or not."""
    counts = of_values([f"v{i}" for i in range(100)])
    path = tmp_path / "m.parquet"
    store.write_model(path, counts, {})

    assert exactly(store.read_counts(path)[0] + counts) == exactly(counts + counts)
    assert exactly(counts + counts - store.read_counts(path)[0]) == exactly(counts)
    assert exactly(store.read_counts(path)[0] * 0.5) == exactly(counts * 0.5)
    for twin in (copy.deepcopy(store.read_counts(path)[0]), pickle.loads(pickle.dumps(store.read_counts(path)[0]))):
        assert exactly(twin) == exactly(counts)
    assert store.read_counts(path)[0].columns["x"].values.place("v7") == counts.columns["x"].values.place("v7")
    with pytest.raises(ValueError, match="read-only"):
        store.read_counts(path)[0].columns["x"].n[0, 0] = 1


# -- the table ----------------------------------------------------------------------------------------------------


def test_the_table_is_tidy(tmp_path):
    """One row for each cell that is not zero, sorted, with the columns that the docs promise."""
    store.write_model(tmp_path / "m.parquet", model(), {})
    rows = pq.read_table(tmp_path / "m.parquet").to_pydict()
    cells = list(zip(rows["column"], rows["value"], rows["class"], rows["n"], strict=True))

    assert list(rows) == COLUMNS
    assert list(dict.fromkeys(rows["column"])) == [None, "code", "word", "字 size"]
    assert cells[:2] == [(None, None, "ham", 5.0), (None, None, "spam", 4.0)]
    assert [cell[1:] for cell in cells if cell[0] == "word"] == [
        ("cheap", "ham", 1.0),
        ("cheap", "spam", 3.0),
        ("hello", "ham", 4.0),
        (None, "ham", 2.0),
        (None, "spam", 0.1),
    ]
    assert [cell[1] for cell in cells if cell[0] == "code"][::2] == ["1", "2.5", '"1"', '{"date": "2026-02-28"}']
    assert [cell[1:] for cell in cells if cell[0] == "字 size"] == [
        ("height", "ham", 5.0),
        ("height", "spam", 4.0),
        ("width", "ham", 5.0),
    ]
    assert rows["shift"][-3:] == [1e8, 0.1, -3.0]
    assert set(rows["shift"][:-3]) == set(rows["data"]) == {None}


QUERY = "select sum(n) from '{}' where \"column\" = 'word' and class = 'ham'"


@pytest.mark.parametrize("reader", ["duckdb", "pandas", "polars"])
def test_others_read_the_counts(tmp_path, reader):
    path = tmp_path / "m.parquet"
    store.write_model(path, model(), {})
    library = pytest.importorskip(reader, reason=f"{reader} is not installed")
    if reader == "duckdb":
        rows = library.sql(f"from '{path}'").fetchall()
        assert library.sql(QUERY.format(path)).fetchall() == [(7.0,)]
    else:
        frame = library.read_parquet(path)
        assert list(frame.columns) == COLUMNS
        rows = list(frame.itertuples(index=False)) if reader == "pandas" else frame.rows()
    told = [(row[2], float(row[3])) for row in rows]

    assert told == [(row["class"], row["n"]) for row in pq.read_table(path).to_pylist()]


# -- saving -------------------------------------------------------------------------------------------------------


class Strange(str):
    """A text of another type, which would come back as a plain one."""


@pytest.mark.parametrize(
    "label",
    [Decimal(1), Strange("x"), float("nan"), datetime(2026, 1, 1, tzinfo=UTC), (1, 2), b"x", np.datetime64("2026"), 1j],
    ids=repr,
)
def test_labels_that_would_come_back_changed_are_refused(tmp_path, label):
    with pytest.raises(UnwritableFile, match="a file cannot hold the label"):
        store.write_model(tmp_path / "m.parquet", Counts(["a"], [1], {"x": Table(["a"], [label], [[1]])}), {})
    assert not list(tmp_path.iterdir())


COLUMN = Table(["a"], ["v"], [[1]])
NAN, NEGATIVE = (Table(["a"], ["v"], [[n]]) for n in (np.nan, -1))
REFUSED_COUNTS = {
    "a class is None": Counts([None], [1], {}),
    "it is no valid Unicode": Counts(["a"], [1], {"x": Table(["a"], ["\ud800"], [[1]])}),
    "the name of column 3 is no text": Counts(["a"], [1], {3: COLUMN}),  # type: ignore[dict-item]
    "column 'x' is counted as Tables": Counts(["a"], [1], {"x": Tables((COLUMN,))}),
    "numbers of rows are negative or not finite": Counts(["a"], [np.inf], {}),
    "column 'x' holds counts that are negative or not finite": Counts(["a"], [1], {"x": NAN}),
    "column 'y' holds counts that are negative or not finite": Counts(["a"], [1], {"y": NEGATIVE}),
}


@pytest.mark.parametrize("words", REFUSED_COUNTS)
def test_counts_that_no_file_can_hold_are_refused(tmp_path, words):
    with pytest.raises(UnwritableFile, match=words):
        store.write_model(tmp_path / "m.parquet", REFUSED_COUNTS[words], {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "about", [{"a": (1, 2)}, {1: 2}, {"a": float("nan")}, {"a": {1}}, {"a": np.int64(1)}], ids=repr
)
def test_what_would_come_back_changed_is_refused(tmp_path, about):
    with pytest.raises(UnwritableFile, match="what is to be kept beside the counts"):
        store.write_model(tmp_path / "m.parquet", model(), about)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_save_that_fails_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, step, error):
    path = tmp_path / "m.parquet"
    store.write_model(path, model(), {"version": "old"})

    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
        with pytest.raises(UnwritableFile if isinstance(error, OSError) else KeyboardInterrupt):
            store.write_model(path, model() + model(), {"version": "new"})

    assert [found.name for found in tmp_path.iterdir()] == ["m.parquet"]
    assert store.read_counts(path) == (model(), {"version": "old"})


KILLED = """
import os, signal, sys
from pathlib import Path
from naively.data import model_file as store
def dies(*_):
    if sys.argv[2] == "after":
        replace(*_)
    os.kill(os.getpid(), signal.SIGKILL)
replace, Path.replace = Path.replace, dies
if sys.argv[2] == "written":
    os.fsync = dies
counts, _ = store.read_counts(sys.argv[1])
store.write_model(sys.argv[1], counts, {"turn": 1})
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a signal that cannot be caught")
@pytest.mark.parametrize(("moment", "turn"), [("written", 0), ("before", 0), ("after", 1)])
def test_a_killed_save_leaves_a_whole_file(tmp_path, moment, turn):
    """Killed while the new file is written, before it takes the place of the old one, and after."""
    path = tmp_path / "m.parquet"
    store.write_model(path, model(), {"turn": 0})
    done = subprocess.run([sys.executable, "-c", KILLED, path, moment])
    assert done.returncode == -signal.SIGKILL
    assert store.read_counts(path) == (model(), {"turn": turn})


# -- loading ------------------------------------------------------------------------------------------------------


def refused(path: Path, words: str) -> None:
    """Check that a file is refused in these words, and that its path is named."""
    with pytest.raises(UnreadableFile, match=words) as caught:
        store.read_counts(path)
    assert caught.value.path == str(path)
    assert str(caught.value).startswith(f"Cannot load a model from {str(path)!r}: it ")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableFile) as caught:
        store.read_counts(tmp_path / "m.parquet")
    assert str(caught.value) == (
        f"Cannot load a model from {str(tmp_path / 'm.parquet')!r}: there is no such file; check the path."
    )


def test_folders_and_other_files_are_refused(tmp_path):
    refused(tmp_path, "is a folder or a device")
    for number, data in enumerate((b"", b"P", b"a,b\n1,2\n", pickle.dumps(model()))):
        path = tmp_path / str(number)
        path.write_bytes(data)
        refused(path, "is no Parquet file, and so no model")


def test_parquet_of_others_is_refused(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "m.parquet")
    refused(tmp_path / "m.parquet", "its footer has no complete key 'naively'")
    (tmp_path / "short").write_bytes(b"PAR1PAR1")
    refused(tmp_path / "short", "its footer has no complete key 'naively'")


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    store.write_model(tmp_path / "m.parquet", model(), {})
    data = (tmp_path / "m.parquet").read_bytes()
    for size in range(4, len(data), 101):
        (tmp_path / "cut.parquet").write_bytes(data[:size])
        refused(tmp_path / "cut.parquet", "is cut off or damaged")


def forged(path: Path, said: Any = None, rows: Any = None, schema: Any = None) -> Path:
    """Make a file whose seal fits and whose contents were changed by hand."""
    store.write_model(path, model(), ABOUT)
    return reforged(path, said, rows, schema)


def reforged(path: Path, said: Any = None, rows: Any = None, schema: Any = None) -> Path:
    """Change the contents of a file by hand, and seal it again."""
    file = pq.ParquetFile(path)
    footer = json.loads(file.metadata.metadata[b"naively"])
    groups = [file.read_row_group(at).to_pylist() for at in range(file.num_row_groups)]
    for change, what in ((said, footer), (rows, groups)):
        if change:
            change(what)
    sink, schema = pa.BufferOutputStream(), schema or file.schema_arrow
    with pq.ParquetWriter(sink, schema) as writer:
        for group in groups:
            writer.write_table(pa.Table.from_pylist(group, schema))
        text = footer if isinstance(footer, str) else json.dumps(footer, separators=(",", ":"))
        writer.add_key_value_metadata({"naively": text})
    path.write_bytes(store_file.sealed(sink.getvalue().to_pybytes()))
    return path


def test_a_forged_file_is_read_if_nothing_is_wrong_with_it(tmp_path):
    assert store.read_counts(forged(tmp_path / "m.parquet")) == (model(), ABOUT)


def test_a_newer_file_is_distinguished_from_a_damaged_one(tmp_path):
    path = forged(tmp_path / "m.parquet", said=lambda said: said.update(version=2))
    with pytest.raises(UnreadableFile) as caught:
        store.read_counts(path)
    assert str(caught.value) == (
        f"Cannot load a model from {str(path)!r}: a newer Naively wrote it, in format 2, and this one reads up to 1; "
        "update it by: pip install --upgrade naively"
    )


# The row groups of the model are: rows of the classes, code, word, size. The columns are told as word, code, size.
FORGED_ROWS = {
    "negative": lambda groups: groups[2][0].update(n=-1.0),
    "nan": lambda groups: groups[2][0].update(n=float("nan")),
    "infinite": lambda groups: groups[3][0].update(squares=float("inf")),
    "negative squares": lambda groups: groups[3][0].update(squares=-1.0),
    "no number": lambda groups: groups[2][0].update(n=None),
    "no class": lambda groups: groups[2][0].update({"class": None}),
    "unknown class": lambda groups: groups[2][0].update({"class": "egg"}),
    "rows of classes": lambda groups: groups[0][0].update(n=-5.0),
    "another column": lambda groups: groups[2][0].update(column="code"),
    "no column": lambda groups: groups[2][0].update(column=None),
    "twice": lambda groups: groups[2].insert(0, groups[2].pop(1) | {"class": "ham"}),
    "out of order": lambda groups: groups[2].reverse(),
    "missing first": lambda groups: groups[2].insert(0, groups[2].pop()),
    "no JSON": lambda groups: groups[1][0].update(value="1]"),
    "a list": lambda groups: groups[1][0].update(value="[1]"),
    "one less": lambda groups: groups[2].pop(),
    "another group": lambda groups: groups.append(groups[0]),
    "groups swapped": lambda groups: groups.reverse(),
    "no groups": list.clear,
}
FORGED_FOOTERS = {
    "format": lambda said: said.update(format="other"),
    "version": lambda said: said.update(version="one"),
    "version 0": lambda said: said.update(version=0),
    "no classes": lambda said: said.pop("classes"),
    "classes are numbers": lambda said: said.update(classes={"numbered": 2}),
    "a class less": lambda said: said["classes"].update(labels=["ham"]),
    "a class twice": lambda said: said["classes"].update(labels=["ham", "ham", "spam"]),
    "a strange class": lambda said: said["classes"].update(labels=["ham", "spam", {"odd": 1}]),
    "a strange type": lambda said: said["columns"][0]["values"].update(type="complex"),
    "texts as numbers": lambda said: said["columns"][0]["values"].update(type="int"),
    "too few numbers": lambda said: said["columns"][0].update(values={"numbered": 1}),
    "a negative number": lambda said: said["columns"][0].update(values={"numbered": -1}),
    "a label twice": lambda said: said["columns"][0]["values"].update(labels=["hello"]),
    "a declared label that is not there": lambda said: said["columns"][0]["values"].update(declared=["egg"]),
    "declared is a word": lambda said: said["columns"][0]["values"].update(declared="all"),
    "an unknown kind": lambda said: said["columns"][0].update(kind="pairs"),
    "a kind that takes more": lambda said: said["columns"][0].update(kind="moments"),
    "a name that is none": lambda said: said["columns"][0].update(name=3),
    "a column twice": lambda said: said["columns"].append(said["columns"][0]),
    "a column less": lambda said: said["columns"].pop(),
    "too many rows": lambda said: said["columns"][0].update(rows=10**9),
    "fewer rows than none": lambda said: said["columns"][0].update(rows=-1),
    "columns are a number": lambda said: said.update(columns=3),
    "no about": lambda said: said.pop("about"),
}


@pytest.mark.parametrize("change", FORGED_ROWS)
def test_rows_that_cannot_be_counts_are_refused(tmp_path, change):
    refused(forged(tmp_path / "m.parquet", rows=FORGED_ROWS[change]), "is not what Naively writes")


@pytest.mark.parametrize("change", FORGED_FOOTERS)
def test_a_footer_that_cannot_be_ours_is_refused(tmp_path, change):
    refused(
        forged(tmp_path / "m.parquet", said=FORGED_FOOTERS[change]), "is not what Naively writes|has another format"
    )


def test_a_text_that_is_none_is_refused_at_once(tmp_path):
    """Labels are made later; what is wrong with them is said when the file is loaded."""
    path = tmp_path / "m.parquet"
    store.write_model(path, of_values(["incompressible"]), {})
    data = path.read_bytes()
    assert data.count(b"incompressible") == 1
    path.write_bytes(store_file.sealed(data.replace(b"incompressible", b"\xffncompressible")))
    refused(path, "is not what Naively writes .*UTF8")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with some damage: bits flipped, bytes overwritten, inserted, lost, moved or repeated."""
    damaged = bytearray(data)
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 64))
    match rng.integers(7):
        case 0:
            for bit in rng.integers(8 * len(data), size=rng.integers(1, 9)):
                damaged[bit // 8] ^= 1 << int(bit % 8)
        case 1:
            damaged[at : at + size] = rng.bytes(len(damaged[at : at + size]))
        case 2:
            damaged[at : at + size] = bytes(len(damaged[at : at + size]))
        case 3:
            del damaged[at:]
        case 4:
            del damaged[at : at + size]
        case 5:
            damaged[at:at] = rng.bytes(size)
        case _:
            other = int(rng.integers(len(data)))
            damaged[other : other + size] = damaged[at : at + size]
    return bytes(damaged)


def test_damage_that_was_sealed_again_is_refused_or_read(tmp_path):
    """Where the seal fits, what is read may be another model, of finite counts; there is no other error."""
    path, rng, refusals = tmp_path / "m.parquet", np.random.default_rng(1), 0
    store.write_model(path, model(), ABOUT)
    data = path.read_bytes()
    for _ in range(500):
        path.write_bytes(store_file.sealed(mutated(data, rng)))
        try:
            counts, _ = store.read_counts(path)
        except UnreadableFile:
            refusals += 1
        else:
            assert all(np.isfinite(part).all() for part in (counts.rows, *(c.n for c in counts.columns.values())))
    assert 400 < refusals < 500


def test_a_file_of_the_first_version_is_read_for_ever():
    """The file was saved by version 0.1.0 and is never written anew."""
    counts, about = store.read_counts(KEPT)

    assert exactly(counts) == exactly(model())
    assert about == ABOUT
