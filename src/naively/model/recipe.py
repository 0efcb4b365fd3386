"""The recipe: every tuned constant of the statistical method, what it does, and where its value comes from.

"Measured" means cross-validated on 21 public tables of 150 to 49,000 rows, mean log loss; differences below 0.003 are
noise there. Limits of memory and of block sizes are no part of the method: they stand beside the code that needs them.
Functions take a recipe as an argument; another one is made with ``dataclasses.replace(RECIPE, caution=1.0)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Recipe:
    """The constants of the joint model, calibration, smoothing and learning without labels."""

    # -- which terms the joint model has --------------------------------------------------------------------------

    # Kinds of terms that are left out, by name: none. For ablations.
    left_out: tuple[str, ...] = ()
    # Bins of a number that have terms, each with a weight of its own: wide ones, and (0) all fine ones. Measured: 12
    # wide ones alone 0.2267, with finer ones 0.2240.
    value_bins: tuple[int, ...] = (12, 0)
    wide_bins: int = 12
    # The same of a pair of columns: rough ones, and (0) all coarse ones. Taken over from the prototype; not measured
    # apart.
    pair_bins: tuple[int, ...] = (4, 0)
    rough_bins: int = 4

    # -- bins of numbers, from quantiles without the classes ------------------------------------------------------

    # A fine bin for so many rows, but not fewer and not more than these. Taken over from the prototype; not measured
    # apart.
    rows_per_bin: int = 25
    fewest_bins: int = 20
    most_bins: int = 100
    # The outermost bin is halved so often, while so many rows are left in it: far numbers differ most in their
    # contribution. Chosen by hand; not measured.
    tail_halvings: int = 4
    tail_rows: float = 3.0
    # Coarse bins for pairs: the cube root of the rows, within these. Taken over from the prototype; not measured apart.
    fewest_coarse_bins: int = 8
    most_coarse_bins: int = 16
    # Coarse bins and labels that are distinguished in pairs, from the finest to the coarsest: the first that
    # most_features allows. Chosen by hand; not measured.
    pair_resolutions: tuple[tuple[int, int], ...] = (
        (16, 1 << 16), (16, 64), (12, 32), (8, 32), (8, 16), (6, 12), (4, 8), (0, 8), (0, 0),
    )  # fmt: skip
    # More features than this make the linear term too slow: its cost grows with their cube.
    most_features: int = 1024
    # Beyond this proportion of the rows at either end numbers are clipped in linear terms, so that one outlier does not
    # tilt them. Taken over from the prototype; not measured apart.
    clipped: float = 0.005

    # -- single terms ---------------------------------------------------------------------------------------------

    # Pseudo-counts of a value in a class, and of a pair of values. Measured: 0.5 and 2 0.2240; pairs 5 0.2250; values
    # 1.5 and pairs 1 0.2233.
    value_pseudo_count: float = 0.5
    pair_pseudo_count: float = 2.0
    # Student-t density of a number: pseudo-rows behind its centre and behind its variance, and that variance as a share
    # of the column's. Chosen by hand; not measured.
    t_centre_rows: float = 0.5
    t_variance_rows: float = 1.5
    t_variance: float = 0.5
    # The most that a density may count against a class, in nats: one far number must not decide alone. Chosen by hand;
    # not measured.
    t_most_nats: float = 8.0
    # An ordinal column of fewer levels has no neighbors worth the name. By definition.
    fewest_levels: int = 3
    # A class of so many rows is no longer rare: with fewer it has less than a row in each of the 20 fewest bins.
    rare_rows: float = 20.0
    # Pseudo-texts with every word: the default, and the numbers that are compared by leave-one-out. Chosen by hand; not
    # measured.
    word_pseudo_count: float = 1.0
    word_pseudo_counts: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    # Rows on which they are compared. A limit of time; not measured.
    word_pseudo_rows: int = 2_000

    # -- offsets of words -----------------------------------------------------------------------------------------

    # Ridges on the offsets of words, the strongest first, for rows of length 1; compared on one of so many folds.
    # Measured on ten sets of texts: chosen ones lie between 3 and 0.03.
    word_offset_ridges: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    word_offset_folds: int = 5
    # The standard deviation of the offset of a word that is equally frequent in all classes, beside which the spread of
    # its log frequencies counts. Measured on the first folds of ten sets of texts: the same for all words 91.9 % and
    # log loss 0.238, with the spread and 0.1 91.9 % and 0.236, with 0.5 92.2 % and 0.232.
    word_offset_least_scale: float = 0.5
    # Visits of each row at most, and the mean change of a row's residual at which they end. Numerical.
    word_offset_passes: int = 12
    word_offset_tolerance: float = 2e-3
    # A smaller offset is 0: a text of 300 words moves by less than 0.02 without all of them. Numerical.
    least_word_offset: float = 1e-3
    # The share of its variance by which a row moves its own score, at most: more would be a sign of few held-out rows.
    most_own_share: float = 2.0

    # -- the linear term of all columns at once -------------------------------------------------------------------

    # Ridges on the scatter within classes, compared by leave-one-out on so many rows, under each of these weights.
    # Ridges taken over from the prototype; without linear terms 0.2260 instead of 0.2240. Rows and weights chosen by
    # hand; not measured.
    linear_ridges: tuple[float, ...] = (1.0, 10.0, 100.0)
    linear_rows: int = 5000
    linear_weights: tuple[float, ...] = (
        0.05, 0.0812806796528249, 0.13213097769650292, 0.21479391340728018, 0.3491719053406751, 0.5676185956352383,
        0.9227285047362839, 1.5,
    )  # fmt: skip

    # -- the quadratic term of all columns at once ----------------------------------------------------------------

    # How far the covariance of a class is shrunk towards that within all classes, and the ridges on it: compared by
    # leave-one-out on linear_rows rows, under each of linear_weights. Taken over from the prototype. Measured on 18
    # sets against pseudo-rows instead of a share (0.1, 0.5, 2 and 10 for each direction): equal on most; soybean
    # 0.102 and 0.110, wine 0.027 and 0.036, votes 0.096 and 0.094.
    quadratic_alphas: tuple[float, ...] = (0.02, 0.1, 0.3, 0.7)
    quadratic_ridges: tuple[float, ...] = (1.0, 30.0)
    # There is a quadratic term where numbers, and labels but one of each column, are at most so many, and their
    # products in all classes as well. Limits of time and memory: a row takes half as many multiplications as there are
    # products of numbers, and the products take 8 MB.
    quadratic_features: int = 200
    quadratic_cells: int = 1 << 20

    # -- weights of the terms, by leave-one-out log loss ----------------------------------------------------------

    # Rows on which weights are fitted. Measured on the table of 32,561 rows: 6,000 0.2788, 20,000 0.2735, all 0.2724.
    sample_rows: int = 20_000
    # Ridge on the weights of whole blocks, towards their start. Measured on 12 tables of at most 1,000 rows: 1 0.2894,
    # 0.1 0.2906.
    block_ridge: float = 1.0
    # Ridges on weights of single terms, towards that of their block; the first that no weaker one improves on.
    # Measured: one fixed ridge 0.2266, block weights alone 0.2312, compared 0.2240; weaker than 1 0.2249.
    own_ridges: tuple[float, ...] = (100.0, 10.0, 1.0)
    # How often Takeuchi's correction is counted when fits are compared: pairs were chosen on the same rows, so that
    # once is too little. Measured: once 0.2277, three times 0.2240; six chosen by hand, not measured apart.
    caution: float = 6.0
    # The same where weights are combined of parts without their rows: pairs were chosen in each part apart. Measured on
    # 15 tables in four parts each, log loss against one fit: once 1.23, six times 1.31.
    combined_caution: float = 1.0
    # Ridge on the biases of classes, around their log prior. Taken over from the prototype; not measured apart.
    bias_ridge: float = 3.0
    # Single columns, and pairs at each resolution, that may have a weight of their own. Limits of time; not measured.
    own_values: int = 300
    own_pairs: int = 200
    # A pair gets a weight of its own where its gain exceeds this and the log of the number of pairs. Measured: the log
    # is worth 0.011; half of it 0.2251.
    least_gain: float = 0.5
    # Newton's method: steps at most, steps on the same curvature, and the gain per row at which it ends. Numerical.
    newton_steps: int = 60
    newton_same_curvature: int = 8
    newton_tolerance: float = 1e-10
    # Classes that matter for a row when it is left out of the weights: its own, and the most likely. A limit of time;
    # compared with all classes in the tests.
    influence_classes: int = 16
    # Of a row with a soft label, the classes whose scatter it is left out of in linear terms: the most probable ones.
    # Chosen by hand; all of them up to 8 classes.
    mixed_classes: int = 8

    # -- when the joint model is fitted ---------------------------------------------------------------------------

    # Fewer rows show too little of how columns depend on each other; more classes take too long. Chosen by hand; not
    # measured.
    fewest_rows: int = 50
    most_classes: int = 300
    # The same for a fold of a table that has enough rows, so that scores are those of the model that is kept.
    fewest_rows_in_folds: int = 10
    # All is fitted anew where more than this share of the rows came or went since. Measured on 14 tables, 20 batches,
    # against one fit: 5 % 1.011 times the log loss, 10 % 1.019.
    refit_share: float = 0.05
    # Answers lag behind the counts by no more than this share of the rows: a row in a thousand moves a probability by
    # less than the counts are uncertain. A limit of time.
    answer_lag: float = 0.001
    # What the joint model may lose against textbook naive Bayes on the rows it was fitted on, in nats, and still be
    # kept: one nat, by Akaike's criterion.
    textbook_price: float = 1.0

    # -- probabilities -------------------------------------------------------------------------------------------

    # A model of n rows is no surer of a class than by a share floor_rows / (n + 1) of its prior: as if so much of a row
    # that nobody has seen were of any class. Measured: with it 0.2216, without 0.2246.
    floor_rows: float = 0.1

    # -- screening the columns of wide tables ---------------------------------------------------------------------

    # Tables of at most so many columns, or with so many rows for each, are not screened: noise costs less there than
    # what columns may predict only together. Chosen by hand; not measured.
    unscreened_columns: int = 100
    screened_rows_per_column: int = 50
    # Folds without which the choice is repeated: without a tenth of the rows it is nearly the same choice.
    screen_folds: int = 10
    # How often columns are rated: alone, then beside those found. Chosen by hand; not measured.
    screen_rounds: int = 4
    # A gain below this is none, however few columns there are: as for pairs.
    screen_least_gain: float = 0.5
    # All other columns together need a gain that chance exceeds once in fifty: half of a χ² of one degree of freedom.
    rest_least_gain: float = 2.0

    # -- offsets of values and of pairs of values --------------------------------------------------------------------

    # Where the loss has risen by such a proportion, no weaker ridge is tried. Chosen by hand; not measured.
    offset_loss_rise: float = 0.02
    # What a weaker ridge, or any offset at all, must save, in nats: Akaike's criterion.
    offset_price: float = 1.0
    # The gain, as a proportion of the loss, at which a comparison of ridges ends. Numerical.
    offset_rough_tolerance: float = 3e-4
    # Steps that L-BFGS remembers. Numerical.
    lbfgs_memory: int = 6
    # Ridges on offsets, the strongest first: a step of ten, because the loss is flat around the best one.
    cell_ridges: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01)
    # Offsets are used where they gain more than so many standard errors on held-out rows.
    cell_gain_errors: float = 1.0
    # Of so few rows, folds are fitted where under one of these ridges offsets let the loss of all rows fall by more
    # than chance would. A limit of time.
    cell_screened_rows: int = 500
    cell_tried_ridges: tuple[float, ...] = (10.0, 1.0)
    # Folds of few rows, and of so many: offsets are fitted without each, and used where they gain on it. So many
    # held-out rows are enough to choose the ridge, and to go without if they gain nothing. Limits of time.
    cell_folds: tuple[int, int] = (5, 3)
    cell_many_rows: int = 1_000
    cell_rows: int = 1_000
    # Offsets at most, for each row; pairs of columns of less weight go without. A limit of time.
    cell_offsets: int = 8
    # Evaluations of the loss at most while ridges are compared, and in the last fit; the gain, as a proportion of the
    # loss, at which that one ends. Numerical.
    cell_evaluations: int = 40
    last_cell_evaluations: int = 300
    cell_tolerance: float = 1e-12
    # Pulls as multiples of the ridge: of labels 1, of the line that ordered codes follow, of what deviates from it, of
    # neighbors towards each other, and of pairs of values. Compared on seven simulated tables whose classes follow from
    # sums and products of columns, and on two others: lines by 1, 0.1 and 0.01, neighbors by 1 and by the number of
    # codes, pairs by 1, 10 and 100.
    offset_line_pull: float = 0.01
    offset_deviation_pull: float = 0.1
    offset_neighbor_pull: float = 1.0
    offset_pair_pull: float = 10.0

    # -- calibration: a temperature, and a bias for each class ----------------------------------------------------

    # Bounds of the scale of log joints, and the score below the best beyond which a class is out in any case.
    # Numerical.
    least_scale: float = 1e-3
    largest_scale: float = 1e2
    farthest_score: float = 1e5
    # Biases are tried where each class has so many rows. Chosen by hand; not measured.
    rows_per_bias: int = 10
    calibration_steps: int = 60
    # Rows at most. A limit of time.
    calibration_rows: int = 20_000

    # -- smoothing chosen by leave-one-out ------------------------------------------------------------------------

    # The λ that are compared; of equal ones, the nearest to 1. Chosen by hand; not measured.
    smoothing_grid: tuple[float, ...] = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0)
    # What one more λ must save, in nats: Akaike's criterion.
    smoothing_price: float = 1.0
    # Rounds over all columns, rows at most, and rows in any case. Limits of time.
    smoothing_rounds: int = 3
    smoothing_rows: int = 5_000
    fewest_smoothing_rows: int = 256

    # -- rows without a label: expectation-maximization -----------------------------------------------------------

    # Steps at most, and the gain, as a proportion of the log-likelihood, at which they end. Numerical.
    em_steps: int = 200
    em_tolerance: float = 1e-6
    # What rounding may take from a log-likelihood, as a proportion of it, and at all. Numerical.
    em_rounding: float = 1e-8
    em_least_rounding: float = 1e-6
    # Classes without any label start at random: the best of so many starts, each of so many steps on so many rows; the
    # weight of the row that such a class starts with. Chosen by hand; not measured.
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
