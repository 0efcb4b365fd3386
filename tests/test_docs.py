"""Pages and docstrings tell the truth: every example runs, every link and every name exists."""

import builtins
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sklearn.feature_extraction.text
import sklearn.naive_bayes
from palmerpenguins import load_penguins

import naively
import naively.errors
import naively.sklearn
import naively.spark

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "README.zh-CN.md", "ARCHITECTURE.md")), *sorted(DOCS.rglob("*.md"))]
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
WITHOUT = {"naively.spark.pipeline"} if importlib.util.find_spec("pyspark") is None else set()  # it is made of PySpark
FOUND = [found.name for found in pkgutil.walk_packages(naively.__path__, "naively.")]
MODULES = ["naively", *(name for name in FOUND if name not in WITHOUT)]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DIRECTIVES = ("{toctree}", "{eval-rst}", "{include}")  # what Sphinx does, and no example
# Terms of our own for what the field has a name for, and its name.
TERMS = {
    r"text[- ]books?\b(?! example)": "textbook",
    r"\bholes?\b": "missing values",
    r"rows? (that (is|was|were|are) )?left out": "leave-one-out, held-out rows",
    r"taken together|take columns together": "default model, pairs of columns",
    r"imagin\w+": "pseudo-counts",
    r"\bbells?\b|bell curve": "normal or Student-t density",
    r"\btold apart\b": "distinguished",
    r"never met|was met|were met": "unseen, observed, counted",
    r"says? nothing|speaks?\b|spoke\b": "contributes nothing, contribution",
    r"log-loss": "log loss",
    r"% right|is right in": "accuracy",
    r"colours?\b": "color",
}

# Libraries that examples of pages and modules need, and that are not installed with the lowest versions of others.
NEEDED = {
    "docs/guide/export.md": ["sqlglot"],
    "docs/guide/export-onnx.md": ["onnx", "onnxruntime"],
    "docs/scale/spark.md": ["pyspark"],
    "docs/scale/sql.md": ["ibis"],
    "naively.export.onnx_model": ["onnx"],
    "naively.export.sql_query": ["sqlglot"],
    "naively.spark": ["pyspark"],
    "naively.sql": ["ibis"],
}


def need_libraries(of: str) -> None:
    """Skip a test of examples whose libraries are not installed."""
    for library in (name for key, names in NEEDED.items() if of.startswith(key) for name in names):
        pytest.importorskip(library, reason=f"{library}, which examples of {of} need, is not installed")


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
every_page = pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
each_twin = pytest.mark.parametrize(
    "twin", [page for page in PAGES if page.name.endswith(".zh-CN.md")], ids=lambda page: page.name
)


class Block(NamedTuple):
    """A fenced block of a page: its language, the line after its fence, and its lines."""

    language: str
    start: int
    lines: list[str]


def blocks_of(text: str) -> list[Block]:
    found: list[Block] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
            if inside:
                found.append(Block(line[3:].partition(" ")[0].strip(), number, []))
        elif inside:
            found[-1].lines.append(line)
    assert not inside, "a fence is not closed"
    return found


def prose_of(text: str) -> str:
    """Return the text without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def examples_of(page: Path, section: str = "") -> doctest.DocTest:
    """Return the examples of a page as one test, with its own line numbers: those of a section, or of all but APART."""
    text = page.read_text(encoding="utf-8")
    lines, heading = [""] * len(text.splitlines()), re.compile(r"^## (.+)$", re.MULTILINE)
    for block in blocks_of(text):
        *_, found = ["", *heading.findall("\n".join(text.splitlines()[: block.start]))]
        if block.language in ("python", "pycon") and section == (found if found in APART.get(page.name, ()) else ""):
            lines[block.start : block.start + len(block.lines)] = block.lines
    return doctest.DocTestParser().get_doctest("\n".join(lines), {"__name__": page.stem}, page.name, str(page), 0)


# Sections that need nothing of those before them but penguins, of a page that would make a long test.
APART = {"scores.md": ("Folds", "Overconfidence")}


def run(test: doctest.DocTest) -> None:
    said: list[str] = []
    if doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append).failed:
        pytest.fail("".join(said), pytrace=False)


@each_page
def test_every_example_of_a_page_runs(page):
    need_libraries(page.relative_to(ROOT).as_posix())
    run(examples_of(page))


@pytest.mark.parametrize(("page", "section"), [(page, section) for page in APART for section in APART[page]])
def test_every_example_of_a_section_runs(page, section):
    test = examples_of(ROOT / "docs" / "guide" / page, section)
    assert test.examples
    test.globs |= {"nv": naively, "penguins": load_penguins()}
    run(test)


@each_page
def test_no_example_escapes_the_test(page):
    """A block of Python starts with a prompt, so that it is run."""
    for block in blocks_of(page.read_text(encoding="utf-8")):
        assert block.language in ("", "python", "pycon", *DIRECTIVES), f"line {block.start}: {block.language}"
        if block.language in ("python", "pycon"):
            assert block.lines[0].startswith(">>> "), f"line {block.start}"
        else:
            assert not any(line.startswith(">>>") for line in block.lines), f"line {block.start}"


def has_examples(name: str) -> bool:
    """Return whether the source of a module has a prompt, without importing it."""
    found = importlib.util.find_spec(name)
    return bool(
        found and found.origin and found.origin.endswith(".py") and ">>> " in Path(found.origin).read_text("utf-8")
    )


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_every_example_of_a_docstring_runs(name):
    need_libraries(name)
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert tests, "an example that no docstring holds is never run"
    for test in tests:
        run(test)


@every_page
def test_every_link_leads_somewhere(page):
    prose = prose_of(page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        assert ROOT in path.parents, target
        assert not anchor or anchor in anchors(path), target


def anchors(page: Path) -> set[str]:
    """Return the names under which the headings of a page can be linked to."""
    titles = re.findall(r"^#+ (.+)$", prose_of(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_twin
def test_a_page_and_its_chinese_twin_say_the_same(twin):
    """Both have the same headings level by level, the same tables line by line, and the same code."""
    chinese = twin.read_text(encoding="utf-8")
    english = twin.with_name(twin.name.replace(".zh-CN", "")).read_text(encoding="utf-8")

    assert shape(english) == shape(chinese)
    assert code_of(english) == code_of(chinese)


def code_of(text: str) -> list[tuple[str, list[str]]]:
    return [(block.language, block.lines) for block in blocks_of(text) if block.language not in DIRECTIVES]


def shape(text: str) -> list[str]:
    """Return the marks that headings and table lines are made of."""
    lines = re.findall(r"^(?:#+ |\|).*$", prose_of(text), flags=re.MULTILINE)
    return [re.sub(r"\\\||[^#|]", "", line) for line in lines]


@every_page
def test_every_name_of_the_package_exists(page):
    """What a page calls nv.something or naively.something can be imported, and so can what it imports."""
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"\b(?:nv|naively)((?:\.[A-Za-z_]\w*)+)", text):
        assert pkgutil.resolve_name(f"naively{path}") is not None
    for module, names in re.findall(r"from (naively[.\w]*) import ([\w, ]+)", text):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip()), f"{module} has no {name}"


@every_page
def test_every_class_in_backticks_exists(page):
    """A word `LikeThis` is a class of the package, of scikit-learn's naive Bayes or words, or of Python."""
    known = {name for module in MODULES for name in vars(importlib.import_module(module))}
    known |= {*vars(builtins), *vars(sklearn.naive_bayes), *vars(sklearn.feature_extraction.text)}
    words = re.findall(r"`([A-Z][a-z]\w*)(?:\([^`]*\))?`", prose_of(page.read_text(encoding="utf-8")))
    assert not set(words) - known


def test_every_file_in_backticks_exists():
    written = r"`([\w./-]+\.(?:py|pyi|cpp|hpp|md|txt|toml))`"
    found = [(page, name) for page in ALL_PAGES for name in re.findall(written, prose_of(page.read_text("utf-8")))]
    assert len(found) > 20
    homes = (ROOT, ROOT / "src" / "naively", ROOT / "native")
    lost = [(p.name, name) for p, name in found if not any((home / name).exists() for home in (*homes, p.parent))]
    assert not lost


@each_page
def test_pages_use_the_terms_of_the_field(page):
    prose = prose_of(page.read_text(encoding="utf-8"))
    if page.is_relative_to(DOCS) or page.name.startswith("README"):
        found = {match[0]: write for term, write in TERMS.items() for match in re.finditer(term, prose, flags=re.I)}
        assert not found


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_a_readme_is_short(page):
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) < 200


def referenced() -> dict[str, Any]:
    """Return the names that the reference lists, each with its object."""
    names = []
    for page in REFERENCE:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            if block.language == "{eval-rst}" and any("autosummary::" in line for line in block.lines):
                module = next(line.split()[-1] for line in block.lines if "currentmodule::" in line)
                names += [f"{module}.{line.strip()}" for line in block.lines if re.fullmatch(r" +\w+", line)]
    assert len(set(names)) == len(names)
    return {name: pkgutil.resolve_name(name) for name in names}


def test_the_reference_has_every_public_name():
    errors = [value for value in vars(naively.errors).values() if inspect.isclass(value)]
    public = {f"naively.{name}" for name in naively.__all__ if name not in ("export", "plots", "sql")}
    public |= {f"naively.sklearn.{name}" for name in naively.sklearn.__all__}
    public |= {f"naively.errors.{error.__name__}" for error in errors if issubclass(error, naively.errors.NaivelyError)}
    public |= {f"naively.plots.{name}" for name in naively.plots.__all__}
    public |= {f"naively.export.{name}" for name in naively.export.__all__}
    public |= {f"naively.sql.{name}" for name in naively.sql.__all__}
    public |= {f"naively.spark.{name}" for name in naively.spark.__all__ if name not in naively.spark.STAGES}
    assert set(referenced()) == public


def test_the_reference_has_every_command():
    from naively.cli import main

    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert re.search(r":commands: (.*)", page)[1].split(",") == list(main.commands)


def members_of(name: str, value: type) -> list[str]:
    """Return the methods and properties that the page of a class shows."""
    shown = runpy.run_path(str(DOCS / "conf.py"))["MEMBERS"]
    if name in shown:
        return list(shown[name])
    return [member for member, found in inspect.getmembers(value) if not member.startswith("_") and ours(found)]


def ours(member: Any) -> bool:
    """Return whether the package defines a method or property, with a docstring."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    home = getattr(function, "__module__", None) or ""
    return home.partition(".")[0] == "naively" and callable(function)


def documented() -> list[str]:
    """Return every name of the reference, with the members of its page."""
    listed = []
    for name, value in referenced().items():
        members = members_of(name, value) if inspect.isclass(value) and not issubclass(value, Exception) else []
        listed += [name, *(f"{name}.{member}" for member in members)]
    return listed


@pytest.mark.parametrize("name", documented())
def test_a_docstring_is_complete(name):
    """Summary, parameters with types, returns and an example, by numpydoc's checks as set in pyproject.toml."""
    from numpydoc.validate import validate

    left_out = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"])
    value = referenced().get(name)
    if value is None or (inspect.isclass(value) and issubclass(value, Exception)):
        left_out.add("EX01")  # the example of a method may stand in its class, and errors need none
    if inspect.isclass(value) and issubclass(value, Exception):
        left_out.add("PR01")  # users read the attributes of an error, and do not make one
    assert not [(code, text) for code, text in validate(name)["errors"] if code not in left_out]


def test_the_architecture_is_one_page_that_names_every_package():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "naively"
    packages = [path.parent.relative_to(source).as_posix() for path in source.rglob("*/__init__.py")]
    folders = [path.name for path in (ROOT / "native").iterdir() if path.is_dir() and path.name != "fuzz"]
    assert packages
    assert folders
    assert not [name for name in packages if f"`{name}`" not in text]
    assert not [name for name in folders if f"`{name}`" not in text and f"native/{name}" not in text]
    assert len(text.splitlines()) < 150


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_a_readme_quotes_what_the_demo_prints(page, capsys):
    runpy.run_path(str(ROOT / "examples" / "first_result.py"))["show_penguins"]()
    printed = re.findall(r"^  (\d+\.\d)%  ", capsys.readouterr().out, flags=re.MULTILINE)
    quoted = re.findall(r"\| (\d+\.\d) % \|$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(printed) == 3
    assert sorted(printed) == sorted(quoted)


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_a_readme_has_the_accuracy_that_the_command_line_measures(page):
    """Fitting the file, as `demo` does first, scores the same rows on the same folds as its table of accuracies."""
    scores = naively.cross_validate(ROOT / "examples" / "penguins.csv", target="species", cv=5)
    assert f"| `NaiveBayes()` | {100 * scores.accuracy:.1f} % |" in (ROOT / page).read_text(encoding="utf-8")
