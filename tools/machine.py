"""Names what this machine lacks and the command that installs it: ``python3 tools/machine.py compiler valgrind``.

With ``--install`` before the names, it is installed where the system is Debian or one of its kin.

Of the standard library alone, and readable by old versions of Python, so that they can be told that they are too old.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
LINUX_ONLY = "(only on Linux)"
FUZZ_TARGET = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'


def compiler() -> str:
    """Return the C++ compiler that CMake would choose, or an empty text."""
    names = shlex.split(os.environ.get("CXX", ""))[:1] or ["c++", "g++", "clang++"]
    return next(filter(shutil.which, names), "")


def runtime(library: str) -> str:
    """Return the path of a library that comes with the compiler, or an empty text."""
    if sys.platform != "linux" or not compiler():
        return ""
    path = subprocess.run([compiler(), f"-print-file-name={library}"], stdout=subprocess.PIPE).stdout.decode().strip()
    return path if Path(path).is_absolute() else ""


def has_python() -> bool:
    """Tell whether this Python is new enough."""
    return sys.version_info >= (3, 11)


def has_venv() -> bool:
    """Tell whether environments can be made; with a Python that is too old, this is of no interest."""
    return not has_python() or all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def has_headers() -> bool:
    """Tell whether code can be compiled for this Python; with one that is too old, this is of no interest."""
    paths = [sysconfig.get_path(key) for key in ("include", "platinclude")]
    return not has_python() or any(Path(path, "Python.h").exists() for path in paths)


def has_compiler() -> bool:
    """Tell whether there is a C++ compiler. On Windows it is in no PATH and CMake finds it by itself."""
    return os.name == "nt" or bool(compiler())


def has_browser() -> bool:
    """Tell whether there is a Chromium for the tests of the page; tests/browser.py looks for the same programs."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return Path("/usr/lib/chromium/chromium").exists() or any(map(shutil.which, names))


def has_chinese_font() -> bool:
    """Tell whether Chinese characters can be drawn; systems other than Linux come with a font."""
    if sys.platform != "linux":
        return True
    asked = ["fc-list", ":lang=zh", "family"]
    return bool(shutil.which("fc-list") and subprocess.run(asked, stdout=subprocess.PIPE).stdout.strip())


def has_java() -> bool:
    """Tell whether there is a Java for the tests of Spark and of PMML."""
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which("java") or (home and Path(home, "bin", "java").exists()))


def has_postgres() -> bool:
    """Tell whether there is a PostgreSQL that tests can start; tests/databases.py looks in the same places."""
    return bool(shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres")))


def has_node() -> bool:
    """Tell whether there is a Node.js to run exported JavaScript."""
    return bool(shutil.which("node"))


def has_valgrind() -> bool:
    """Tell whether instructions can be counted."""
    return all(map(shutil.which, ("valgrind", "callgrind_annotate")))


def has_sanitizers() -> bool:
    """Tell whether the compiler is GCC with the libraries of its sanitizers."""
    return all(map(runtime, ("libasan.so", "libubsan.so", "libtsan.so")))


def has_fuzzer() -> bool:
    """Tell whether clang++ can build a target for libFuzzer."""
    if not shutil.which("clang++"):
        return False
    command = ["clang++", "-fsanitize=fuzzer,address,undefined", "-x", "c++", "-", "-o", os.devnull]
    done = subprocess.run(command, input=FUZZ_TARGET.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


# Of each need: whether it is met, what it is called, and what Debian, Fedora and macOS install it with.
NEEDS = {
    "python": (
        has_python,
        f"Python 3.11 or newer (this is {platform.python_version()})",
        ("python3.11-dev", "python3.11", "brew install python"),
    ),
    "venv": (
        has_venv,
        "Python's modules venv and ensurepip",
        (f"{VERSION}-venv", "python3-pip", "brew install python"),
    ),
    "headers": (
        has_headers,
        "Python's headers (Python.h)",
        (f"{VERSION}-dev", "python3-devel", "brew install python"),
    ),
    "compiler": (has_compiler, "a C++ compiler", ("g++", "gcc-c++", "xcode-select --install")),
    "browser": (has_browser, "Chromium, to test the page", ("chromium", "chromium", "brew install chromium")),
    "chinese-font": (
        has_chinese_font,
        "a font of Chinese characters",
        ("fontconfig fonts-wqy-zenhei", "wqy-zenhei-fonts", "(every Mac has one)"),
    ),
    "java": (
        has_java,
        "Java 17 or newer, to test Spark and PMML",
        ("default-jre-headless", "java-17-openjdk-headless", "brew install openjdk@17"),
    ),
    "postgres": (
        has_postgres,
        "PostgreSQL, to test counting inside a database",
        ("postgresql", "postgresql-server", "brew install postgresql"),
    ),
    "node": (has_node, "Node.js, to test exported JavaScript", ("nodejs", "nodejs", "brew install node")),
    "valgrind": (has_valgrind, "valgrind", ("valgrind", "valgrind", LINUX_ONLY)),
    "sanitizers": (
        has_sanitizers,
        "GCC on Linux with the libraries of its sanitizers",
        ("g++", "gcc-c++ libasan libubsan libtsan", LINUX_ONLY),
    ),
    "fuzzer": (
        has_fuzzer,
        "clang++ with libFuzzer and its sanitizers",
        ("clang libclang-rt-dev", "clang compiler-rt", "brew install llvm"),
    ),
}


def lacking(*names: str) -> str:
    """Return all that these needs lack, with the commands that install it, or an empty text."""
    found = [(what, packages) for met, what, packages in map(NEEDS.__getitem__, names) if not met()]
    lines = [f"  {what}\n{advice(*packages)}" for what, packages in found]
    return "\n".join(["This needs what the machine lacks; install it and start again:", *lines]) if lines else ""


def advice(debian: str, fedora: str, macos: str) -> str:
    """Return the command that installs something on this machine, or all of them if the system is not known."""
    if sys.platform == "darwin":
        return f"      {macos}"
    commands = [f"apt-get install {debian}", f"dnf install {fedora}"]
    known = [command for command in commands if shutil.which(command.split()[0])]
    every = [f"Debian, Ubuntu: {commands[0]}", f"Fedora: {commands[1]}", f"macOS: {macos}"]
    return "\n".join(f"      {command}" for command in known[:1] or every)


def install(*names: str) -> str:
    """Install what these needs lack, and return what is lacking afterwards."""
    packages = [word for name in names if not NEEDS[name][0]() for word in NEEDS[name][2][0].split()]
    if packages and shutil.which("apt-get"):
        root = [] if os.geteuid() == 0 else ["sudo"]
        apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]
        subprocess.run([*apt, "update"], check=True)
        subprocess.run([*apt, "install", "--yes", "--no-install-recommends", *packages], check=True)
    return lacking(*names)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit((install(*given[1:]) if given[:1] == ["--install"] else lacking(*given)) or 0)
