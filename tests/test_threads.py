"""Threads: as many as are allowed and of use, the same answers with any number, none that outlives a call."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import naively as nv
from naively import _kernels
from naively import _threads as threads
from naively._threads import allowed, granted, in_threads, shared_threads, threads_here
from naively.errors import InvalidInput, InvalidSetting
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which only Linux has")
binds = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to CPUs")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
UNLIMITED = 1 << 16

RNG = np.random.default_rng(1)
ROWS = 20_000
Y = RNG.integers(3, size=ROWS)
WORDS = sparse.csr_array(RNG.random((ROWS, 300)) * (RNG.random((ROWS, 300)) < 0.05))
CODES = RNG.integers(4, size=(ROWS, 30))
NUMBERS = RNG.normal(size=(ROWS, 30))
CASES = {
    "GaussianNB": (GaussianNB, NUMBERS),
    "BernoulliNB": (BernoulliNB, NUMBERS),
    "CategoricalNB": (CategoricalNB, CODES),
    "MultinomialNB": (MultinomialNB, WORDS),
    "ComplementNB": (ComplementNB, WORDS),
}
each = pytest.mark.parametrize(("make", "X"), CASES.values(), ids=CASES.keys())


def fresh(program: str, given: str = "", **variables: str) -> str:
    """Return what a program prints in an interpreter of its own, which reads what is given and has these variables."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    surroundings = {name: value for name, value in os.environ.items() if name != "NAIVELY_THREADS"} | variables
    done = subprocess.run(command, input=given, env=surroundings, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- how many ----------------------------------------------------------------------------------------------------------


def test_what_is_asked_for_is_used(monkeypatch):
    """The argument comes before the environment, and that before the CPUs."""
    monkeypatch.setenv("NAIVELY_THREADS", "3")
    assert (allowed(5), allowed(), allowed(5, cells=1)) == (5, 3, 5)
    monkeypatch.delenv("NAIVELY_THREADS")
    monkeypatch.setattr(threads, "bound_to", lambda: 6)
    monkeypatch.setattr(threads, "granted", lambda: 4)
    assert allowed() == 4
    monkeypatch.setattr(threads, "granted", lambda: UNLIMITED)
    assert allowed() == 6
    assert allowed(cells=100) == 1  # not worth a second one


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e3", "²", "0x2"])
def test_a_bad_variable_is_named(monkeypatch, text):
    """The error says which variable holds what, and what to do."""
    monkeypatch.setenv("NAIVELY_THREADS", text)
    with pytest.raises(InvalidSetting, match=r"NAIVELY_THREADS='.*' is not a number of threads; set it to 1 or more"):
        allowed()
    with pytest.raises(InvalidSetting, match="NAIVELY_THREADS"):
        GaussianNB().fit(NUMBERS, Y)
    GaussianNB(n_jobs=1).fit(NUMBERS, Y)  # what is asked for is not looked up


@pytest.mark.parametrize("number", ["all", 1.5])
def test_what_is_no_number_of_threads_is_refused(number):
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        GaussianNB(n_jobs=number).fit(NUMBERS, Y)


@binds
def test_the_cpus_a_process_is_bound_to_are_respected():
    """A process bound to one CPU uses one thread."""
    program = """
        import os
        from naively._threads import allowed
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(allowed())
    """
    assert fresh(program).split() == ["1"]


# -- control groups ----------------------------------------------------------------------------------------------------


def groups(folder: Path, of_process: str, **files: str) -> int:
    """Return what is granted under made-up control groups; a file is named by its path with __ for /."""
    for name, text in files.items():
        path = folder / "cgroup" / name.replace("__", "/").replace("cpu_", "cpu.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "self").write_text(of_process)
    return granted(str(folder / "cgroup"), str(folder / "self"))


VERSION_1 = "7:memory:/pod/box\n4:cpu,cpuacct:/pod/box\n1:name=systemd:/pod/box\n"
VERSION_2 = "0::/pod/box\n"


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"pod__box__cpu_max": "200000 100000\n"}, 2),
        ({"pod__box__cpu_max": "150000 100000\n"}, 2),  # time of one and a half CPUs is worth two threads
        ({"pod__box__cpu_max": "1000 100000\n"}, 1),
        ({"pod__box__cpu_max": "max 100000\n"}, UNLIMITED),
        ({"pod__box__cpu_max": "400000 100000\n", "pod__cpu_max": "100000 100000\n"}, 1),  # the group around it
        ({"pod__box__cpu_max": "max 100000\n", "pod__cpu_max": "300000 100000\n"}, 3),
        ({"cpu_max": "500000 100000\n"}, 5),  # in a container its group is the root
        ({"pod__box__cpu_max": "nonsense\n"}, UNLIMITED),
        ({"pod__box__cpu_max": "\n"}, UNLIMITED),
        ({"pod__box__cpu_max": "100000 0\n"}, UNLIMITED),
        ({}, UNLIMITED),
    ],
)
def test_limits_of_version_2(tmp_path, files, cpus):
    """The smallest quota of a group and those around it counts, rounded up."""
    assert groups(tmp_path, VERSION_2, **files) == cpus


@pytest.mark.parametrize(
    ("quotas", "cpus"),
    [
        ({"pod__box__": "250000"}, 3),
        ({"pod__box__": "-1"}, UNLIMITED),
        ({"pod__box__": "-1", "pod__": "200000"}, 2),
        ({"pod__box__": "400000", "": "100000"}, 1),
        ({"": "600000"}, 6),
        ({}, UNLIMITED),
    ],
)
def test_limits_of_version_1(tmp_path, quotas, cpus):
    """The same in the older interface; only the CPU's own controller is asked."""
    files = {}
    for place, quota in quotas.items():
        files |= {f"cpu__{place}cpu_cfs_quota_us": f"{quota}\n", f"cpu__{place}cpu_cfs_period_us": "100000\n"}
        files |= {f"memory__{place}cpu_max": "1000 100000\n"}
    assert groups(tmp_path, VERSION_1, **files) == cpus


def test_without_control_groups_there_is_no_limit(tmp_path):
    assert granted(str(tmp_path), str(tmp_path / "missing")) == UNLIMITED
    assert groups(tmp_path, "0::/../../outside\n") == UNLIMITED
    assert granted() >= 1  # whatever this machine says


# -- the same answers --------------------------------------------------------------------------------------------------


def bits(model, X) -> list[bytes]:
    """Return all that a fitted classifier says, to the last bit."""
    answers = model.predict(X), model.predict_proba(X), model.predict_log_proba(X), model.class_count_
    return [np.ascontiguousarray(answer).tobytes() for answer in answers]


@each
def test_many_callers_at_once(make, X):
    """Python threads that fit and ask at the same time get what they get alone; a model not yet asked too."""
    alone = bits(make(n_jobs=1).fit(X, Y), X)
    shared, start = make(n_jobs=2).fit(X, Y), threading.Barrier(12)

    def work(number: int) -> list[bytes]:
        start.wait()
        return bits(shared if number % 2 else make(n_jobs=2).fit(X, Y), X)

    with ThreadPoolExecutor(12) as pool:
        assert all(answer == alone for answer in pool.map(work, range(12)))


# -- threads come and go with a call -----------------------------------------------------------------------------------


def alive() -> set[str]:
    """Return the numbers of this process's threads; some that just ended may be listed for a moment."""
    return {path.name for path in Path("/proc/self/task").iterdir()}


def all_end(before: set[str]) -> bool:
    """Return whether the threads that were not there before come to their end."""
    deadline = time.monotonic() + 3_600  # a busy machine is no defect
    while (new := alive() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not new


def most_new(call) -> int:
    """Return how many threads that were not there before there were at once during a call, the watching one aside."""
    before, most, done = alive(), [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            most.append(len(alive() - before) - 1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return max(most)


def repeated(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of any number of rows that takes the memory of one."""
    return np.broadcast_to(np.random.default_rng(2).normal(size=(1, columns)), (rows, columns))


@on_linux
def test_threads_are_used_and_end_with_the_call():
    """Four threads for a long call; after it, and after any other, as many as before."""
    x, least, largest = repeated(200_000, 2_000), *np.empty((2, 2_000))
    before = alive()
    _kernels.column_ranges(x, least, largest, 4)
    assert all_end(before)
    assert most_new(lambda: _kernels.column_ranges(x, least, largest, 4)) == 3
    assert all_end(before)
    assert most_new(lambda: _kernels.column_ranges(x, least, largest, 1)) == 0
    for make, X in CASES.values():
        bits(make(n_jobs=4).fit(X, Y), X)
    assert all_end(before)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------

# Each would take long; `x` stands for 80 GB, all rows of it the same in memory.
LONG = {
    "moments": "_kernels.count_moments(x, y, None, False, shift, counts, threads)",
    "moments with holes": "_kernels.count_moments(x, y, None, True, shift, counts, threads)",
    "dense": "_kernels.count_dense(x, y, None, 0.0, None, counts[0], threads)",
    "dense in one piece": "_kernels.count_dense(x, y, None, 0.0, None, large, threads)",
    "codes": "_kernels.count_codes(codes, y, None, False, np.arange(5_001) * 2, large[:4].reshape(-1, 2), threads)",
    "ranges": "_kernels.column_ranges(x, shift[0], shift[1], threads)",
    "choice": "scorer.choice(np.zeros(2), chosen, threads)",
    "fit": "GaussianNB(n_jobs=threads).fit(x, y)",
    "partial_fit": "fitted.partial_fit(x, y)",
    "predict": "fitted.predict(x)",
}

INTERRUPTED = """
    import json, os, signal, sys, threading, time
    import numpy as np
    from naively import _kernels
    from naively.sklearn import GaussianNB

    threads, calls = json.loads(sys.stdin.read())
    rng = np.random.default_rng(1)
    x = np.broadcast_to(rng.random((1, 5_000)), (2_000_000, 5_000))
    codes = np.broadcast_to(rng.integers(2, size=(1, 5_000)), x.shape)
    y = np.zeros(len(x), np.int32)
    counts, shift, large = np.zeros((3, 2, 5_000)), np.zeros((2, 5_000)), np.zeros((1_000, 5_000))
    chosen = np.full(len(x), -1)
    worked = time.pthread_getcpuclockid(threading.main_thread().ident)
    table = np.zeros((5_000, 4))
    scorer = _kernels.Scorer(np.zeros(2))
    scorer.normal(x, table, table, table, True)
    fitted = GaussianNB(n_jobs=threads).fit(rng.normal(size=(10, 5_000)), np.arange(10) % 2)
    fitted.predict(x[:1])

    def press(begun):  # once the calling thread has worked for a while, however busy the machine is
        begun.wait()
        start = time.clock_gettime(worked)
        while time.clock_gettime(worked) < start + 0.02:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    def interrupt(call):
        begun = threading.Event()
        pressing = threading.Thread(target=press, args=(begun,))
        pressing.start()
        try:
            begun.set()
            exec(compile(call, "call", "exec"))
            pressing.join()
            ended = "was not interrupted"
        except KeyboardInterrupt:
            ended = "was interrupted"
        pressing.join()
        unchanged = not counts.any() and not large.any() and fitted.class_count_.tolist() == [5, 5]
        unchanged = unchanged and (chosen == -1).any() and not np.array_equal(shift[0], x[0])  # not of all rows
        for array, empty in ((counts, 0), (large, 0), (shift, 0), (chosen, -1)):
            array.fill(empty)
        return ended if unchanged else "did its work first"

    print(json.dumps({name: interrupt(call) for name, call in calls.items()}))
"""


@on_linux
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("some", [slice(0, None, 2), slice(1, None, 2)], ids=["even", "odd"])
def test_ctrl_c_ends_a_long_call_before_its_work_is_done(some, number):
    """It ends in KeyboardInterrupt, whenever it comes, and has changed nothing."""
    calls = dict([*LONG.items()][some])
    assert json.loads(fresh(INTERRUPTED, json.dumps([number, calls]))) == dict.fromkeys(calls, "was interrupted")


# -- threads that share the work of a fit or of answers ----------------------------------------------------------------

MANY_ROWS, SOME = 33_000, 8_000  # so that more than one thread scores at a time, and fits
DRAW = np.random.default_rng(5)
KIND_OF_ROW = DRAW.choice(["no", "yes", "maybe"], MANY_ROWS)
TABLE = pd.DataFrame(
    {
        "colour": np.where(
            DRAW.random(MANY_ROWS) < 0.05,
            None,
            DRAW.choice(["red", "blue", "green", "grey"], MANY_ROWS),
        ),
        "town": [f"town {n}" for n in (DRAW.random(MANY_ROWS) ** 3 * 700).astype(int)],
        "whole": DRAW.integers(50, size=MANY_ROWS),
        "flag": DRAW.random(MANY_ROWS) < 0.3,
        "size": np.where(
            DRAW.random(MANY_ROWS) < 0.1,
            np.nan,
            DRAW.normal(size=MANY_ROWS) + (KIND_OF_ROW == "yes"),
        ),
        "weight": (DRAW.normal(size=MANY_ROWS) * (1 + (KIND_OF_ROW == "no"))).astype(np.float32),
    }
)
WEIGHTS = DRAW.random(MANY_ROWS) * 2
NUMBERS_OF_THREADS = (1, 3)


@pytest.fixture
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


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
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
    fits = [
        nv.NaiveBayes(model=model, n_jobs=n).fit(X[:SOME], KIND_OF_ROW[:SOME], sample_weight=given)
        for n in NUMBERS_OF_THREADS
    ]
    found = {digest(nb, X) for nb in fits}
    assert len(found) == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
@pytest.mark.parametrize(("kind", "model"), [("parquet", "auto"), ("parquet", "textbook"), ("csv", "textbook")])
def test_a_file_gives_the_same_bits(tmp_path, kind, model):
    """Files are read and counted by any number of threads alike."""
    path, table = tmp_path / f"rows.{kind}", TABLE.assign(label=KIND_OF_ROW)
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table), path, row_group_size=7_000)
    fits = (nv.NaiveBayes(model=model, n_jobs=n).fit(path, target="label") for n in NUMBERS_OF_THREADS)
    assert len({digest(nb, TABLE) for nb in fits}) == 1


# -- the pool ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
def test_a_thread_of_the_pool_does_not_wait_for_others():
    """Work within work stays in its thread: if all threads waited for each other, nothing would go on."""

    def inner(n):
        assert threads_here() == 1
        return sum(in_threads(lambda m: n * m, range(3)))

    with shared_threads(2):
        assert in_threads(inner, range(20)) == [3 * n for n in range(20)]


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
def test_the_first_failing_item_decides_the_error():
    def work(n):
        if n % 2:
            time.sleep(0.01 if n == 1 else 0)
            raise InvalidInput(f"item {n}")

    with pytest.raises(InvalidInput, match="item 1"), shared_threads(4):
        in_threads(work, range(8))
    with pytest.raises(InvalidInput, match="item 1"):
        in_threads(work, range(8), 4)


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
def test_an_error_in_a_thread_names_the_row():
    """The first block with a row that cannot be answered decides, whatever thread reads it."""
    nb = nv.NaiveBayes(model="textbook", n_jobs=3).fit(TABLE, KIND_OF_ROW)
    wrong = TABLE.assign(size=TABLE["size"].where(np.arange(MANY_ROWS) != 32_900, np.inf))
    with pytest.raises(InvalidInput, match=r"Row 32900, column 'size'") as error:
        nb.predict_proba(wrong)
    assert (error.value.row, error.value.column) == (32_900, "size")
    with pytest.raises(InvalidInput, match="'size'"):
        nv.NaiveBayes(n_jobs=3).fit(wrong, KIND_OF_ROW)


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
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


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
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


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
def test_fits_side_by_side_agree():
    """Fits in several threads of one process get what they get alone."""
    X, y = TABLE[:1_200], KIND_OF_ROW[:1_200]  # some blocks of the matrices that a fit multiplies
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


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_kept")
@pytest.mark.parametrize("number", [8, pytest.param(2, marks=pytest.mark.slow)])
def test_threads_of_blas_change_nothing(number):
    assert found_with_blas_threads(number) == found_with_blas_threads(1)


@each
def test_answers_do_not_depend_on_the_threads(make, X):
    one, *others = (bits(make(n_jobs=number).fit(X, Y), X) for number in (1, 2, 3, 7, None))
    assert all(other == one for other in others)
