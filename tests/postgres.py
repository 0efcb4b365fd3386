"""A PostgreSQL server of our own for a while: a folder of its own, a Unix socket, no TCP, stopped at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

USER = "naively"  # the superuser of the server
# What makes a server that lives for a minute quick: nothing has to outlive it.
SETTINGS = ("listen_addresses=''", "fsync=off", "synchronous_commit=off", "full_page_writes=off")


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server, yield what psycopg connects to it by, and stop it; skip the test where there is none.

    The server refuses to run as root: then its programs run as the user postgres.
    """
    pytest.importorskip("psycopg", reason="needs psycopg, to speak to PostgreSQL")
    programs, as_user = folder_of_programs(), prefix_of_user()
    # The name of a socket may have 107 bytes, which a folder of pytest may exceed.
    folder = Path(tempfile.mkdtemp(prefix="naively-pg-"))
    data = folder / "data"
    if as_user:
        shutil.chown(folder, "postgres")
    folder.chmod(0o700)
    try:
        initdb = [programs / "initdb", "-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
        run([*as_user, *initdb, "--no-sync"])
        how = " ".join(f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={folder}"))
        control = [*as_user, programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        run([*control, "-o", how, "start"])
        try:
            yield f"host={folder} user={USER} dbname=postgres"
        finally:
            run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of_programs() -> Path:
    """Return the folder of the server's programs, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    path = os.fspath(found[-1]) if found else shutil.which("initdb")
    if path is None:
        pytest.skip("needs PostgreSQL (on Debian the package postgresql), and found no initdb")
    return Path(path).parent


def prefix_of_user() -> list[str]:
    """Return what runs a program as an ordinary user: nothing, unless we are root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    return ["runuser", "-u", "postgres", "--"]


def run(command: Sequence[str | Path]) -> None:
    """Run a program in a folder that any user may enter; its output is shown if it fails."""
    # The server inherits what it writes to: a pipe would stay open as long as the server runs.
    with tempfile.TemporaryFile() as said:
        code = subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd="/", check=False)
        said.seek(0)
        assert code.returncode == 0, said.read().decode(errors="replace")
