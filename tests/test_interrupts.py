"""Ctrl-C, or any error, at any moment: the estimator is as it was before the call."""

import copy
import inspect
import signal
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively import _kernels
from naively.counting import row_hash
from naively.estimator import state as state_module

RNG = np.random.default_rng(0)
SIZE = 90
Y = np.array(["no", "yes"])[RNG.integers(2, size=SIZE)]
TABLE = pd.DataFrame(
    {
        "colour": RNG.choice(["red", "blue", "green"], SIZE),
        "size": RNG.normal(size=SIZE) + (Y == "yes"),
        "year": RNG.integers(2000, 2010, SIZE),
    }
)
MORE = TABLE.assign(colour="new")[:20]
TEXTS = TABLE.assign(
    text=[f"word{k} and {c}" for k, c in zip(RNG.integers(20, size=SIZE), TABLE["colour"], strict=True)]
)
MOMENTS = 3  # of each call: its begin, its middle and its end


class Interrupter:
    """Raises KeyboardInterrupt at one of the calls and returns of functions of the package.

    Without a moment it counts those until the call has assigned what it made: from then on it is done.
    """

    def __init__(self, nb, moment=None):
        self.nb, self.begin, self.moment, self.seen = nb, nb._fitted, moment, 0

    def __call__(self, frame, event, arg):
        """Look at one call or return; Python swallows what is raised while a generator is closed."""
        ours = frame.f_globals.get("__name__", "").startswith("naively")
        if ours and not frame.f_code.co_flags & inspect.CO_GENERATOR and self.nb._fitted is self.begin:
            self.seen += 1
            if self.seen == self.moment:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def run(self, work):
        """Call a function with the estimator."""
        sys.setprofile(self)
        try:
            work(self.nb)
        finally:
            sys.setprofile(None)
        return self.seen


def looks(nb, rows):
    """Return all that can be seen of an estimator; what it warns of is seen elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not nb.__sklearn_is_fitted__():
            return repr(sorted(vars(nb).items(), key=str))
        state = nb.fitted_.state
        figures = nb.predict_proba(rows).tobytes(), nb.summary(), str(nb.schema_), nb.counts_.rows.tobytes()
        tuned = nb.tuning_.to_json(nb.counts_.classes), nb.tuning_.fresh, nb.classes_.tolist()
        kept = nb.kept_rows_, state.changed, state.fitted_rows
        again = state.counts.counter.value() == nb.counts_  # both ways in which counts are held
    return *figures, repr(tuned), repr(kept), again, repr(nb.get_params())


def file_of(tmp_path, table, y):
    table.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def whole(model, rows=SIZE, **params):
    return nv.NaiveBayes(model=model, **params).fit(TABLE[:rows], Y[:rows])


def sampled(model, rows=SIZE, **params):
    """Return a model that keeps some of its rows only."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_hash, "KEPT", FEW)
        return whole(model, rows, **params)


FEW = 40
CALLS = {
    "fit": (lambda: whole("auto"), lambda nb, path: nb.fit(MORE, Y[:20])),
    "fit, joint": (lambda: whole("textbook").set_params(model="auto"), lambda nb, path: nb.fit(TABLE[::-1], Y[::-1])),
    "fit, not fitted": (nv.NaiveBayes, lambda nb, path: nb.fit(TABLE, Y)),
    "fit from a file": (lambda: whole("auto"), lambda nb, path: nb.fit(path, target="label")),
    "fit_files": (lambda: whole("auto"), lambda nb, path: nv.fit_files(nb, path, "label", cv=2)),
    "partial_fit, not fitted": (nv.NaiveBayes, lambda nb, path: nb.partial_fit(TABLE, Y)),
    "partial_fit, joint": (lambda: whole("auto"), lambda nb, path: nb.partial_fit(MORE, ["other"] * 20)),
    "partial_fit, textbook": (
        lambda: whole("textbook").partial_fit(TABLE[:5], Y[:5]),  # so that the value of the counts is not there
        lambda nb, path: nb.partial_fit(MORE, ["other"] * 20, classes=["declared"], sample_weight=np.arange(20) + 0.5),
    ),
    "partial_fit, first rows": (lambda: whole("auto", 49), lambda nb, path: nb.partial_fit(TABLE[49:55], Y[49:55])),
    "partial_fit, a first row": (
        lambda: whole("auto", 49),
        lambda nb, path: nb.partial_fit({"colour": "red", "size": 1.5, "year": 2001}, "yes"),
    ),
    "partial_fit from a file": (lambda: whole("auto"), lambda nb, path: nb.partial_fit(path, target="label")),
    "partial_fit, texts": (
        lambda: nv.NaiveBayes(model="textbook", families={"text": "words"}).fit(TEXTS, Y),
        lambda nb, path: nb.partial_fit(TEXTS.assign(text="fresh words", colour="odd")[:9], ["other"] * 9),
    ),
    "forget": (lambda: whole("auto"), lambda nb, path: nb.forget(TABLE[:20], Y[:20])),
    "forget, first rows": (lambda: whole("auto", 40), lambda nb, path: nb.forget(TABLE[:20], Y[:20])),
    "forget from a file": (
        lambda: nv.NaiveBayes().fit(pd.concat([TABLE, TABLE]), np.tile(Y, 2)),
        lambda nb, path: nb.forget(path, target="label"),
    ),
    "forget, a sample": (lambda: sampled("auto"), lambda nb, path: nb.forget(TABLE[:20], Y[:20])),
    "partial_fit, a sample": (lambda: sampled("auto", 60), lambda nb, path: nb.partial_fit(TABLE[60:], Y[60:])),
    "partial_fit, weights": (
        lambda: whole("auto"),
        lambda nb, path: nb.partial_fit(MORE, ["other"] * 20, classes=["declared"], sample_weight=np.arange(20) + 0.5),
    ),
    "a question after rows came": (
        lambda: whole("auto", 60).partial_fit(TABLE[60:], Y[60:]),
        lambda nb, path: nb.predict(TABLE),
    ),
    "a question after rows went": (lambda: whole("auto").forget(TABLE[:9], Y[:9]), lambda nb, path: nb.predict(TABLE)),
    "calibrate, joint": (lambda: whole("textbook").set_params(model="auto"), lambda nb, path: nb.calibrate(TABLE, Y)),
    "calibrate, textbook": (lambda: whole("textbook", smoothing="auto"), lambda nb, path: nb.calibrate(TABLE, Y)),
    "calibrate, held out": (lambda: whole("textbook", 60), lambda nb, path: nb.calibrate(TABLE, Y, held_out=True)),
}


# Between the opening of a file and whoever closes it, the garbage collector does.
@pytest.mark.filterwarnings("ignore::naively.StaleWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_moment_leaves_the_estimator_as_it_was(name, tmp_path):
    make, call = CALLS[name]
    path, rows = file_of(tmp_path, TABLE, Y), TEXTS if "texts" in name else TABLE
    made = make()
    before, used = looks(copy.deepcopy(made), rows), copy.deepcopy(made)
    looks(used, rows)  # a model is there, and the value of the counts
    for nb in (made, used):
        call(copy.deepcopy(nb), path)  # what is cached for the process is there from now on
        calls = Interrupter(copy.deepcopy(nb)).run(lambda nb: call(nb, path))
        calls -= 20 * ("file" in name)  # a thread reads ahead, so that their number differs by a few
        for moment in np.linspace(1, calls, MOMENTS).astype(int).tolist():
            other = copy.deepcopy(nb)
            with pytest.raises(KeyboardInterrupt):
                Interrupter(other, moment).run(lambda nb: call(nb, path))
            assert looks(other, rows) == before
    assert looks(call_on(other, call, path), rows) == looks(call_on(make(), call, path), rows)


@pytest.mark.parametrize("kept", ["all rows", "a sample", "no row"])
@pytest.mark.filterwarnings("ignore::naively.StaleWarning", "ignore::naively.errors.LargestFitWarning")
def test_an_interrupted_merge_leaves_the_models_as_they_were(kept):
    make = sampled if kept == "a sample" else whole
    parts = [make("auto", 60), make("auto", 50)]
    parts = [part.drop_rows() for part in parts] if kept == "no row" else parts
    before = [looks(copy.deepcopy(part), TABLE) for part in parts]
    nv.merge(copy.deepcopy(parts))
    calls = Interrupter(parts[0]).run(lambda nb: nv.merge(parts))
    for moment in np.linspace(1, calls, MOMENTS).astype(int).tolist():
        with pytest.raises(KeyboardInterrupt):
            Interrupter(parts[0], moment).run(lambda nb: nv.merge(parts))
        assert [looks(copy.deepcopy(part), TABLE) for part in parts] == before


def call_on(nb, call, path):
    """Return the estimator after a call that nobody interrupts."""
    call(nb, path)
    return nb


@pytest.mark.parametrize("name", ["count_moments", "count_codes", "count_rows"])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_an_interrupt_in_a_kernel_takes_its_rows_back(name, done, large, monkeypatch):
    """Whether the kernel had done its work or not; of large counts, Ctrl-C waits for the end and undoes it."""
    nb = whole("auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nv.StaleWarning)
        nb.partial_fit(TABLE[:5], Y[:5])
    before, counts = looks(copy.deepcopy(nb), TABLE), copy.deepcopy(nb).counts_
    kernel = getattr(state_kernels(), name)

    def interrupted(*given):
        if done or large:
            kernel(*given)
        if large:
            signal.raise_signal(signal.SIGINT)
            return -1
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(state_kernels(), name, interrupted)
        patched.setattr(state_module, "COPIED", -1 if large else state_module.COPIED)
        with pytest.raises(KeyboardInterrupt):
            nb.partial_fit(MORE, Y[:20])
    if large:  # what was added is subtracted again
        assert nb.counts_.agrees(counts)
        np.testing.assert_allclose(nb.predict_proba(TABLE), copy.deepcopy(nb).predict_proba(TABLE))
    else:
        assert looks(nb, TABLE) == before


def state_kernels():

    return _kernels


def test_one_row_is_counted_whole_or_not_at_all():
    """Row by row there is no copy: a kernel counts the row at once, before an interrupt or after it."""
    row = {"colour": "new", "size": 1.5, "year": 2001}
    made = whole("textbook").partial_fit(row, "yes")
    calls = Interrupter(copy.deepcopy(made)).run(lambda nb: nb.partial_fit(row, "other"))
    states = [looks(copy.deepcopy(made), TABLE), looks(copy.deepcopy(made).partial_fit(row, "other"), TABLE)]
    for moment in range(1, calls + 1):
        nb = copy.deepcopy(made)
        with pytest.raises(KeyboardInterrupt):
            Interrupter(nb, moment).run(lambda nb: nb.partial_fit(row, "other"))
        assert looks(nb, TABLE) in states
