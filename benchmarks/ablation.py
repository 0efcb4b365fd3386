"""What each kind of evidence is worth: ``python3 chores.py bench ablation``, the means with one of them left out.

The tables and the folds are those of `accuracy.py`; it says where they come from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
from accuracy import answering, asked, protocol, sets

from naively.model.joint import learned as learn
from naively.model.joint import terms as pieces

FIGURES = {"accuracy": "{:.2%}", "logloss": "{:.4f}", "brier": "{:.4f}", "ece": "{:.4f}"}
Off = Callable[[], AbstractContextManager[Any]]


def without_pairs() -> AbstractContextManager[Any]:
    """Leave out all pairs of columns."""
    return patch.object(learn, "chosen_pairs", lambda *_: ({}, {}))


def without_own_pairs() -> AbstractContextManager[Any]:
    """Let all pairs of columns share a weight."""
    return patch.object(learn, "OWN_PAIRS", 0)


def without_all_at_once() -> AbstractContextManager[Any]:
    """Leave out the linear evidence of all columns at once."""
    return patch.object(learn, "linear_kinds", lambda _: ())


def one_weight_each() -> AbstractContextManager[Any]:
    """Fit one weight for each kind of evidence, and none for single pieces."""
    return both(without_own_pairs, lambda: patch.object(learn, "RIDGES", ()))


def values_of(*levels: Any) -> Off:
    """Read numbers off at some levels alone."""
    of_all = pieces.Left.values

    def some(left: pieces.Left) -> Iterator[Any]:
        return ((piece, said) for piece, said in of_all(left) if piece.level in (*levels, "labels"))

    return lambda: patch.object(pieces.Left, "values", some)


@contextmanager
def both(*offs: Off) -> Iterator[None]:
    """Leave out several things."""
    with ExitStack() as stack:
        for off in offs:
            stack.enter_context(off())
        yield


VARIANTS: dict[str, tuple[dict[str, Any], Off]] = {
    "all evidence": ({}, nullcontext),
    "one weight for each kind": ({}, one_weight_each),
    "no pair with a weight of its own": ({}, without_own_pairs),
    "no pairs": ({}, without_pairs),
    "nothing of all columns at once": ({}, without_all_at_once),
    "columns alone": ({}, lambda: both(without_pairs, without_all_at_once)),
    "columns alone, one weight for each kind": (
        {}, lambda: both(without_pairs, without_all_at_once, one_weight_each),
    ),
    "no bell curves": ({}, values_of(*pieces.OF_NUMBERS)),
    "bell curves and no bins": ({}, values_of(pieces.BELL)),
    "numbers in 12 bins alone": ({}, values_of(12)),
    "text book": ({"model": "textbook"}, nullcontext),
}  # fmt: skip


def main() -> int:
    """Print a line of means for each variant, as a table of the docs."""
    options = asked(__doc__)
    if options is None:
        return 0
    bench, wanted = protocol(options.shared), sets(options.shared, options.only, "tabular")
    found: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
    for table, spec in wanted.items():
        print(f"{table} ...", file=sys.stderr, flush=True)
        X, y, part, info = bench.load(str(options.shared / "data"), table, spec)
        folds, _ = bench.folds(y, part, "tabular", options.repeats)
        for name, (settings, off) in VARIANTS.items():
            with off():
                found[name].append(bench.run_one(answering({"model": "auto"} | settings), name, X, y, folds, info))
    print("| evidence | accuracy | log-loss | Brier | calibration error |\n|---|---|---|---|---|")
    for name, lines in found.items():
        means = (form.format(np.mean([line[figure] for line in lines])) for figure, form in FIGURES.items())
        print(f"| {name} | {' | '.join(means)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
