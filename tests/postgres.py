"""A PostgreSQL server of our own for a while: a folder of its own, a Unix socket, no TCP, stopped at the end."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

USER = "naively"  # the superuser of the server
# What makes a server that lives for a minute quick: nothing has to outlive it.
SETTINGS = ("listen_addresses=''", "fsync=off", "synchronous_commit=off", "full_page_writes=off")


@contextmanager
def running_postgres():
    """Start a server, yield what psycopg connects to it by, and stop it; skip the test where there is none."""
    pytest.importorskip("psycopg", reason="needs psycopg, to speak to PostgreSQL")
    programs, as_user = folder_of_programs(), []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "postgres", "--"]
    folder = Path(
        tempfile.mkdtemp(prefix="naively-pg-")
    )  # the name of a socket may have 107 bytes: no folder of pytest
    if as_user:
        shutil.chown(folder, "postgres")
    folder.chmod(0o700)
    data = folder / "data"
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


def folder_of_programs():
    """Return the folder of the server's programs, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    path = os.fspath(found[-1]) if found else shutil.which("initdb")
    if path is None:
        pytest.skip("needs PostgreSQL (on Debian the package postgresql), and found no initdb")
    return Path(path).parent


def run(command):
    """Run a program in a folder that any user may enter; its output is shown if it fails."""
    with (
        tempfile.TemporaryFile() as output
    ):  # the server inherits it: a pipe would stay open as long as the server runs
        done = subprocess.run(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/", check=False)
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")
