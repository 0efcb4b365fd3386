"""Texts of three classes that the tests of texts share, of several languages, and other texts to be answered."""

from __future__ import annotations

import numpy as np

SAID = {
    "ham": "lunch tomorrow meeting the see you at home call me later thanks said 你好 день",
    "spam": "free money win the prize click now offer cash cheap buy FREE 你好 приз",
    "work": "report meeting the deadline budget team review said project plan über naïve",
}
COMMON = "the of you and to it I a 12 don't e-mail so never"


def written(seed: int, rows: int, empty: bool = True) -> tuple[list[str], list[str]]:
    """Return texts and their classes; some words are strong, most are not, and some texts are empty."""
    rng = np.random.default_rng(seed)
    classes = sorted(SAID)
    texts, labels = [], []
    for row in range(rows):
        label = classes[rng.integers(len(classes)) if row >= len(classes) else row]
        length = int(rng.integers(0 if empty else 1, 12))
        other = classes[rng.integers(len(classes))]
        pools = [pool.split() for pool in [SAID[label]] * 3 + [SAID[other]] * 2 + [COMMON] * 3]
        words = [str(rng.choice(pools[rng.integers(len(pools))])) for _ in range(length)]
        texts.append(" ".join(words) + ("!" if row % 7 == 0 else ""))
        labels.append(label)
    return texts, labels


CLASSES = sorted(SAID)
TEXTS, Y = written(0, 120)
NEW = ["", "free lunch", "unknown", "The the THE never", "你好 money", "over the budget, free of it"] + written(1, 10)[
    0
]
