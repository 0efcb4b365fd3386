"""What several files of tests use."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a core: threads of BLAS within would fight for them
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import pytest

import naively as nv
from naively import _kernels as kernels

from .browser import launched
from .tables import penguins

# Files about our own arithmetic: what they say does not depend on the versions of other libraries, so that they run
# with the newest ones only.
ALONE = {
    "test_adding_up.py", "test_bins.py", "test_class_weight.py", "test_combined_fit.py", "test_counts_of_tables.py",
    "test_cross_validation.py", "test_decision.py", "test_defects.py", "test_doubtful_targets.py", "test_estimate.py",
    "test_exact_sums.py", "test_explain.py", "test_explain_parts.py", "test_families.py", "test_flat.py",
    "test_floor.py", "test_folds.py", "test_forgotten_rows.py", "test_hostile.py", "test_importance.py",
    "test_interrupts.py", "test_interval.py", "test_joint_model.py", "test_joint_model_extremes.py",
    "test_joint_model_proofs.py", "test_joint_model_reports.py", "test_keep_counts.py", "test_keep_rows_by_file.py",
    "test_kept_rows.py", "test_kernel_arguments.py", "test_kernel_paths.py", "test_kernels.py", "test_leave_one_out.py",
    "test_leave_one_out_default.py", "test_leave_one_out_kernels.py", "test_markup.py", "test_merging.py",
    "test_model_states.py", "test_moments.py", "test_moved_counts.py", "test_notebook_views.py", "test_notes.py",
    "test_offsets.py", "test_onnx.py", "test_ordinal.py", "test_page.py", "test_page_browser.py",
    "test_page_quality.py", "test_pair_tables.py", "test_parts.py", "test_posteriors.py", "test_quadratic.py",
    "test_quality_browser.py", "test_rare_classes.py", "test_real_tables.py", "test_recorded_answers.py",
    "test_refined.py", "test_report.py", "test_row_weights.py", "test_rows_in_files.py", "test_same_bits.py",
    "test_sample.py", "test_scorer_js.py", "test_scores.py", "test_scores_decisions.py", "test_scores_labels.py",
    "test_scores_spread.py", "test_seeds.py", "test_serve_browser.py", "test_serve_learning.py",
    "test_serve_security.py", "test_shared_threads.py", "test_small_tables.py", "test_soft_labels.py",
    "test_statistics.py", "test_text_codes.py", "test_texts_accuracy.py", "test_texts_evidence.py",
    "test_texts_hostile.py", "test_texts_models.py", "test_threads.py", "test_tokens.py", "test_tokens_unicode.py",
    "test_tuning.py", "test_uncertainty.py", "test_units.py", "test_unlabelled.py", "test_unlabelled_default.py",
    "test_wide_tables.py", "test_word_offsets.py", "test_worked_table.py",
}  # fmt: skip


def pytest_collection_modifyitems(items):
    """Mark the tests of these files."""
    for item in items:
        if item.path.name in ALONE:
            item.add_marker(pytest.mark.alone)


@pytest.fixture(scope="module", params=kernels.levels())
def level(request):
    """Run on one instruction level after the other, and leave the best behind."""
    kernels.use_level(request.param)
    yield request.param
    kernels.use_level(kernels.levels()[0])


@pytest.fixture(scope="module")
def chromium():
    """Return a browser; tests are skipped where there is none. While it is open, no other event loop can run."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def fitted():
    """Return a model that takes columns together, its rows and their classes."""
    X, y = penguins()
    return nv.NaiveBayes(model="auto").fit(X, y), X, y


@pytest.fixture(scope="session")
def in_a_file(tmp_path_factory):
    """Return a file of the same rows, with their classes."""
    path = tmp_path_factory.mktemp("rows") / "penguins.csv"
    X, y = penguins()
    X.assign(species=y).to_csv(path, index=False)
    return path
