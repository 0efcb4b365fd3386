"""Threads that share the work of a fit or of answers: the same bits with any number, errors, Ctrl-C, forks."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv
from naively._threads import in_threads, shared_threads, threads_here
from naively.errors import InvalidInput

from .test_threads import alive, all_end, forks, fresh, on_linux

pytestmark = pytest.mark.thorough

ROWS, SOME = 33_000, 8_000  # so that more than one thread scores at a time, and fits
RNG = np.random.default_rng(5)
Y = RNG.choice(["no", "yes", "maybe"], ROWS)
TABLE = pd.DataFrame(
    {
        "colour": np.where(RNG.random(ROWS) < 0.05, None, RNG.choice(["red", "blue", "green", "grey"], ROWS)),
        "town": [f"town {n}" for n in (RNG.random(ROWS) ** 3 * 700).astype(int)],
        "whole": RNG.integers(50, size=ROWS),
        "flag": RNG.random(ROWS) < 0.3,
        "size": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(size=ROWS) + (Y == "yes")),
        "weight": (RNG.normal(size=ROWS) * (1 + (Y == "no"))).astype(np.float32),
    }
)
WEIGHTS = RNG.random(ROWS) * 2
NUMBERS = (1, 3)


@pytest.fixture(autouse=True)
def fewer_kept(keep):
    """Keep fewer rows than a table has, which are still several blocks of work."""
    keep(5_000)


def digest(nb, rows) -> str:
    """Return a digest of what a model counted, fitted and answers, to the last bit."""
    found, counts = hashlib.sha256(), nb.counts_
    parts = [counts.rows, nb.predict_proba(rows), nb.predict_log_proba(rows)]
    for _, statistic in sorted(counts.columns.items()):
        names = ("n", "shift", "total", "squares")
        parts += [getattr(statistic, name) for name in names if hasattr(statistic, name)]
    if nb.tuning_.learned is not None:
        parts += [nb.tuning_.learned.joint.fine, nb.tuning_.learned.joint.products]
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    found.update("".join(map(str, nb.predict(rows).tolist())).encode())
    return found.hexdigest() + repr(nb.tuning_.to_json(counts.classes))


# -- the same bits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "model", "weights"),
    [
        ("pandas", "auto", None),
        ("pandas", "auto", WEIGHTS),
        ("pandas", "textbook", None),
        ("Arrow", "textbook", WEIGHTS),
        ("objects", "textbook", None),
    ],
    ids=["default", "default, weights", "textbook", "Arrow, weights", "objects"],
)
def test_a_table_gives_the_same_bits(form, model, weights):
    """Codes, counts, weights of terms and answers do not depend on the threads."""
    X = {"pandas": TABLE, "Arrow": pa.Table.from_pandas(TABLE), "objects": TABLE.astype({"town": object})}[form]
    given = None if weights is None else weights[:SOME]
    fits = [nv.NaiveBayes(model=model, n_jobs=n).fit(X[:SOME], Y[:SOME], sample_weight=given) for n in NUMBERS]
    found = {digest(nb, X) for nb in fits}
    assert len(found) == 1


@pytest.mark.parametrize(("kind", "model"), [("parquet", "auto"), ("parquet", "textbook"), ("csv", "textbook")])
def test_a_file_gives_the_same_bits(tmp_path, kind, model):
    """Files are read and counted by any number of threads alike."""
    path, table = tmp_path / f"rows.{kind}", TABLE.assign(label=Y)
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table), path, row_group_size=7_000)
    fits = (nv.NaiveBayes(model=model, n_jobs=n).fit(path, target="label") for n in NUMBERS)
    assert len({digest(nb, TABLE) for nb in fits}) == 1


# -- the pool ----------------------------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_items():
    assert in_threads(lambda n: (time.sleep(0.01 * (4 - n)), n)[1], range(5), 3) == [0, 1, 2, 3, 4]
    with shared_threads(3):
        assert in_threads(lambda n: n * n, range(50)) == [n * n for n in range(50)]


def test_a_thread_of_the_pool_does_not_wait_for_others():
    """Work within work stays in its thread: if all threads waited for each other, nothing would go on."""

    def inner(n):
        assert threads_here() == 1
        return sum(in_threads(lambda m: n * m, range(3)))

    with shared_threads(2):
        assert in_threads(inner, range(20)) == [3 * n for n in range(20)]


def test_the_first_failing_item_decides_the_error():
    def work(n):
        if n % 2:
            time.sleep(0.01 if n == 1 else 0)
            raise InvalidInput(f"item {n}")

    with pytest.raises(InvalidInput, match="item 1"), shared_threads(4):
        in_threads(work, range(8))
    with pytest.raises(InvalidInput, match="item 1"):
        in_threads(work, range(8), 4)


def test_settings_of_the_caller_count_in_threads():
    """NumPy's settings of warnings are those of the caller."""
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_threads(lambda _: np.ones(3) / np.zeros(3), range(2), 2)


def test_an_error_in_a_thread_names_the_row():
    """The first block with a row that cannot be answered decides, whatever thread reads it."""
    nb = nv.NaiveBayes(model="textbook", n_jobs=3).fit(TABLE, Y)
    wrong = TABLE.assign(size=TABLE["size"].where(np.arange(ROWS) != 32_900, np.inf))
    with pytest.raises(InvalidInput, match=r"Row 32900, column 'size'") as error:
        nb.predict_proba(wrong)
    assert (error.value.row, error.value.column) == (32_900, "size")
    with pytest.raises(InvalidInput, match="'size'"):
        nv.NaiveBayes(n_jobs=3).fit(wrong, Y)


@on_linux
def test_no_thread_outlives_a_fit_or_an_answer():
    nv.NaiveBayes(n_jobs=2).fit(TABLE[:SOME], Y[:SOME]).predict_proba(TABLE)
    before = alive()
    nv.NaiveBayes(n_jobs=6).fit(TABLE[:SOME], Y[:SOME]).predict_proba(TABLE)
    assert all_end(before)


@on_linux
def test_ctrl_c_ends_a_fit_in_threads():
    """Ctrl-C while threads work on a fit or an answer ends it: no more work begins, and the model is as before."""
    program = """
        import os, signal
        import numpy as np, pandas as pd
        import naively as nv
        from naively import _threads

        rng, rows = np.random.default_rng(1), 40_000
        X = pd.DataFrame({f"c{j}": rng.choice(["a", "b", "c"], rows) for j in range(4)})
        X = X.assign(**{f"x{j}": rng.normal(size=rows) for j in range(4)})
        y = rng.integers(3, size=rows)
        nb = nv.NaiveBayes(n_jobs=3).fit(X[:5_000], y[:5_000])
        wanted, shared = nb.predict_proba(X[:100]), _threads._results

        def interrupted(call, moment):
            begun = []

            def told(pool, work, items):
                def pressed(item):
                    if item is items[0] and len(begun) == moment:
                        os.kill(os.getpid(), signal.SIGINT)
                    return work(item)

                begun.append(len(items))
                return shared(pool, pressed, items)

            _threads._results = told
            try:
                call()
            except KeyboardInterrupt:
                return "ended" if len(begun) == moment else "went on"
            finally:
                _threads._results = shared

        for of_fit, of_predict in ((1, 1), (2, 20)):
            print(interrupted(lambda: nb.fit(X, y), of_fit))
            print(interrupted(lambda: [nb.predict_proba(X) for _ in range(of_predict)], of_predict))
            assert (nb.predict_proba(X[:100]) == wanted).all()
    """
    assert fresh(program).split() == ["ended"] * 4


@forks
def test_a_fork_after_a_fit_in_threads_works():
    """A child that was forked fits and answers as its parent did."""
    program = """
        import multiprocessing, os, warnings
        import numpy as np, pandas as pd
        import naively as nv
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's own threads make Python warn of forks
        rng, rows = np.random.default_rng(1), 50_000
        y = rng.integers(2, size=rows)
        X = pd.DataFrame({"a": rng.choice(["x", "y"], rows), "b": rng.normal(size=rows) + y, "c": rng.random(rows)})
        wanted = nv.NaiveBayes(n_jobs=3).fit(X, y).predict_proba(X)

        def same():
            return bool((nv.NaiveBayes(n_jobs=3).fit(X, y).predict_proba(X) == wanted).all())

        child = os.fork()
        if not child:
            os._exit(0 if same() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.apply(same), same())
    """
    assert fresh(program).split() == ["0", "True", "True"]


# -- whatever runs beside ----------------------------------------------------------------------------------------------


def test_fits_side_by_side_agree():
    """Fits in several threads of one process get what they get alone."""
    X, y = TABLE[:1_200], Y[:1_200]  # some blocks of the matrices that a fit multiplies
    alone = digest(nv.NaiveBayes(n_jobs=2).fit(X, y), X)
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: digest(nv.NaiveBayes(n_jobs=2).fit(X, y), X), range(4))
        assert set(found) == {alone}


@cache
def found_with_blas_threads(number: int) -> str:
    """Return a digest of what a fit answers where libraries of linear algebra have so many threads."""
    program = """
        import hashlib
        import numpy as np, pandas as pd
        import naively as nv

        rng, rows = np.random.default_rng(3), 400
        y = rng.integers(3, size=rows)
        X = pd.DataFrame(rng.normal(size=(rows, 24)) + 0.4 * y[:, None] * rng.normal(size=24))
        X = X.add_prefix("x").assign(colour=rng.choice(["red", "blue", "green"], rows))
        nb = nv.NaiveBayes(n_jobs=1).fit(X, y)
        parts = [nb.predict_log_proba(X), nb.leave_one_out(X, y).posterior]
        print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
    """
    return fresh(program, OPENBLAS_NUM_THREADS=str(number), OMP_NUM_THREADS=str(number), MKL_NUM_THREADS=str(number))


@pytest.mark.parametrize("number", [8, pytest.param(2, marks=pytest.mark.slow)])
def test_threads_of_blas_change_nothing(number):
    assert found_with_blas_threads(number) == found_with_blas_threads(1)
