"""What a column looks like within a class: one family a file, each a small frozen value.

A family turns the statistic of its column into a likelihood, in one of three ways: ``mle``, ``map``, ``bayes``.
"""

from .bernoulli import Bernoulli
from .bins import Bins
from .categorical import Categorical
from .family import Family, Likelihood, Settings
from .gaussian import Gaussian
from .ordinal import Ordinal
from .poisson import Poisson
from .words import Words

FAMILIES: dict[str, type[Family]] = {
    "categorical": Categorical,
    "ordinal": Ordinal,
    "bernoulli": Bernoulli,
    "words": Words,
    "gaussian": Gaussian,
    "poisson": Poisson,
    "bins": Bins,
}

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Bins",
    "Categorical",
    "Family",
    "Gaussian",
    "Likelihood",
    "Ordinal",
    "Poisson",
    "Settings",
    "Words",
]
