"""A server of its own, an application in this process, and a client of both."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from naively.server.guard import ServerSettings

pytest.importorskip("uvicorn", reason="naively[serve] is not installed")

from naively.server.application import AccessLog, Application
from naively.server.running import open_learners
from naively.server.served_model import open_models

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


Headers = Mapping[str, str]
NONE: Headers = {}


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The JSON value of the body."""
        return json.loads(self.body)


class Client:
    """Sends requests to a server, or to an application in this process."""

    request: Callable[..., Reply]

    def get(self, path: str, **headers: str) -> Reply:
        """Get an address."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, data: object, headers: Headers = NONE) -> Reply:
        """Send JSON; bytes are sent as they are."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self.request("POST", f"/api/v1/{path}", body, {**JSON, **headers})

    def upload(self, data: bytes, options: str = "") -> Reply:
        """Send a file."""
        return self.request("POST", f"/api/v1/file{options}", data, CSV)


class Server(Client):
    """``naively serve`` as a process of its own, which responds by the time this is made.

    Use it in a `with`: at the end the process gets SIGTERM, and has to end well.
    """

    def __init__(self, *arguments: object, plain: bool = False, environment: Headers = NONE) -> None:
        command = ["-c", PLAIN] if plain else ["-m", "naively"]
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", *command, "serve", *map(str, arguments), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **environment},
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

    def kill(self) -> None:
        """End the server as a crash does."""
        self.process.kill()
        self.process.communicate()
        self.process.returncode = 0

    def request(self, method: str, path: str, body: bytes = b"", headers: Headers = NONE) -> Reply:
        """Send a request, and return the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def connect(self, begin: bytes = b"") -> socket.socket:
        """Return a connection for bytes as they are, of which some are sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=3600)
        connection.sendall(begin)
        return connection

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return all that comes until the server ends the connection."""
        with self.connect(data) as connection:
            return read_all(connection)


class Events(AccessLog):
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.quiet = False

    def _add(self, facts: dict[str, Any]) -> None:
        self.lines.append(facts)

    def flush(self) -> None:
        """Write nothing."""

    @property
    def events(self) -> list[str]:
        """What happened besides requests."""
        return [line["event"] for line in self.lines if "event" in line]


class App(Client):
    """The application of a server in this process, without uvicorn."""

    def __init__(self, *paths: Path, **settings: Any) -> None:
        self.log, self.settings = Events(), ServerSettings(**settings)
        models = open_models(list(paths))
        self.learners = open_learners(models, self.settings, self.log)
        self.application = Application(models, self.learners, self.settings, self.log)

    def __enter__(self) -> App:
        return self

    def __exit__(self, *error: object) -> None:
        for learner in self.learners.values():
            learner.save()
            learner.ahead.close()

    def request(self, method: str, path: str, body: bytes = b"", headers: Headers = NONE) -> Reply:
        """Send a request, and return the response."""
        return asyncio.run(self.ask(method, path, body, headers))

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Headers = NONE) -> Reply:
        """Send a request, and return the response."""
        given = {"host": "127.0.0.1", **{name.lower(): value for name, value in headers.items()}}
        listed = [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None]
        place, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": unquote(place), "query_string": query.encode()}
        sent: list[Any] = []
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if not messages:
                await asyncio.Event().wait()  # the client stays
            return messages.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.application({**scope, "headers": listed}, receive, send)
        found = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], found, b"".join(message["body"] for message in sent[1:]))


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


def sent_file(*lines: str) -> bytes:
    """Return a request that uploads a file, as bytes of HTTP; without lines it announces one and waits for a go."""
    content = "\n".join([*lines, ""]).encode() if lines else b""
    head = b"POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
    wait = b"" if lines else b"Expect: 100-continue\r\n"
    return head + wait + b"Content-Length: %d\r\n\r\n" % (len(content) or PENGUINS.stat().st_size) + content
