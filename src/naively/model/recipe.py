"""The recipe: every tuned constant of the statistical method, what it does, and where its value comes from.

"Measured" means cross-validated on public tables, mean log loss; differences below 0.003 are noise there. Limits of
memory and of block sizes are no part of the method: they stand next to the code that needs them. Functions take a
recipe; another one is made with ``dataclasses.replace(RECIPE, folds=5)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from ..counting.sample import KEPT


@dataclass(frozen=True)
class Recipe:
    """The constants of the default model, calibration, smoothing and learning without labels."""

    # -- which terms there are ------------------------------------------------------------------------------------

    # Kinds of terms that are left out, by name: none. For ablations.
    left_out: tuple[str, ...] = ()
    # Two widths of bins of a number, each with a weight: wide ones, and (0) all fine ones. Measured on 21 tables: 12
    # wide ones alone 0.2267, with finer ones 0.2240.
    value_bins: tuple[int, ...] = (12, 0)
    wide_bins: int = 12
    # Two widths in pairs of columns: rough ones, and (0) all coarse ones. From the prototype.
    pair_bins: tuple[int, ...] = (4, 0)
    rough_bins: int = 4

    # -- bins of numbers, from quantiles without the classes ------------------------------------------------------

    # A fine bin for so many rows, but not fewer and not more than these. From the prototype.
    rows_per_bin: int = 25
    fewest_bins: int = 20
    most_bins: int = 100
    # The outermost bin is halved so often, while so many rows are left in it: far numbers differ most in what they
    # contribute. Chosen by hand.
    tail_halvings: int = 4
    tail_rows: float = 3.0
    # Coarse bins for pairs: the cube root of the rows, within these. Measured on 7 tables of 5,800 to 45,000 rows: 32
    # instead of 16 0.457 for 0.465, 0.328 for 0.330, 0.301 for 0.302, the others equal.
    fewest_coarse_bins: int = 8
    most_coarse_bins: int = 32
    # Coarse bins and categories that are told apart in pairs, from the finest to the coarsest: the first that
    # most_features allows. Chosen by hand.
    pair_resolutions: tuple[tuple[int, int], ...] = (
        (32, 1 << 16), (24, 1 << 16), (16, 1 << 16), (16, 64), (12, 32), (8, 32), (8, 16), (6, 12), (4, 8), (0, 8),
        (0, 0),
    )  # fmt: skip
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

    # -- single terms ---------------------------------------------------------------------------------------------

    # Pseudo-counts of a value in a class, and of a pair of values. Measured on 21 tables: 0.5 and 2 0.2240; pairs 5
    # 0.2250; values 1.5 and pairs 1 0.2233.
    value_pseudo_count: float = 0.5
    pair_pseudo_count: float = 2.0
    # An ordinal column of fewer levels has no neighbours worth the name. By definition.
    fewest_levels: int = 3
    # Ridges on the scatter within classes, the strongest first. From the prototype.
    linear_ridges: tuple[float, ...] = (100.0, 10.0, 1.0)
    # How far the covariance of a class is shrunk towards that within all classes, and the ridges on it, the strongest
    # first. From the prototype.
    quadratic_alphas: tuple[float, ...] = (0.7, 0.3, 0.1, 0.02)
    quadratic_ridges: tuple[float, ...] = (30.0, 1.0)
    # Ridges and shrinkages are compared under the best of these weights of the term.
    term_weights: tuple[float, ...] = (0.05, 0.08, 0.13, 0.21, 0.35, 0.57, 0.92, 1.5)
    # There is a quadratic term where numbers, and categories but one of each column, are at most so many, and their
    # products in all classes as well. Limits of time and memory.
    quadratic_features: int = 200
    quadratic_cells: int = 1 << 20
    # Pseudo-documents with every word: the default, and the numbers that are compared, on so many rows. Chosen by hand.
    word_pseudo_count: float = 1.0
    word_pseudo_counts: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    word_pseudo_rows: int = 2_000

    # -- what is chosen on held-out rows --------------------------------------------------------------------------

    # Rows are scored by the counts without their fold. Measured on 36 tables: ten folds 0.2672, five
    # 0.2674.
    folds: int = 5
    # Choices are measured on as many folds as hold so many rows, but on no more than these; each of these folds is out
    # of all counts and fits then. Limits of time; on 36 tables 1,000 rows 0.2691, 500 rows 0.2694.
    measured_rows: int = 500
    most_measured: int = 3
    # Rows on which weights and coefficients are fitted: those that are retained. Measured on 3 tables of 32,000 to
    # 45,000 rows: 60,000 instead of 20,000 0.272 for 0.274, 0.316 for 0.330, 0.175 for 0.176.
    sample_rows: int = KEPT

    # -- weights of terms -----------------------------------------------------------------------------------------

    # Ridge on the weights of kinds, towards their start. Measured on 12 tables of at most 1,000 rows: 1 0.2894, 0.1
    # 0.2906.
    block_ridge: float = 1.0
    # Ridges on weights of single terms, towards that of their kind, the strongest first; and one that keeps them.
    own_ridges: tuple[float, ...] = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
    tied_ridge: float = 1e6
    # Ridge on the biases of classes, around their log prior. From the prototype.
    bias_ridge: float = 3.0
    # Single columns, and pairs at each resolution, that may have a weight of their own. Limits of time.
    own_values: int = 300
    own_pairs: int = 200
    # A pair gets a weight of its own where its gain exceeds this and the log of the number of pairs. Measured on 21
    # tables: the log is worth 0.011; half of it 0.2251.
    least_gain: float = 0.5

    # -- coefficients of values, of pairs of values, and of words -------------------------------------------------

    # Ridges, the strongest first. On tables where coefficients help most, the best is 100 to 1,000; sums of columns
    # want 0.1.
    coefficient_ridges: tuple[float, ...] = (3000.0, 600.0, 120.0, 24.0, 5.0, 1.0, 0.2, 0.04)
    # Pulls as multiples of the ridge: of categories 1, of the line that bins follow, of what deviates from it, of
    # neighbours towards each other, and of pairs of values. The first three were compared on seven simulated tables.
    coefficient_line_pull: float = 0.01
    coefficient_deviation_pull: float = 0.1
    coefficient_neighbor_pull: float = 1.0
    coefficient_pair_pull: float = 3.0
    # Coefficients of pairs at most, for each row; pairs of less weight go without. A limit of time.
    coefficients_per_row: int = 3
    # Evaluations of the loss under each ridge, and the gain, as a proportion of it, at which they end; of many rows, no
    # weaker ridge is tried where the loss has risen by such a proportion. Limits of time: a fit ends as measured.
    coefficient_evaluations: int = 15
    coefficient_tolerance: float = 3e-4
    loss_rise: float = 0.02
    # The same of words, for rows of length 1, compared on one of so many folds. Measured on ten sets of texts: chosen
    # ones lie between 3 and 0.03.
    word_ridges: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    word_folds: int = 5
    # The standard deviation of the coefficient of a word that is equally frequent in all classes, next to which the
    # spread of its log frequencies counts. Measured on the first folds of ten sets of texts: the same for all words
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
    # Prediction tables lag behind the counts by no more than this share of the rows: a row in a thousand moves a
    # probability by less than the counts are uncertain. A limit of time.
    answer_lag: float = 0.001

    # -- probabilities -------------------------------------------------------------------------------------------

    # A model of n rows is no surer of a class than by a share floor_rows / (n + 1) of its prior: as if so much of a row
    # that nobody has seen were of any class. Measured on 21 tables: with it 0.2216, without 0.2246.
    floor_rows: float = 0.1
    # Bounds of the scale of log joints of the textbook model. Numerical.
    least_scale: float = 1e-3
    largest_scale: float = 1e2
    # Rows from which a temperature is fitted, at most; biases are tried where each class has so many. Limits of time.
    calibration_rows: int = 20_000
    rows_per_bias: int = 10

    # -- smoothing of the textbook model, chosen by leave-one-out -------------------------------------------------

    # The λ that are compared; of equal ones, the nearest to 1. What one more λ must save, in nats, by Akaike.
    smoothing_grid: tuple[float, ...] = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0)
    smoothing_price: float = 1.0
    # Rounds over all columns, rows at most, and rows in any case. Limits of time.
    smoothing_rounds: int = 3
    smoothing_rows: int = 5_000
    fewest_smoothing_rows: int = 256

    # -- rows without a label -------------------------------------------------------------------------------------

    # Expectation-maximization: steps at most, and the gain, as a proportion of the log-likelihood, at which they end.
    em_steps: int = 200
    em_tolerance: float = 1e-6
    # Classes without any label start at random: the best of so many starts, each of so many steps on so many rows; the
    # weight of the row that such a class starts with. Chosen by hand.
    em_starts: int = 10
    em_start_steps: int = 10
    em_start_rows: int = 5_000
    em_start_weight: float = 5.0
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
