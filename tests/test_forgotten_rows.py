"""No byte of a forgotten row stays: neither in memory of the model, nor in its pickle, nor in its file."""

from __future__ import annotations

import gc
import pickle
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy import sparse

import naively as nv
from naively import cli

# What belongs to the program and not to the model.
PROGRAM = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, pa.DataType)


def reached(start: object) -> Iterator[tuple[str, object]]:
    """Yield all objects that can be reached from one, each with the way to it."""
    seen: dict[int, object] = {}
    todo = [("", start)]
    while todo:
        path, thing = todo.pop()
        if id(thing) in seen or isinstance(thing, PROGRAM):
            continue
        seen[id(thing)] = thing  # held, so that no other object gets its number
        yield path, thing
        todo += [(f"{path}/{name}", part) for name, part in parts_of(thing)]


def parts_of(thing: object) -> Iterator[tuple[str, object]]:
    """Yield what an object refers to; NumPy and Arrow do not tell the garbage collector."""
    if isinstance(thing, np.ndarray):
        yield "base", thing.base
        if thing.dtype.kind == "O":
            yield from ((str(at), cell) for at, cell in enumerate(thing.ravel().tolist()))
    elif isinstance(thing, pa.ChunkedArray):
        yield from (("chunk", chunk) for chunk in thing.chunks)
    elif isinstance(thing, pa.Array):
        yield from (("buffer", buffer) for buffer in thing.buffers())
        if pa.types.is_dictionary(thing.type):
            yield "dictionary", thing.dictionary
    elif isinstance(thing, (pa.Table, pa.RecordBatch)):
        yield from ((name, thing.column(name)) for name in thing.column_names)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield "key", key
            yield f"{key!r:.40}", value
    else:
        if hasattr(thing, "__getstate__") and type(thing).__module__.startswith("naively"):
            yield "state", thing.__getstate__()  # compiled objects lie behind some of ours
        yield from ((type(thing).__name__, part) for part in gc.get_referents(thing))


def raw(thing: object) -> bytes:
    """Return the bytes that an object holds itself."""
    if isinstance(thing, np.ndarray):
        return b"" if thing.dtype.kind == "O" else thing.tobytes()
    if isinstance(thing, pa.Buffer):
        return thing.to_pybytes()
    if isinstance(thing, str):
        return thing.encode("utf-8", "surrogatepass")
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return bytes(thing)
    if isinstance(thing, (float, int, np.generic)):
        number = np.float64(thing).tobytes() if isinstance(thing, (float, int)) and abs(thing) < 2**62 else b""
        return number + repr(thing).encode()
    return b""


def needles(cell: float | str) -> list[bytes]:
    """Return how a cell may be written: a text as UTF-8; a number in two widths, either order of bytes, as text."""
    if isinstance(cell, str):
        return [cell.encode()]
    wide, narrow = np.float64(cell), np.float32(cell)
    written = {repr(float(cell)), repr(int(cell))} if float(cell).is_integer() else {repr(float(cell))}
    whole = [np.int64(cell).tobytes()] if float(cell).is_integer() else []
    found = [wide.tobytes(), wide.byteswap().tobytes(), narrow.tobytes(), *whole]
    return [*found, *(text.encode() for text in written)]


def traces(nb: object, cells: Sequence[float | str]) -> list[str]:
    """Return where cells are found in the objects of a model, and in its pickle."""
    wanted = [(cell, needle) for cell in cells for needle in needles(cell)]
    found = [
        f"{cell!r} at {path}"
        for path, thing in reached(nb)
        if (held := raw(thing))
        for cell, needle in wanted
        if needle in held
    ]
    pickled = pickle.dumps(nb)
    return found + [f"{cell!r} in the pickle" for cell, needle in wanted if needle in pickled]


def traces_in_file(path: Path, cells: Sequence[float | str]) -> list[str]:
    """Return where cells are found in a model file: in its bytes, and in all columns once they are unpacked."""
    wanted = [(cell, needle) for cell in cells for needle in needles(cell)]
    parts = {"bytes": path.read_bytes()}
    parts |= {key.decode(): value for key, value in (pq.read_metadata(path).metadata or {}).items()}
    found = [f"{cell!r} in {name}" for name, held in parts.items() for cell, needle in wanted if needle in held]
    table = pq.read_table(path)
    for name in table.column_names:
        for where, thing in reached(table.column(name)):
            held = raw(thing)
            found += [f"{cell!r} in column {name}{where}" for cell, needle in wanted if needle in held]
    return found


SIZE = 150
LOW, HIGH, MIDDLE = -987.654321012345, 987.654321012345, 0.123456789012345
MODELS = {
    "auto": {},
    "textbook, tuned": {"model": "textbook", "smoothing": "auto", "temperature": "auto"},
    "textbook": {"model": "textbook"},
}
FORGOTTEN = {"first": (0, LOW, None), "last": (SIZE - 1, HIGH, "secretly"), "any": (70, MIDDLE, None)}
KEEPING = ("all rows", "a sample", "no row")
# Each model with each way to keep rows, and each row with each of both.
PAIRWISE = [
    (model, kept, list(FORGOTTEN)[(i + j) % 3]) for i, model in enumerate(MODELS) for j, kept in enumerate(KEEPING)
]
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
    for kept in (False, True) if nb.fitted_.state.kept is not None else (False,):
        path = tmp_path / f"{kept}.parquet"
        nb.save(path, rows=kept)
        assert traces_in_file(path, cells) == []


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
@pytest.mark.parametrize(("model", "kept", "row"), PAIRWISE)
def test_nothing_of_a_forgotten_row_stays(model, kept, row, keep, tmp_path):
    """The first row of all with the lowest number, the last one with the highest and a class of its own, any other."""
    at, number, label = FORGOTTEN[row]
    if kept == "a sample":
        keep(60)
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


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
@pytest.mark.parametrize("kept", KEEPING)
@pytest.mark.parametrize("kind", ["numbers without names", "sparse vectors", "dense vectors", "narrow numbers"])
def test_nothing_of_a_forgotten_vector_stays(kept, kind, keep, tmp_path):
    if kept == "a sample":
        keep(60)
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=SIZE)
    X = rng.poisson(1 + y[:, None] * [1, 0, 2, 0]) + 0.25 * rng.integers(4, size=(SIZE, 4))
    X[0, 1] = secret = 41.4140625 if kind == "narrow numbers" else 41.43210987654321
    X[0, 3] = other = 23.28515625 if kind == "narrow numbers" else 23.28391737154321
    X = X.astype(np.float32) if kind == "narrow numbers" else X
    X = sparse.csr_array(X) if kind == "sparse vectors" else X
    table = {"v": X, "n": X[:, 0]} if kind == "dense vectors" else X
    families = {"v": "gaussian"} if kind == "dense vectors" else None

    def rows(at):
        return {name: values[at] for name, values in table.items()} if isinstance(table, dict) else table[at]

    nb = nv.NaiveBayes(families=families).fit(table, y)
    if kept == "all rows":
        assert traces(nb, [secret])
    nb = nb.drop_rows() if kept == "no row" else nb
    nb.forget(rows(slice(0, 1)), y[:1])
    check_nothing_stays(nb, [secret, other], tmp_path, table)
    if kept == "all rows":
        rest = nv.NaiveBayes(families=families).fit(rows(slice(1, None)), y[1:])
        assert np.allclose(nb.predict_proba(table), rest.predict_proba(table), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kept", [20_000, 60])
def test_nothing_of_many_forgotten_rows_stays(kept, keep, tmp_path):
    """Whichever numbers were extremes, cuts, or the middle of a bin: of 50 forgotten rows none is found."""
    keep(kept)
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=400)
    X = pd.DataFrame({"a": rng.normal(size=400) + y, "b": rng.normal(size=400) ** 3})
    nb = nv.NaiveBayes().fit(X, y)
    gone = rng.permutation(400)[:50]
    gone = np.union1d(gone, [X["a"].argmin(), X["a"].argmax(), X["b"].argmin(), X["b"].argmax(), 0])
    nb.forget(X.iloc[gone], y[gone])
    cells = [float(cell) for cell in X.iloc[gone].to_numpy().ravel()]
    for bins in nb.tuning_.learned.joint.grid.numbers:
        middles = np.array(bins.middles) / bins.scale + bins.center
        laid = np.array([*bins.cuts, bins.low, bins.high, bins.center, *middles])
        assert np.abs(laid[:, None] - X[bins.name].to_numpy()[gone]).min() > 1e-9
    wide = [np.float64(cell).tobytes() for cell in cells]
    for path, thing in reached(nb):
        held = raw(thing)
        assert not any(cell in held for cell in wide), path
    nb.save(tmp_path / "model.parquet")
    assert not traces_in_file(tmp_path / "model.parquet", cells[:20])


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
@pytest.mark.parametrize("kept", [["--keep-rows"], []], ids=["with rows", "without rows"])
def test_nothing_stays_in_a_file_that_the_command_forgot_rows_of(kept, tmp_path):
    X, y, cells = with_secrets(0, LOW, "secretly")
    table = X.assign(label=y)
    table.to_csv(tmp_path / "all.csv", index=False)
    table[:1].to_csv(tmp_path / "gone.csv", index=False)
    model, rest = str(tmp_path / "model.parquet"), tmp_path / "rest.parquet"
    words = ["--family", "text=words"]
    run("fit", str(tmp_path / "all.csv"), "-t", "label", "-o", model, "--cv", "0", *words, *kept)
    assert traces_in_file(tmp_path / "model.parquet", cells)
    run("forget", model, str(tmp_path / "gone.csv"), "-o", str(rest), *kept)
    assert traces_in_file(rest, cells) == []


def run(*arguments):
    """Run a command."""
    done = CliRunner().invoke(cli.main, list(arguments))
    assert done.exit_code == 0, done.output


def test_a_model_that_forgot_all_rows_starts_anew(keep, tmp_path):
    keep(120)
    X, y = rows_of(SIZE)
    X, families = X.drop(columns="text"), {name: family for name, family in FAMILIES.items() if name != "text"}
    nb = nv.NaiveBayes(families=families).fit(X, y)
    assert not nb.kept_rows_.complete
    nb.forget(X, y).save(tmp_path / "empty.parquet", rows=True)
    once = nv.NaiveBayes(families=families).fit(X[:100], y[:100]).predict_proba(X)
    for empty in (nb, nv.load(tmp_path / "empty.parquet")):
        again = empty.partial_fit(X[:100], y[:100])
        assert np.allclose(again.predict_proba(X), once, rtol=0, atol=1e-9)
        assert again.kept_rows_.complete


def test_no_copy_of_rows_stays_that_a_file_larger_than_the_sample_forgets(keep, tmp_path):
    keep(40)
    X, y = rows_of(SIZE)
    rows = pd.concat([X.assign(y=y), X[:30].assign(y=y[:30])])[["size", "colour", "y"]]  # some stand twice
    for kind in ("frame", "file"):
        rows[: SIZE + 20].to_csv(path := tmp_path / "gone.csv", index=False)
        nb = nv.NaiveBayes().fit(rows, target="y")
        nb.forget(path if kind == "file" else rows[: SIZE + 20], target="y")
        assert nb.counts_.rows.sum() == 10
        assert nb.kept_rows_.rows <= 10
        rows[SIZE + 20 :].to_csv(path, index=False)
        nb.forget(path if kind == "file" else rows[SIZE + 20 :], target="y")
        assert nb.counts_.rows.sum() == nb.kept_rows_.rows == 0
