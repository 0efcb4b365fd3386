"""Every benchmark runs with tiny data and checks its answers there, so that none rots."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from naively import _kernels as kernels
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
    """Kinds that tables of the benchmark have, and the constants of the recipe that list what is compared."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    recipes = [recipe for _, recipe in runpy.run_path(str(BENCHMARKS / "ablation.py"))["VARIANTS"].values()]
    kinds = {"values", "pairs", "normal", "coefficients", "triples"}
    assert kinds == {name for recipe in recipes for name in recipe.excluded}
    choices = ["value_bins", "own_ridges", "linear_ridges", "quadratic_components", "quadratic_shrinkages"]
    choices += ["coefficient_ridges", "most_tables", "folds", "measured_rows", "most_measured", "sample_rows"]
    choices += ["floor_rows"]
    kept = [name for name in choices if all(getattr(recipe, name) == getattr(RECIPE, name) for recipe in recipes)]
    assert not kept
