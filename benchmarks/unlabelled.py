"""Rows without a label: what they gain, ``python3 chores.py bench unlabelled [--repeats N]``.

Of each set 50 to 500 rows have a label and up to 3,000 have none. Compared are the default fitted to the labeled rows
alone, the default that may use the others, and expectation-maximization by the textbook model: log loss and accuracy of
held-out rows. Ratios are those of (log loss + 0.001), by their geometric mean.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from accuracy import asked
from protocol import load, sets

import naively as nv

FEWEST, UNLABELED, ASKED = 1_000, 3_000, 2_000
LABELED = (50, 100, 200, 500)
TEXTS = ("sms-spam", "trec-questions", "reuters-r8", "customer-reviews")
EM = {"unlabelled": "em", "estimate": "map"}
MODELS: dict[str, dict[str, Any]] = {
    "labeled rows alone": {"unlabelled": "skip", "estimate": "map"},
    "default": EM,
    "textbook EM": {**EM, "model": "textbook"},
}


def main() -> int:
    """Print a line for each set and number of labels, and the means."""
    options = asked(__doc__)
    if options is None:
        return 0
    warnings.simplefilter("ignore")
    found, fewest, numbers = [], *((500, LABELED[:1]) if options.smoke else (FEWEST, LABELED))
    print(f"{'log loss / accuracy':<28}" + "".join(f"{name:>22}" for name in MODELS) + "   used")
    texts = {name: spec for name, spec in sets(options.shared, None, "text").items() if name in TEXTS}
    every = sets(options.shared, None, "tabular") | texts
    for name in every if options.only is None else options.only.split(","):
        X, y, _, info = load(options.shared / "data", every[name])
        if len(y) < fewest:
            continue
        for labels in numbers:
            runs = [measured(X, y, info.n_classes, labels, seed) for seed in range(options.repeats)]
            found += [figures for figures, _ in runs]
            line = np.mean([figures for figures, _ in runs], axis=0)
            used = sum(used for _, used in runs)
            print(f"{name + f', {labels}':<28}" + "".join(f"{a:>14.4f} /{b:>6.1%}" for a, b in line) + f"{used:>7}")
            sys.stdout.flush()
    logs = np.log(np.array(found)[:, :, 0] + 0.001)
    ratios = np.exp(logs - logs[:, :1])
    accuracy = np.array(found)[:, :, 1]
    for at, name in enumerate(MODELS):
        better, worse = (int(np.count_nonzero(part)) for part in (ratios[:, at] < 0.999, ratios[:, at] > 1.001))
        print(
            f"{name}: {np.exp(np.log(ratios[:, at]).mean()):.3f} of the loss of the labeled rows alone (worst "
            f"{ratios[:, at].max():.2f}), better in {better} and worse in {worse} of {len(found)} cases; "
            f"accuracy {accuracy[:, at].mean():.1%}"
        )
    return 0


def measured(X: Any, y: Any, classes: int, labels: int, seed: int) -> tuple[Any, bool]:
    """Return log loss and accuracy of each model, [model, figure], and whether the default used the other rows."""
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame({"text": X})
    families = {"text": nv.Words()} if list(X) == ["text"] else None
    order = np.random.default_rng(seed).permutation(len(y))
    held = order[: min(ASKED, len(y) // 3)]
    rest = order[len(held) :][: UNLABELED + labels]
    known = y[rest].astype(object)
    known[labels:] = None
    out, used = [], False
    for name, settings in MODELS.items():
        nb = nv.NaiveBayes(families=families, **settings).fit(X.iloc[rest], known)
        p = np.zeros((len(held), classes))
        p[:, nb.classes_.astype(int)] = nb.predict_proba(X.iloc[held])
        assert np.allclose(p.sum(axis=1), 1)
        own = np.clip(p[np.arange(len(held)), y[held]], 1e-15, 1.0)
        out.append((-np.log(own).mean(), (p.argmax(axis=1) == y[held]).mean()))
        used = nb.expected_ is not None if name == "default" else used
    return np.array(out), used


if __name__ == "__main__":
    sys.exit(main())
