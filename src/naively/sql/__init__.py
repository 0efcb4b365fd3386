"""Textbook counts made inside a database by GROUP BY, through Ibis; other models are fitted to the rows as a stream.

A table of Ibis comes in; `Counts` or a `NaiveBayes` go out. It may import the estimator and the packages below it.
"""

from .counting import count, fit

__all__ = ["count", "fit"]
