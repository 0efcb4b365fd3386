"""A server of its own for tests, and a client that speaks HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import naively as nv

ROOT = Path(__file__).resolve().parents[1]
PENGUINS = ROOT / "examples" / "penguins.csv"
ROW = {
    "island": "Biscoe",
    "bill_length_mm": 45.2,
    "bill_depth_mm": 14.8,
    "flipper_length_mm": 212,
    "body_mass_g": 5200,
    "sex": "female",
    "year": 2008,
}
JSON = {"Content-Type": "application/json"}
CSV = {"Content-Type": "text/csv"}
# What runs the command as it runs where neither httptools nor uvloop is installed.
PLAIN = "import sys; sys.modules['httptools'] = sys.modules['uvloop'] = None; from naively.cli import main; main()"


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The JSON value of the body."""
        return json.loads(self.body)


class Server:
    """``naively serve`` as a process of its own, which has answered by the time this is made.

    Use it in a `with`: at the end the process gets SIGTERM, and has to end well.
    """

    def __init__(self, *arguments: object, plain: bool = False, environment: dict[str, str] | None = None) -> None:
        command = ["-c", PLAIN] if plain else ["-m", "naively"]
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", *command, "serve", *map(str, arguments), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdout is not None
        found = re.search(r"http://(\S+):(\d+)/", self.process.stdout.readline())
        if found is None:
            raise AssertionError(self.process.communicate()[1])
        self.host, self.port = found[1], int(found[2])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: object, *others: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        _, log = self.process.communicate(timeout=3600)
        if kind is None:
            assert self.process.returncode == 0, log
            assert "Traceback" not in log, log

    def end(self) -> list[dict[str, Any]]:
        """End the server, and return its log."""
        self.process.terminate()
        _, log = self.process.communicate(timeout=3600)
        assert self.process.returncode == 0, log
        return [json.loads(line) for line in log.splitlines()]

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request, and return its answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        """Get an address."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, data: object, headers: dict[str, str] | None = None) -> Reply:
        """Send JSON; bytes are sent as they are."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self.request("POST", f"/api/v1/{path}", body, {**JSON, **(headers or {})})

    def upload(self, data: bytes, options: str = "") -> Reply:
        """Send a file."""
        return self.request("POST", f"/api/v1/file{options}", data, CSV)

    def connect(self) -> socket.socket:
        """Return a connection for bytes as they are."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=3600)

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return all that comes until the server ends the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    """Return all that comes until the other side ends the connection, be it by a reset."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def problem(reply: Reply, status: int) -> dict[str, Any]:
    """Return the problem of an answer, which must be one of this status."""
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    found = reply.json
    assert found["status"] == status
    assert found["type"] == "about:blank"
    assert found["title"]
    assert found["detail"]
    return found


@pytest.fixture(scope="session")
def penguin_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of the penguins."""
    path = tmp_path_factory.mktemp("served") / "penguins.parquet"
    nv.NaiveBayes().fit(PENGUINS, target="species").save(path)
    return path
