"""Every benchmark runs with tiny data and checks its answers there, so that none rots."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from naively import _kernels as kernels
from naively.model.default.coefficients import STAGES
from naively.model.recipe import RECIPE

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
# They start threads, or a session of Spark, which would outlive them here.
IN_A_PROCESS = {"engines.py", "spark.py"}
SLOW = {"busy.py", "engines.py", "files.py", "run.py", "scaling.py", "spark.py", "sql.py", "tables.py", "text.py",
         "together.py", "wide.py"}  # fmt: skip

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(sys.platform != "linux", reason="benchmarks read /proc, which only Linux has"),
    pytest.mark.filterwarnings("ignore"),  # of the libraries that we are compared with
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SCRIPTS]
)
def test_a_benchmark_runs_on_tiny_data(name, monkeypatch):
    path = str(BENCHMARKS / name)
    if name in IN_A_PROCESS:
        subprocess.run([sys.executable, path, "--smoke"], check=True, stdin=subprocess.DEVNULL)
        return
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "argv", [path, "--smoke"])
    code = None
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        kernels.use_level(kernels.levels()[0])  # which `instructions.py` changes
    assert not code


def test_the_ablation_covers_every_kind_of_term_and_every_choice(monkeypatch):
    """Whatever a recipe can exclude from a model of tables, and the constants that list what is compared."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    variants = runpy.run_path(str(BENCHMARKS / "ablation.py"))["VARIANTS"].values()
    kinds = {"values", "pairs", "normal", "quadratic", "own weights", "coefficients"}
    kinds |= {f"coefficients of {stage}" for stage in STAGES}
    assert kinds == {name for changed in variants for name in changed.get("excluded", ())}
    choices = {"value_bins", "linear_ridges", "quadratic_components", "quadratic_shrinkages", "coefficient_ridges"}
    assert choices | {"folds", "most_measured", "floor_rows"} <= {name for changed in variants for name in changed}
    assert all(getattr(RECIPE, name) != value for changed in variants for name, value in changed.items())
