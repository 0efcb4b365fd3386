"""The package keeps its shape: it loads little, shows what it promises, and its files and functions stay short."""

import ast
import importlib
import inspect
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import naively
from naively.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "naively"
HEAVY = ("sklearn", "pandas", "duckdb", "pyarrow", "scipy.stats")

MOST_LINES = 400
AT_THE_ROOT = {
    ".clang-format", ".clang-tidy", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CMakeLists.txt",
    "CONTRIBUTING.md", "LICENSE", "README.md", "README.zh-CN.md", "chores.py", "noxfile.py", "pyproject.toml",
}  # fmt: skip
LONGEST_BODY = 40


def fresh(program: str, folder: Path) -> str:
    """Return what a program prints in an interpreter of its own."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_little(tmp_path):
    """Neither scikit-learn nor pandas nor other large packages come with `import naively`."""
    modules = json.loads(fresh("import json, sys, naively; print(json.dumps(sorted(sys.modules)))", tmp_path))
    assert not set(HEAVY) & set(modules)


def test_public_names_load_little(tmp_path):
    """Counts, families, decisions and scores need none of the large packages either; tables and schemas need Arrow."""
    light = sorted(
        set(naively.__all__)
        - {"Evidence", "Expected", "File", "NaiveBayes", "compare", "count", "cross_validate", "load", "merge", "plots"}
        - {"Column", "FileFit", "Profile", "Report", "Schema", "fit_files", "profile", "sql"}
    )
    program = f"import sys; from naively import {', '.join(light)}; print(*(n for n in {HEAVY!r} if n in sys.modules))"
    assert fresh(program, tmp_path).split() == []


def test_every_public_name_resolves_twice():
    first, second = ([getattr(naively, name) for name in naively.__all__] for _ in range(2))
    assert all(a is b for a, b in zip(first, second, strict=True))
    assert set(naively.__all__) <= set(dir(naively))


def test_types_are_shipped():
    installed = Path(naively.__file__).parent
    assert (installed / "py.typed").exists()
    assert (installed / "_kernels.pyi").exists()


def test_the_stub_of_the_kernels_is_current(tmp_path):
    """The stub in the repository is what `python3 chores.py stub` would write; layout aside, which ruff decides."""
    made = tmp_path / "_kernels.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-m", "naively._kernels", "-o", str(made)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert declared(SOURCE / "_kernels.pyi") == declared(made)


def declared(stub: Path) -> str:
    """Return what a stub declares, whatever its layout."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = inspect.cleandoc(node.value)
    return ast.unparse(tree)


def test_the_version_is_written_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == naively.__version__


def test_the_root_holds_no_strays():
    """What a program leaves where it runs, such as the profile of onnxruntime, is not committed along."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone, to list what is committed")
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {name for name in listed if "/" not in name} <= AT_THE_ROOT


def test_files_are_short():
    """Docstrings and arguments do not count: those of public methods are as many as their users need."""
    kinds = [(SOURCE, "*.py"), (ROOT / "native", "*.cpp"), (ROOT / "native", "*.hpp")]
    files = [path for folder, kind in kinds for path in folder.rglob(kind)]
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) - lines_for_users(path) for path in files}
    assert lengths
    assert not {name: lines for name, lines in lengths.items() if lines >= MOST_LINES}


def lines_for_users(path: Path) -> int:
    """Return how many lines of a Python file are docstrings, and lines of arguments below those of their functions."""
    if path.suffix != ".py":
        return 0
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, documented)]
    docstrings = (node.body[0] for node in nodes if ast.get_docstring(node) is not None)
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
    return sum(docstring.end_lineno - docstring.lineno + 1 for docstring in docstrings) + sum(
        max(node.body[0].lineno - node.lineno - 1, 0) for node in functions
    )


def test_function_bodies_are_short():
    """A body is seen at once; signature and docstring do not count."""
    long = {
        f"{path.name}:{node.lineno} {node.name}": lines
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (lines := body_lines(node)) >= LONGEST_BODY
    }
    assert not long


def body_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function's body, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_file_and_its_row(name):
    """A family lives in a file of its name and stands in the table of formulas."""
    family = FAMILIES[name]
    page = (ROOT / "docs" / "guide" / "estimates.md").read_text(encoding="utf-8")

    assert family.name == name
    assert family.__module__ == f"naively.families.{name}"
    assert getattr(importlib.import_module(family.__module__), family.__name__) is getattr(naively, family.__name__)
    assert any(line.startswith(f"| `{name}` |") and line.count("|") == 6 for line in page.splitlines())
