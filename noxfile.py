"""Chores as sessions of Nox: `nox -s NAME`, or `python3 chores.py NAME`, which installs Nox first.

`python3 chores.py test` runs the sessions marked with *, as CI does; with `--quick` it runs `lint` and each test
function once, for every commit; with other arguments, pytest alone with those. `python3 chores.py nightly` runs what
takes longer: the sessions `nightly` and `lowest`.

Environments are kept in .venvs and made anew only when what they require changes; style, docs and tests share one. The
package is compiled once for each state of its sources, and every session that tests it installs that wheel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "docs", "tests"]  # what CI runs
nox.options.default_venv_backend = "venv"  # and pip: it needs nothing else and heeds the settings of the machine
nox.options.envdir = ".venvs"
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).resolve().parent
WHEELS = ROOT / ".venvs" / "wheels"
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
DEPENDENCIES = PROJECT["project"]["dependencies"]
BUILD_REQUIRES = PROJECT["build-system"]["requires"]
SHARED = {"venv_backend": "none", "requires": ["development"]}  # of sessions that use the environment `development`
PYTEST = ("python", "-m", "pytest")
PARALLEL = (*PYTEST, "-n", "auto", "--maxprocesses", "8", "--dist", "worksteal")
SKLEARN_SUITE = ("python", "tests/sklearn_suite/run.py")
SPARK = "tests/test_spark.py"  # Spark uses all cores by itself, and its tests share one session
LOWEST = ROOT / "tests" / "lowest.txt"
BIN = "Scripts" if os.name == "nt" else "bin"
STUB = "src/naively/_kernels.pyi"

# Nothing but the environment decides which package is tested.
for variable in ("PYTHONPATH", "PYTHONHOME"):
    os.environ.pop(variable, None)
os.environ["PATH"] = f"{ROOT / '.venvs' / 'development' / BIN}{os.pathsep}{os.environ['PATH']}"  # for SHARED sessions
# Python compiles a module when it is first imported; most modules of an environment never are.
os.environ |= {"PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


@nox.session(**SHARED)
def lint(session: nox.Session) -> None:
    """Check style, types, the direction of imports and the layout of Python and C++."""
    run_all(
        session,
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy",),
        ("lint-imports",),
        ("clang-format", "--dry-run", "-Werror", *native_files()),
        env={"MYPYPATH": "src", "PYTHONPATH": "src"},  # a complaint names the file to edit
    )


@nox.session(**SHARED)
def docs(session: nox.Session) -> None:
    """Build the site into build/docs, a warning being an error; `tests` runs the examples in it."""
    # All pages anew, because Sphinx does not repeat the warnings of a page that it has read before.
    session.run("sphinx-build", "-W", "--keep-going", "--fresh-env", "-b", "html", "docs", "build/docs")


@nox.session(**SHARED)
def tests(session: nox.Session) -> None:
    """Run pytest and scikit-learn's own tests; with arguments, pytest alone with those."""
    if session.posargs == ["--quick"]:
        session.run(*PARALLEL, "--quick")
    elif session.posargs:
        session.run(*PYTEST, *session.posargs)
    else:
        run_all(session, (*PARALLEL, f"--ignore={SPARK}"), (*PYTEST, SPARK), SKLEARN_SUITE)


@nox.session(**SHARED)
def nightly(session: nox.Session) -> None:
    """Run the tests marked as slow, with all real tables, and all that scikit-learn tests."""
    slow = ("-m", "slow")
    run_all(session, (*PARALLEL, *slow, f"--ignore={SPARK}"), (*PYTEST, *slow, SPARK), (*SKLEARN_SUITE, "--all"))


@nox.session
def lowest(session: nox.Session) -> None:
    """Run the tests with the oldest versions of other libraries that are supported."""
    pins = (line.partition("#")[0].strip() for line in LOWEST.read_text(encoding="utf-8").splitlines())
    install_package(session, *group("test"), *filter(None, pins))
    run_all(session, SKLEARN_SUITE, (*PARALLEL, "-m", "not slow and not alone"))


@nox.session
def demo(session: nox.Session) -> None:
    """Fit a model from a file on the command line, predict with it, write its report, and show a first result."""
    install_package(session, *group("demo"))
    data, model = "examples/penguins.csv", "build/penguins.parquet"
    Path("build").mkdir(exist_ok=True)
    session.env["PYTHONUTF8"] = "1"  # Windows would write tables in an older encoding
    session.run("naively", "fit", data, "--target", "species", "-o", model)
    session.run("naively", "predict", model, data, "--limit", "5")
    session.run("naively", "report", model, data, "-o", "build/report.html")
    session.run("python", "examples/first_result.py")


@nox.session(name="format", **SHARED)
def format_(session: nox.Session) -> None:
    """Lay out Python and C++ and repair what can be repaired by itself."""
    run_all(
        session,
        ("ruff", "check", "--fix", "."),
        ("ruff", "format", "."),
        ("clang-format", "-i", *native_files()),
    )


@nox.session(**SHARED)
def stub(session: nox.Session) -> None:
    """Write the stub of the compiled module, src/naively/_kernels.pyi, anew."""
    session.run("python", "-m", "nanobind.stubgen", "-m", "naively._kernels", "-o", STUB)
    session.run("ruff", "format", STUB)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks: of the drop-in classes, or those of a script by its name, such as `tables`."""
    install_package(session, *group("bench"))
    name, *rest = session.posargs or ["run"]
    script = Path("benchmarks", f"{name}.py")
    session.run("python", *([script, *rest] if script.exists() else ["benchmarks/run.py", *session.posargs]))


@nox.session
def instructions(session: nox.Session) -> None:
    """Compare the instructions that each kernel takes with the last record; --update writes a new record."""
    need(session, "headers", "compiler", "valgrind")
    install(session, *DEPENDENCIES, *BUILD_REQUIRES)
    package = compile_package(session, "symbols", NAIVELY_SYMBOLS="ON")
    session.run("python", "tools/count_instructions.py", package, *session.posargs)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Test the kernels with checks of memory accesses, undefined behaviour and races between threads."""
    need(session, "headers", "compiler", "sanitizers")
    install(session, *DEPENDENCIES, *group("test"), *BUILD_REQUIRES)
    sanitizers = {"memory": "address,undefined", "races": "thread"}
    packages = {kind: compile_package(session, name, NAIVELY_SANITIZE=kind) for name, kind in sanitizers.items()}
    run_all(session, *(("python", "tools/sanitize.py", kind, package) for kind, package in packages.items()))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Read random bytes as texts for 600 seconds, or as many as given, with checks of every memory access."""
    need(session, "headers", "fuzzer")
    install(session, *BUILD_REQUIRES, *group("native"))
    folder, corpus = Path("build", "fuzz"), Path("build", "fuzz", "corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    configure(session, folder, CMAKE_CXX_COMPILER="clang++", CMAKE_BUILD_TYPE="None")
    session.run("cmake", "--build", folder, "--target", "naively_fuzz", silent=True)
    seconds = session.posargs[0] if session.posargs else "600"
    limits = (f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1")
    session.run(ROOT / folder / "naively_fuzz", corpus, *limits, external=True)


@nox.session
def tidy(session: nox.Session) -> None:
    """Check the C++ with clang-tidy; with arguments, only the files whose path they match."""
    need(session, "headers", "compiler")
    install(session, *BUILD_REQUIRES, *group("native"))
    folder = Path("build", "tidy")
    # clang cannot read the headers that another compiler has prepared
    configure(session, folder, CMAKE_EXPORT_COMPILE_COMMANDS="ON", CMAKE_DISABLE_PRECOMPILE_HEADERS="ON")
    session.run("run-clang-tidy.py", "-quiet", "-p", folder, *(session.posargs or ["/native/"]))


@nox.session
def build(session: nox.Session) -> None:
    """Build the sdist, and the wheel from that sdist, into dist/."""
    need(session, "headers", "compiler")
    install(session, "build>=1.2")
    shutil.rmtree("dist", ignore_errors=True)
    # Unpacked elsewhere and built alone, the wheel proves that the sdist lacks nothing.
    session.run("python", "-m", "build", silent=True)
    for path in sorted(Path("dist").iterdir()):
        session.log(f"{path.stat().st_size / 1024:8.0f} KiB  {path}")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel of the sources as they are now, unless it is there; other sessions install it."""
    folder = wheel_folder()
    if any(folder.glob("*.whl")):
        return
    need(session, "headers", "compiler")
    install(session, *BUILD_REQUIRES)
    install_build_tools(session)
    shutil.rmtree(WHEELS, ignore_errors=True)
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    if os.environ.get("NAIVELY_WERROR"):  # not always: a newer compiler may warn of what no version here knew
        options.append("--config-settings=cmake.define.NAIVELY_WERROR=ON")
    session.run("python", "-m", "pip", "wheel", *options, ".", silent=True)


@nox.session
def development(session: nox.Session) -> None:
    """Make the environment that style, docs and tests share; those sessions run it by themselves."""
    install_package(session, *group("lint"), *group("docs"), *group("test"), *group("engines"))


@nox.session(venv_backend="none")
def clean(session: nox.Session) -> None:
    """Remove what the other sessions made: environments, builds and caches."""
    folders = ("src", "tests", "benchmarks", "tools")
    caches = [path for folder in folders for path in Path(folder).rglob("__pycache__")]
    made = ".venvs build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis __pycache__"
    for path in [*caches, *map(Path, made.split())]:
        shutil.rmtree(path, ignore_errors=True)


# --- environments -----------------------------------------------------------------------------------------------------


def group(name: str) -> list[str]:
    """Return a dependency group of pyproject.toml; older versions of pip cannot read groups."""
    return list(nox.project.dependency_groups(PROJECT, name))


def install(session: nox.Session, *requirements: str) -> None:
    """Make the session's environment hold exactly the requirements and what they need, unless it does already."""
    folder = Path(session.virtualenv.location)
    stamp, wanted = folder / "requirements.stamp", digest(str(ROOT), *requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if stamp.exists():
        session.run(sys.executable, "-m", "venv", "--clear", folder, silent=True, external=True)
    stamp.write_text("unfinished")
    session.install(*requirements)
    stamp.write_text(wanted)


def install_package(session: nox.Session, *requirements: str) -> None:
    """Make the session's environment hold the requirements and the package, whose wheel is built at the same time."""
    folder, stamp = wheel_folder(), Path(session.virtualenv.location, "package.stamp")
    with subprocess.Popen([sys.executable, "-m", "nox", "--session", "wheel"], cwd=ROOT) as building:
        install(session, *DEPENDENCIES, *requirements)
    if building.returncode:
        session.error("there is no wheel to install")
    if not stamp.exists() or stamp.read_text() != folder.name:
        session.install("--no-deps", "--force-reinstall", *map(str, folder.glob("*.whl")))
        stamp.write_text(folder.name)


def install_build_tools(session: nox.Session) -> None:
    """Install cmake and ninja unless the machine's will do, which the build backend knows."""
    question = "from scikit_build_core.build import get_requires_for_build_wheel as ask; print(*ask())"
    if tools := str(session.run("python", "-c", question, silent=True, log=False)).split():
        session.install(*tools)


def compile_package(session: nox.Session, name: str, **options: str) -> Path:
    """Return a folder for PYTHONPATH with the package, compiled with these options of CMakeLists.txt."""
    install_build_tools(session)
    folder = ROOT / "build" / name
    settings = {"build-dir": folder / "cmake", "install.strip": "false"}
    settings |= {f"cmake.define.{option}": value for option, value in options.items()}
    flags = [f"--config-settings={key}={value}" for key, value in settings.items()]
    place = ("--no-deps", "--no-build-isolation", "--upgrade", "--target", folder / "package")
    session.run("python", "-m", "pip", "install", *place, *flags, ".", silent=True)
    return folder / "package"


def configure(session: nox.Session, folder: Path, **options: str) -> None:
    """Let CMake prepare a build of the targets of CMakeLists.txt with these options."""
    options |= {"Python_EXECUTABLE": str(Path(session.bin, "python"))}
    flags = [f"-D{option}={value}" for option, value in options.items()]
    session.run("cmake", "-S", ".", "-B", folder, "-G", "Ninja", *flags, silent=True)


# --- sources and programs ---------------------------------------------------------------------------------------------


def wheel_folder() -> Path:
    """Return the folder for the wheel of the sources as they are now."""
    return WHEELS / digest(*source_texts())


def source_texts() -> Iterator[str]:
    """Yield the name and contents of each file that goes into the wheel."""
    alone = [ROOT / name for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE")]
    found = [path for folder in ("src", "native") for path in (ROOT / folder).rglob("*") if path.is_file()]
    made = {".pyc", ".so", ".pyd"}
    for path in sorted(path for path in [*alone, *found] if path.suffix not in made):
        yield f"{path.relative_to(ROOT)}\0{path.read_text(encoding='utf-8')}"


def native_files() -> list[Path]:
    """Return the sources and headers of C++."""
    return sorted(path for kind in ("cpp", "hpp") for path in Path("native").rglob(f"*.{kind}"))


def digest(*texts: str) -> str:
    """Return a short name that changes when one of the texts or Python does."""
    return hashlib.sha256("\0".join([sys.version, *texts]).encode()).hexdigest()[:16]


def need(session: nox.Session, *names: str) -> None:
    """End the session with advice where the machine lacks something of tools/machine.py."""
    session.run("python", "tools/machine.py", *names, log=False)


def run_all(session: nox.Session, *commands: tuple[str | Path, ...], env: dict[str, str] | None = None) -> None:
    """Run every command, failed ones before it or not; the session fails if one of them did."""
    failures = []
    for command in commands:
        try:
            session.run(*command, env=env)
        except CommandFailed as failure:
            failures.append((failure, " ".join(map(str, command[:4]))))
    if failures:
        session.warn("failed: " + "; ".join(name for _, name in failures))
        raise failures[0][0]
