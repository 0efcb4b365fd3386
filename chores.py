"""All chores of the project in one script of the standard library: ``python3 chores.py`` lists them."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
VENVS = ROOT / ".venvs"
BIN = "Scripts" if os.name == "nt" else "bin"
STUB = ROOT / "src" / "naively" / "_kernels.pyi"
RECORD = ROOT / "benchmarks" / "instructions.json"

CHORES: dict[str, Callable[..., int]] = {}


class ChoreError(Exception):
    """A chore cannot go on; the text says why and what to do."""


def chore(function: Callable[..., int]) -> Callable[..., int]:
    """Put a function on the list of chores, under its own name."""
    CHORES[function.__name__.rstrip("_")] = function
    return function


@chore
def demo() -> int:
    """Install the package from source, fit a model from a file on the command line, and show a first result."""
    python = environment("demo", *group("demo"))
    data, model = "examples/penguins.csv", "build/penguins.parquet"
    (ROOT / "build").mkdir(exist_ok=True)
    steps = (
        ("-m", "naively", "fit", data, "--target", "species", "-o", model),
        ("-m", "naively", "predict", model, data, "--limit", "5"),
        ("examples/first_result.py",),
    )
    return 0 if all(call(python, "-X", "utf8", *step) for step in steps) else 1


@chore
def test(*arguments: str) -> int:
    """Run every check on the installed package; with arguments, pytest alone with those."""
    python = tested()
    if arguments:
        return 0 if call(python, "-m", "pytest", *arguments) else 1
    workers = ("-n", "auto", "--maxprocesses", "8")
    suite = "tests/sklearn_suite/run.py"
    return run_all(
        *checks(python),
        ("pytest", lambda: call(python, "-m", "pytest", *workers)),
        ("scikit-learn's own tests", lambda: call(python, suite)),
        ("scikit-learn's own tests, lowest versions", lambda: call(lowest(), suite)),
        ("pytest, lowest versions", lambda: call(lowest(), "-m", "pytest", *workers, "-m", "not slow and not alone")),
    )


@chore
def lint() -> int:
    """Check style, types and the direction of imports."""
    return run_all(*checks(tested()))


@chore
def format_() -> int:
    """Lay out the code and repair what can be repaired by itself."""
    python = tested()
    repaired = call(python, "-m", "ruff", "check", "--fix", ".")
    return 0 if call(python, "-m", "ruff", "format", ".") and repaired else 1


@chore
def build() -> int:
    """Build the sdist, and the wheel from that sdist, into dist/."""
    start = time.perf_counter()
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    backend = "import scikit_build_core.build as backend; backend.build_sdist('dist')"
    quietly(builder(), "-c", backend)
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    # Unpacked elsewhere and built alone, the wheel proves that the sdist lacks nothing.
    quietly(builder(), "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", sdist)
    print(f"built in {time.perf_counter() - start:.0f} s")
    for path in sorted((ROOT / "dist").iterdir()):
        print(f"{path.stat().st_size / 1024:8.0f} KiB  {path.relative_to(ROOT)}")
    return 0


@chore
def stub() -> int:
    """Write src/naively/_kernels.pyi anew from the compiled module."""
    python = tested()
    quietly(python, "-m", "nanobind.stubgen", "-m", "naively._kernels", "-o", STUB)
    quietly(python, "-m", "ruff", "format", STUB)
    print(f"wrote {STUB.relative_to(ROOT)}")
    return 0


@chore
def bench(*arguments: str) -> int:
    """Run the benchmarks: those of NaiveBayes by name, such as `tables` or `together`; more for the script."""
    of_models = ("tables", "files", "commands", "accuracy", "ablation", "together", "wide", "levels", "rare")
    known = (*of_models, "text", "text_accuracy")
    named = arguments and arguments[0] in known
    name, rest = (arguments[0], arguments[1:]) if named else ("run", arguments)
    return 0 if call(environment("bench", *group("bench")), f"benchmarks/{name}.py", *rest) else 1


@chore
def sanitize() -> int:
    """Test the kernels with checks of every access to memory, undefined behaviour and races between threads."""
    kernels = ["tests/test_kernels.py", "tests/test_kernel_paths.py"]
    others = ["kernel_arguments", "counting", "moments", "text_codes", "tokens"]
    tests = [*kernels, *(f"tests/test_{name}.py" for name in others)]
    return run_all(
        ("addresses and undefined behaviour", lambda: sanitized("address,undefined", "libasan.so", *tests)),
        ("threads", lambda: sanitized("thread", "libtsan.so", *kernels, "tests/test_tokens.py", "-k", "threads")),
    )


@chore
def fuzz(seconds: str = "600") -> int:
    """Read random bytes as texts for so many seconds, with checks of every access to memory (libFuzzer, clang)."""
    target, corpus = ROOT / "build" / "fuzz" / "texts", ROOT / "build" / "fuzz" / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    if not shutil.which("clang++"):
        raise ChoreError("Fuzzing needs clang++ with libFuzzer, e.g.: apt install clang libclang-rt-dev")
    sources = [
        ROOT / "native" / name
        for name in ("fuzz/texts.cpp", "text/reading.cpp", "text/names.cpp", "text/count_matrix.cpp")
    ]
    checks = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined", "-DNAIVELY_LEVEL=baseline"]
    quietly("clang++", "-std=c++20", "-O1", "-g", f"-I{ROOT / 'native'}", *checks, *sources, "-o", target)
    return subprocess.run(
        [target, corpus, f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1"]
    ).returncode


@chore
def instructions(*arguments: str) -> int:
    """Compare the instructions that each kernel takes with the last record; --update makes a new record."""
    counted = count_instructions()
    if "--update" in arguments:
        RECORD.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
        print(f"wrote {RECORD.relative_to(ROOT)}")
        return 0
    return compared(json.loads(RECORD.read_text(encoding="utf-8")), counted)


@chore
def docs() -> int:
    """Run every example in the README and the docs."""
    return test("tests/test_docs.py")


@chore
def lines() -> int:
    """Count the lines of code of each floor, without blanks, comments and docstrings."""
    floors = [*sorted((ROOT / "src" / "naively").iterdir()), ROOT / "native", ROOT / "tests"]
    counts = {path: code_lines(path) for path in floors}
    for path, count in counts.items():
        if count:
            print(f"{count:7,}  {path.relative_to(ROOT)}")
    print(f"{sum(counts.values()):7,}  in all")
    return 0


@chore
def clean() -> int:
    """Remove what the other chores made: environments, builds and caches."""
    caches = [path for name in ("src", "tests", "benchmarks") for path in (ROOT / name).rglob("__pycache__")]
    made = ".venvs build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis"
    for path in [*caches, *(ROOT / name for name in made.split())]:
        shutil.rmtree(path, ignore_errors=True)
    return 0


def checks(python: Path) -> list[tuple[str, Callable[[], bool]]]:
    """Give the steps that read the code without running it."""
    return [
        ("ruff check", lambda: call(python, "-m", "ruff", "check", ".")),
        ("ruff format", lambda: call(python, "-m", "ruff", "format", "--check", ".")),
        # The sources come first, so that a complaint names the file to edit and not its installed copy.
        ("mypy", lambda: call(python, "-m", "mypy", MYPYPATH="src")),
        ("import-linter", lambda: call(python.with_name("lint-imports"))),
    ]


def run_all(*steps: tuple[str, Callable[[], bool]]) -> int:
    """Run every step, failed ones before it or not, and give the exit code after a table of all."""
    results = []
    for name, step in steps:
        print(f"\n== {name} " + "=" * (70 - len(name)), flush=True)
        start = time.perf_counter()
        try:
            good = step()
        except ChoreError as error:  # an environment that cannot be made is a failed step, not the end of the run
            good = False
            print(error)
        results.append((good, time.perf_counter() - start, name))
    print("\n== summary " + "=" * 63)
    for good, seconds, name in results:
        print(f"{'passed' if good else 'FAILED'}  {seconds:7.1f} s  {name}")
    return 0 if all(good for good, _, _ in results) else 1


# --- what the kernels do, looked at closely ---------------------------------------------------------------------------


def sanitized(sanitizers: str, library: str, *arguments: str) -> bool:
    """Run tests on kernels built with these sanitizers, and tell whether the tests passed and nothing was reported."""
    variables = {
        # The interpreter knows nothing of sanitizers, nor of C++: what they need must be there before it starts.
        "LD_PRELOAD": f"{runtime(library)} {runtime('libstdc++.so')}",
        "PYTHONPATH": str(package(sanitizers.replace(",", "-"), NAIVELY_SANITIZE=sanitizers)),
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide where an array ends
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps memory to the end, and that is no leak of ours
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    print("testing", flush=True)
    # Without capture, as pytest would keep the reports of tests that pass to itself.
    passed, output = recorded(tested(), "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *arguments, **variables)
    reports = re.findall(r"[^\n]*(?:runtime error:|(?:ERROR|WARNING): \w+Sanitizer:|Sanitizer: CHECK failed)", output)
    print(output if reports or not passed else output.rstrip().rpartition("\n")[2])
    print(f"{len(reports)} reports of {sanitizers}")
    return passed and not reports


def count_instructions() -> dict[str, Any]:
    """Give the instructions of each kernel in the workload of benchmarks/instructions.py, with compiler and level."""
    if not shutil.which("valgrind"):
        raise ChoreError(f"Counting instructions needs valgrind:\n{advice('valgrind', 'valgrind', '(only on Linux)')}")
    folder, python = package("symbols", NAIVELY_SYMBOLS="ON"), tested()
    profile = folder.parent / "callgrind.out"
    command = ("--tool=callgrind", f"--callgrind-out-file={profile}", python, "benchmarks/instructions.py")
    print("counting", flush=True)
    passed, output = recorded("valgrind", *command, PYTHONPATH=str(folder))
    if not passed:
        raise ChoreError(f"{output}\nThe workload failed under valgrind.")
    level = next(line for line in output.splitlines() if not line.startswith("=="))
    listing = quietly("callgrind_annotate", "--inclusive=yes", "--threshold=100", profile)
    names = re.findall(r"\(\*(\w+)\)\(\w", (ROOT / "native" / "kernels.hpp").read_text(encoding="utf-8"))
    return {
        "compiler": quietly(compiler(), "--version").splitlines()[0],
        "level": level,
        "kernels": {name: instructions_of(f"naively::{level}::", name, listing) for name in names},
    }


def instructions_of(space: str, name: str, listing: str) -> int:
    """Find the instructions of one function, with all that it calls, in what callgrind_annotate lists."""
    pattern = rf"^ *([\d,]+) [^\n]*:{re.escape(space)}(?:\(anonymous namespace\)::)?{name}\([^\n{{<]*$"
    found = [int(number.replace(",", "")) for number in re.findall(pattern, listing, re.MULTILINE)]
    if not found:
        raise ChoreError(f"{space}{name} was not run; add it to benchmarks/instructions.py.")
    return max(found)


def compared(before: dict[str, Any], now: dict[str, Any], allowance: float = 0.1) -> int:
    """Print the kernels side by side, and give an exit code that says whether one grew by more than the allowance."""
    alike = all(before[key] == now[key] for key in ("compiler", "level"))
    grown = []
    print(f"{'kernel':16}{'before':>14}{'now':>14}  change")
    for name, count in now["kernels"].items():
        then = before["kernels"].get(name)
        change = count / then - 1 if then else 0.0
        print(f"{name:16}{then or '–':>14}{count:>14}  {change:+.1%}")
        grown += [name] * (change > allowance)
    if not alike:
        print(f"The record is of {before['compiler']}, {before['level']}; this is {now['compiler']}, {now['level']}.")
        print("So this only informs.")
    elif grown:
        print(f"More than {allowance:.0%} longer: {', '.join(grown)}. Where that is meant, run this with --update.")
    return 1 if alike and grown else 0


def package(name: str, **options: str) -> Path:
    """Give a folder for PYTHONPATH that holds the package, compiled with these options of CMakeLists.txt."""
    folder = ROOT / "build" / name
    settings = {"build-dir": folder / "cmake", "install.strip": "false"}
    settings |= {f"cmake.define.{option}": value for option, value in options.items()}
    print(f"building {folder.relative_to(ROOT)}", flush=True)
    flags = [f"--config-settings={key}={value}" for key, value in settings.items()]
    place = ("--no-deps", "--no-build-isolation", "--upgrade", "--target", folder / "package")
    quietly(builder(), "-m", "pip", "install", *place, *flags, ROOT)
    return folder / "package"


def compiler() -> str:
    """Give the C++ compiler that CMake would choose."""
    return (shlex.split(os.environ.get("CXX", "")) or ["c++"])[0]


def runtime(library: str) -> str:
    """Give the path of a library that comes with the compiler."""
    path = quietly(compiler(), f"-print-file-name={library}").strip()
    if sys.platform != "linux" or not Path(path).is_absolute():
        packages = advice("g++", "libasan libubsan libtsan", "(only on Linux)")
        raise ChoreError(f"The sanitizers need {library} of GCC on Linux:\n{packages}")
    return path


# --- environments -----------------------------------------------------------------------------------------------------


def environment(name: str, *requirements: str) -> Path:
    """Give the Python of `.venvs/<name>` with the requirements and the package, made anew only where they changed."""
    python = virtual_environment(name, *project("project", "dependencies"), *requirements)
    wheel = built_wheel()
    stamp = VENVS / name / "package.stamp"
    if not stamp.exists() or stamp.read_text() != wheel.parent.name:
        quietly(python, "-m", "pip", "install", "--no-deps", "--force-reinstall", wheel)
        stamp.write_text(wheel.parent.name)
    return python


def tested() -> Path:
    """Give the Python of the environment with the newest versions and all tools."""
    return environment("test", *group("test"), *group("lint"))


def lowest() -> Path:
    """Give the Python of an environment with the oldest versions that are supported."""
    pins = (line.partition("#")[0].strip() for line in (ROOT / "tests" / "lowest.txt").read_text().splitlines())
    return environment("lowest", *group("test"), *filter(None, pins))


def builder() -> Path:
    """Give the Python of the environment that builds; kept, so that only changed C++ is compiled again."""
    python = virtual_environment("build", *project("build-system", "requires"))
    # The backend itself knows whether the system's cmake and ninja will do.
    question = "from scikit_build_core.build import get_requires_for_build_wheel as ask; print(*ask())"
    if tools := quietly(python, "-c", question).split():
        quietly(python, "-m", "pip", "install", *tools)
    return python


def built_wheel() -> Path:
    """Give the wheel of the sources as they are now, built if there is none yet."""
    folder = VENVS / "wheels" / digest(sys.version, *source_texts())
    if not list(folder.glob("*.whl")):
        print("building the wheel", flush=True)
        shutil.rmtree(folder.parent, ignore_errors=True)
        options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
        quietly(builder(), "-m", "pip", "wheel", *options, ROOT)
    return next(folder.glob("*.whl"))


def virtual_environment(name: str, *requirements: str) -> Path:
    """Give the Python of `.venvs/<name>`, which holds exactly the requirements and what they need."""
    folder, wanted = VENVS / name, digest(sys.version, str(ROOT), *requirements)
    python, stamp = folder / BIN / "python", folder / "requirements.stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {folder.relative_to(ROOT)}", flush=True)
        quietly(sys.executable, "-m", "venv", "--clear", folder)
        quietly(python, "-m", "pip", "install", *requirements)
        stamp.write_text(wanted)
    return python


def source_texts() -> Iterator[str]:
    """Give the name and contents of each file that goes into the wheel."""
    names = ["pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "src", "native"]
    for path in sorted(path for name in names for path in files(ROOT / name)):
        yield f"{path.relative_to(ROOT)}\0{path.read_text(encoding='utf-8')}"


def files(path: Path) -> list[Path]:
    """Give the file itself or all files under a folder, without what Python and the compiler leave there."""
    found = [path] if path.is_file() else [child for child in path.rglob("*") if child.is_file()]
    return [file for file in found if "__pycache__" not in file.parts and file.suffix not in {".so", ".pyd"}]


def digest(*texts: str) -> str:
    """Give a short name that changes when any of the texts does."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def project(*keys: str) -> Any:
    """Look something up in pyproject.toml."""
    import tomllib  # here, so that an older Python gets as far as being told that it is too old

    value = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return functools.reduce(lambda table, key: table[key], keys, value)


def group(name: str) -> list[str]:
    """Give a dependency group of pyproject.toml as a list; older versions of pip cannot read groups."""
    entries = project("dependency-groups", name)
    nested = [group(entry["include-group"]) if isinstance(entry, dict) else [entry] for entry in entries]
    return [requirement for entry in nested for requirement in entry]


# --- the machine ------------------------------------------------------------------------------------------------------


def check_machine() -> None:
    """Name everything that building needs and this machine lacks, all at once, with the commands to install it."""
    lacking = [f"  {what}\n{advice(*packages)}" for there, what, packages in needs() if not there]
    if lacking:
        raise ChoreError("\n".join(["Building Naively needs what this machine lacks:", *lacking]))


def needs() -> list[tuple[bool, str, tuple[str, str, str]]]:
    """Give what building needs: is it there, its name, and what Debian, Fedora and macOS call it."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    headers = [Path(sysconfig.get_path(key)) / "Python.h" for key in ("include", "platinclude")]
    compilers = shlex.split(os.environ.get("CXX", ""))[:1] or ["c++", "g++", "clang++"]
    new = sys.version_info >= (3, 11)
    # With a Python that is too old, its modules and headers are of no interest.
    venv = not new or all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))
    header = not new or any(map(Path.exists, headers))
    # On Windows the compiler is in no PATH and CMake finds it by itself.
    compiler = os.name == "nt" or any(map(shutil.which, compilers))
    brew = "brew install python"
    return [
        (new, f"Python 3.11 or newer (this is {platform.python_version()})", ("python3.11-dev", "python3.11", brew)),
        (venv, "Python's modules venv and ensurepip", (f"{version}-venv", "python3-pip", brew)),
        (header, "Python's headers (Python.h)", (f"{version}-dev", "python3-devel", brew)),
        (compiler, "a C++ compiler", ("g++", "gcc-c++", "xcode-select --install")),
    ]


def advice(debian: str, fedora: str, macos: str) -> str:
    """Give the command that installs something on this machine, or all of them if the system is not known."""
    if sys.platform == "darwin":
        return f"      {macos}"
    commands = [f"apt-get install {debian}", f"dnf install {fedora}"]
    known = [command for command in commands if shutil.which(command.split()[0])]
    every = [f"Debian, Ubuntu: {commands[0]}", f"Fedora: {commands[1]}", f"macOS: {macos}"]
    return "\n".join(f"      {command}" for command in known[:1] or every)


# --- processes and text -----------------------------------------------------------------------------------------------


def call(program: Path, *arguments: str | Path, **variables: str) -> bool:
    """Run a program in the repository's root, with its output shown, and tell whether it succeeded."""
    command = [str(part) for part in (program, *arguments)]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=surroundings(**variables)).returncode == 0


def quietly(program: Path | str, *arguments: str | Path) -> str:
    """Run a program and give what it wrote to its output; show everything only if it fails."""
    command = [str(part) for part in (program, *arguments)]
    quiet = surroundings(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=quiet, capture_output=True, text=True)
    if done.returncode:
        raise ChoreError(f"{done.stdout}{done.stderr}\nThis command failed: {shlex.join(command)}")
    return done.stdout


def recorded(program: Path | str, *arguments: str | Path, **variables: str) -> tuple[bool, str]:
    """Run a program, and give whether it succeeded and all that it wrote."""
    command = [str(part) for part in (program, *arguments)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=surroundings(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode == 0, done.stdout


def surroundings(**variables: str) -> dict[str, str]:
    """Give the environment variables, without those that would let Python see another package than the installed."""
    return {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}} | variables


def code_lines(path: Path) -> int:
    """Count the lines of code in a file or folder of Python and C++."""
    counters = {".py": python_lines, ".cpp": native_lines, ".hpp": native_lines}
    chosen = [file for file in files(path) if file.suffix in counters]
    return sum(counters[file.suffix](file.read_text(encoding="utf-8")) for file in chosen)


def python_lines(text: str) -> int:
    """Count the lines of Python that are left without blanks, comments and strings that stand alone."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    strings = [node for node in nodes if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]
    prose = {line for node in strings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    code = {n for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")}
    return len(code - prose)


def native_lines(text: str) -> int:
    """Count the lines of C++ that are left without blanks and comments."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return sum(bool(line.strip()) for line in bare.splitlines())


def main(arguments: list[str]) -> int:
    """Do the chore that was named, or list them all."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    function = CHORES.get(name)
    if function is None or (rest and function not in (test, bench, fuzz, instructions)):
        print("usage: python3 chores.py CHORE\n")
        for known, listed in CHORES.items():
            print(f"  {known:12} {(listed.__doc__ or '').splitlines()[0]}")
        return 2 if arguments and name not in {"-h", "--help", "help"} else 0
    try:
        if function not in (lines, clean):
            check_machine()
        return function(*rest)
    except ChoreError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
