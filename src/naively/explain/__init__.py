"""Explanations: contributions of columns and words, intervals, distributions, what changed, charts.

Comes in: a fitted model with its counts, rows, scores. Goes out: `Evidence`, frames, charts of Altair, and the plain
values that `page` makes HTML of. May import: `model` and what is below it.
"""
