"""What a column looks like within a class: counts of a column come in, a likelihood goes out.

Each family is a small frozen value in a file of its own; it turns the statistic of its column into a `Likelihood` by
one of three estimates, ``mle``, ``map`` or ``bayes``. Imports stats, text and what these import.
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
