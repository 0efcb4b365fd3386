"""The recipe: every tuned constant of the statistical method, what it does, and where its value comes from.

"Measured" means cross-validated on public tables, mean log loss; differences below 0.003 are noise there. Limits of
memory and of block sizes are no part of the method: they stand next to the code that needs them. Functions take a
recipe; another one is made with ``dataclasses.replace(RECIPE, folds=5)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from ..counting.row_hash import KEPT


@dataclass(frozen=True)
class Recipe:
    """The constants of the default model, calibration, smoothing and learning without labels."""

    # Kinds of terms, and choices, that are excluded, by name: none. For ablations.
    excluded: tuple[str, ...] = ()

    # -- bins of numbers, from quantiles without the classes ------------------------------------------------------

    # Two widths of bins of a number, each with a weight: wide ones, and (0) all fine ones. Measured on 21 tables: 12
    # wide ones alone 0.2267, with finer ones 0.2240.
    value_bins: tuple[int, ...] = (12, 0)
    # A fine bin for each of so many rows, within these limits. From the prototype.
    rows_per_bin: int = 25
    fewest_bins: int = 20
    most_bins: int = 100
    # The outermost bin is halved at most this often, while it holds so many rows: extreme numbers differ most in what
    # they contribute. Chosen by hand.
    tail_halvings: int = 4
    tail_rows: float = 3.0
    # Coarse bins for pairs: the cube root of the rows, within these. Measured on 7 tables of 5,800 to 45,000 rows: 32
    # instead of 16 0.457 for 0.465, 0.328 for 0.330, 0.301 for 0.302, the others equal.
    fewest_coarse_bins: int = 8
    most_coarse_bins: int = 32
    # More features than this make the linear term too slow: its cost grows with their cube.
    most_features: int = 1024
    # From so many columns on, those that clearly tell of the class by themselves are tried alone, too, if they are no
    # more than these; they are kept if the held-out loss falls by such a proportion. On simulated tables of 300 rows
    # and 500 columns noise fell by at most 8 %, and five or ten columns that tell by 15 % or more.
    many_columns: int = 100
    least_fall: float = 0.1
    # Beyond this proportion of the rows at either end numbers are clipped in linear terms, so that one outlier does not
    # tilt them. From the prototype.
    clipped: float = 0.005

    # -- terms ----------------------------------------------------------------------------------------------------

    # Pseudo-counts of a value in a class, and of a pair of values. Measured on 21 tables: 0.5 and 2 0.2240; pairs 5
    # 0.2250; values 1.5 and pairs 1 0.2233.
    value_pseudo_count: float = 0.5
    pair_pseudo_count: float = 2.0
    # Ridges on the scatter within classes, the strongest first. From the prototype.
    linear_ridges: tuple[float, ...] = (100.0, 10.0, 1.0)
    # Principal components of the quadratic term, how far the covariance of a class is shrunk towards that within all
    # classes, the first shrinkage, with which numbers of components are compared, and the ridge, in units of their mean
    # variance. The components are those on which quadratic terms of 8 tables were compared.
    quadratic_components: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    quadratic_shrinkages: tuple[float, ...] = (0.7, 0.3, 0.1, 0.02)
    first_shrinkage: float = 0.3
    quadratic_ridge: float = 1.0
    # Ridges, components and shrinkages are compared under the best of these weights of the term.
    term_weights: tuple[float, ...] = (0.05, 0.08, 0.13, 0.21, 0.35, 0.57, 0.92, 1.5)
    # Pseudo-documents with every word: the default, and the numbers that are compared. Chosen by hand.
    word_pseudo_count: float = 1.0
    word_pseudo_counts: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)

    # -- what is chosen on held-out rows --------------------------------------------------------------------------

    # Rows are scored by the counts without their fold. Measured on 36 tables: ten folds 0.2672, five 0.2674.
    folds: int = 5
    # Choices are measured on as many folds as hold so many rows, but on no more than these; each of these folds is out
    # of all counts and fits then. Limits of time; on 36 tables 1,000 rows 0.2691, 500 rows 0.2694; on 24 small ones
    # five folds instead of three 0.3115 for 0.3091.
    measured_rows: int = 500
    most_measured: int = 3
    # Rows on which weights and coefficients are fitted: those that are retained. Measured on 3 tables of 32,000 to
    # 45,000 rows: 60,000 instead of 20,000 0.272 for 0.274, 0.316 for 0.330, 0.175 for 0.176.
    sample_rows: int = KEPT
    # No weaker ridge is tried where the held-out loss has risen by such a proportion. A limit of time.
    loss_rise: float = 0.02

    # -- weights of terms -----------------------------------------------------------------------------------------

    # Ridge on the weights of kinds, towards their start. Measured on 12 tables of at most 1,000 rows: 1 0.2894, 0.1
    # 0.2906.
    block_ridge: float = 1.0
    # Ridges on weights of single columns, towards that of their kind, the strongest first.
    own_ridges: tuple[float, ...] = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
    # Ridge on the biases of classes, around their log prior. From the prototype.
    bias_ridge: float = 3.0
    # Columns that may have a weight of their own. A limit of time.
    own_weights: int = 300

    # -- coefficients of values, of cells of two and three columns, and of words ----------------------------------

    # Ridges, the strongest first. On tables where coefficients help most, the best is 100 to 1,000; sums of columns
    # want 0.01. Eight ridges from 3,000 to 0.04 took longer and were no better on 24 small tables (0.3278, 0.3254).
    coefficient_ridges: tuple[float, ...] = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
    # Pulls as multiples of the ridge: of the line that bins follow, and of what deviates from it; of categories, cells
    # and neighbors 1. Compared on seven simulated tables.
    line_pull: float = 0.01
    deviation_pull: float = 0.1
    # Pairs and triples with coefficients at most, and cells of either for each row. Limits of time: on 9 tables 60, 120
    # and 240 of them are within 0.006 of each other.
    most_tables: int = 100
    cells_per_row: int = 3
    # Bins of a number in triples: the fourth root of the rows, within these; categories at most the larger. On
    # electricity 4 bins 0.306, 6 0.297, 8 0.286, 12 0.285.
    fewest_merged: int = 4
    most_merged: int = 16
    # Cycles of steps under each ridge at most, and the gain, as a proportion of the loss, at which they end. On 48
    # tables ten cycles instead of five gave 0.2652 for 0.2662 (covertype 0.430 for 0.457), and with 0.001 0.2651.
    coefficient_cycles: int = 10
    coefficient_tolerance: float = 3e-3
    # Ridges on coefficients of words, for rows of length 1. Measured on ten sets of texts: chosen ones lie between 3
    # and 0.03.
    word_ridges: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    # The standard deviation of the coefficient of a word that is equally frequent in all classes, in addition to which
    # that of its log frequencies counts. Measured on the first folds of ten sets of texts: the same for all words
    # 0.238, with the spread and 0.1 0.236, with 0.5 0.232.
    word_least_scale: float = 0.5

    # -- when weights are fitted ----------------------------------------------------------------------------------

    # Fewer rows show too little of how columns depend on each other; more classes take too long. Chosen by hand.
    fewest_rows: int = 50
    most_classes: int = 300
    # The same for a fold of a table that has enough rows, so that scores are those of the model that is kept.
    fewest_rows_in_folds: int = 10
    # All is fitted again where more than this share of the rows came or went since. Measured on 14 tables, 20 batches,
    # against one fit: 5 % 1.011 times the log loss, 10 % 1.019.
    refit_share: float = 0.05

    # -- probabilities -------------------------------------------------------------------------------------------

    # A model of n rows is no surer of a class than by a share floor_rows / (n + 1) of its prior: as if so much of a row
    # that nobody has seen were of any class. Measured on 21 tables: with it 0.2216, without 0.2246.
    floor_rows: float = 0.1
    # Rows from which a temperature is fitted, at most; biases are tried where each class has so many. Limits of time.
    calibration_rows: int = 20_000
    rows_per_bias: int = 10

    # -- smoothing of the textbook model, chosen by leave-one-out -------------------------------------------------

    # The λ that are compared; of equal ones, the nearest to 1. What one more λ must save, in nats, by Akaike.
    smoothing_grid: tuple[float, ...] = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0)
    smoothing_price: float = 1.0

    # -- rows without a label -------------------------------------------------------------------------------------

    # Expectation-maximization: steps at most, and the gain, as a proportion of the log-likelihood, at which they end.
    em_steps: int = 200
    em_tolerance: float = 1e-6
    # In the default model, rows without a label weigh together at most so many times what the labeled rows do. They
    # are used if that lowers the log loss of labeled rows in so many folds by more than a standard error. Measured on
    # 14 sets with 50 to 500 labels: see docs/guide/unlabelled.md.
    unlabelled_weight: float = 3.0
    unlabelled_folds: int = 5

    def __reduce__(self) -> tuple[Callable[[dict[str, object]], Recipe], tuple[dict[str, object]]]:
        """Pickle what differs from the default alone: a pickled classifier holds its recipe."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return recipe_with, (changed,)


RECIPE = Recipe()


def recipe_with(changed: dict[str, object]) -> Recipe:
    """Return the default recipe with some constants changed."""
    return replace(RECIPE, **changed) if changed else RECIPE  # type: ignore[arg-type]  # pickled by their names
