"""What a server refuses: strangers, other sites, other types, too much, too slow."""

import asyncio
import gzip
import hmac
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

pytest.importorskip("uvicorn", reason="naively[serve] is not installed")

import naively as nv
from naively.server.exchange import Problem
from naively.server.guard import is_loopback
from naively.server.settings import ServerSettings
from naively.server.slow_clients import SlowClients
from naively.server.uploads import UploadCheck

from .serving import CSV, JSON, PENGUINS, ROW, App, Server, penguin_model, problem, read_all, sent_file  # noqa: F401

TOKEN = "a-token-of-enough-characters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BODY = json.dumps(ROW).encode()
POST = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW_BODY = POST + b"Content-Length: 1000\r\n\r\n{"


@pytest.fixture(scope="module")
def server(penguin_model):  # noqa: F811
    limits = ("--max-body", 20_000, "--max-rows", 50, "--max-file", 100_000, "--max-uploads", 1)
    with Server(penguin_model, *limits) as started:
        yield started


@pytest.fixture(scope="module")
def app(penguin_model):  # noqa: F811
    return App(penguin_model, rows=50)


@pytest.fixture(scope="module")
def guarded(penguin_model):  # noqa: F811
    return App(penguin_model, token=TOKEN)


# -- where it listens, and the token -----------------------------------------------------------------------------------


def test_it_listens_on_this_machine_alone(server):
    assert server.host == "127.0.0.1"
    listening = subprocess.run(
        [sys.executable, "-c", LISTENING, str(server.process.pid)], capture_output=True, text=True, check=True
    )
    assert listening.stdout.split() in (["0100007F"], [])  # no such file where this is not Linux


LISTENING = """
import os, sys
try:
    links = {os.readlink(f"/proc/{sys.argv[1]}/fd/{fd}") for fd in os.listdir(f"/proc/{sys.argv[1]}/fd")}
    lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
except OSError:
    lines = []
print(*[line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in links])
"""


def test_addresses_of_this_machine_need_no_token():
    own, others = ("127.0.0.1", "localhost", "::1", "[::1]"), ("0.0.0.0", "::", "192.168.0.3", "example.org", "")
    assert [is_loopback(host) for host in own] == [True] * 4
    assert [is_loopback(host) for host in (*others, "127.0.0.1.example.org")] == [False] * 6


PATHS = {
    "GET": ("model", "models", "openapi.json"),
    "POST": ("predict", "explain", "file", "learn", "forget", "session", "models/penguins/predict"),
}
NO_TOKEN = (
    *({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": "Bearer "}),
    *({"Authorization": f"Bearer {TOKEN[:-1]}"}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": TOKEN}),
    *({"Authorization": "Bearer tökén"}, {"Cookie": f"naively-0={TOKEN}"}, {"X-Token": TOKEN}),
)


def test_without_the_token_there_is_no_response(guarded):
    for method, header in product(PATHS, NO_TOKEN):
        for path in PATHS[method]:
            found = guarded.request(method, f"/api/v1/{path}?token={TOKEN}", BODY, {**JSON, **header})
            problem(found, 401)
            assert found.headers["www-authenticate"].startswith("Bearer")
    assert guarded.get("/healthz").json == guarded.get("/api/v1/healthz").json == {"status": "ok"}


def test_the_page_asks_for_the_token_and_shows_nothing_else(guarded):
    found = guarded.get(f"/?token={TOKEN}")
    assert found.status == 401
    assert b"penguins" not in found.body.lower()
    assert TOKEN.encode() not in found.body
    assert "sha256-" in found.headers["content-security-policy"]


def test_the_token_gives_a_cookie_that_other_sites_cannot_use(guarded, monkeypatch):
    compared, real = [], hmac.compare_digest
    monkeypatch.setattr("naively.server.guard.hmac.compare_digest", lambda a, b: compared.append(1) or real(a, b))
    found = guarded.post("session", {}, BEARER)
    assert found.status == 200
    cookie, *rules = found.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(rules)
    assert TOKEN not in cookie
    assert guarded.get("/", Cookie=f"other=1; {cookie}").status == 200
    assert guarded.post("predict", ROW, {"Cookie": cookie}).status == 200
    problem(guarded.post("predict", ROW, {"Cookie": f"{cookie}x"}), 401)
    assert len(compared) == 4  # in constant time
    problem(guarded.post("predict", ROW, {"Cookie": cookie, "Origin": "http://evil.example"}), 403)
    problem(guarded.post("predict", ROW, {"Cookie": f"{cookie}; {cookie}"}), 401)


# -- Host, Origin, type ------------------------------------------------------------------------------------------------


def test_a_foreign_host_is_refused(app, penguin_model):  # noqa: F811
    """A name of somebody else that points here (DNS rebinding) must not read the model."""
    foreign = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.3")
    for host, path in product((*foreign, "0.0.0.0"), ("/", "/healthz", "/api/v1/model", "/api/v1/predict")):
        method = "POST" if path.endswith("predict") else "GET"
        problem(app.request(method, path, BODY, {**JSON, "Host": host}), 421)
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8000"):
        assert app.get("/healthz", Host=host).status == 200
    allowed = App(penguin_model, allow_hosts=("Model.example.org",))
    assert allowed.get("/healthz", Host="model.example.org:80").status == 200


def test_a_request_has_one_host(server):
    assert b" 400 " in server.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").split(b"\r\n")[0]
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert b" 400 " in server.raw(two).split(b"\r\n")[0]


def test_other_sites_cannot_post(app, server):
    origins = ("http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:1", "")
    headers = [
        *({"Origin": origin} for origin in origins),
        *({"Sec-Fetch-Site": f"{x}-site"} for x in ("cross", "same")),
    ]
    for path, header in product(("predict", "explain", "file", "learn", "session"), headers):
        problem(app.request("POST", f"/api/v1/{path}", BODY, {**JSON, **header}), 403)
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.post("predict", ROW, own).status == 200
    assert app.get("/", **{"Sec-Fetch-Site": "cross-site"}).status == 200  # a link


OTHER_TYPES = (
    *(None, "", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("application/octet-stream", "application/vnd.apache.parquet", "application/x-python-serialize"),
    *("application/jsonx", "application/json; charset=utf-16"),
)


def test_other_types_are_refused(app):
    for kind, path in product(OTHER_TYPES, ("predict", "explain", "file")):
        problem(app.request("POST", f"/api/v1/{path}", BODY, {"Content-Type": kind}), 415)
    problem(app.request("POST", "/api/v1/predict", BODY, CSV), 415)
    problem(app.request("POST", "/api/v1/file", PENGUINS.read_bytes(), JSON), 415)
    assert app.post("predict", ROW, {"Content-Type": "Application/JSON; charset=UTF-8"}).status == 200


def test_packed_bodies_and_models_are_refused(app, penguin_model):  # noqa: F811
    packed = gzip.compress(b"island\n" * 1_000_000)
    problem(app.request("POST", "/api/v1/file", packed, {**CSV, "Content-Encoding": "gzip"}), 415)
    for content in (packed, b"PK\x03\x04zip", penguin_model.read_bytes()):
        problem(app.upload(content), 415)


SAFETY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def test_every_response_has_the_headers_of_safety(app):
    evil = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for found in (
        app.get("/", Origin="http://evil.example"),
        app.get("/healthz"),
        app.get("/api/v1/model", Origin="http://evil.example"),
        app.post("predict", ROW),
        app.post("explain", ROW),
        app.upload(PENGUINS.read_bytes()),
        app.get("/nothing"),
        app.request("PUT", "/"),
        app.request("OPTIONS", "/api/v1/predict", headers=evil),
    ):
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert SAFETY.items() <= found.headers.items()
        assert not [name for name in found.headers if name.startswith("access-control")]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_comes(server):
    answer = server.raw(POST + b"Content-Length: 200000000\r\n\r\n")  # and not a byte of it
    assert b"HTTP/1.1 413" in answer
    assert b"20,000 bytes" in answer
    assert b"server:" not in answer.lower()


@pytest.mark.parametrize("path", ["predict", "file"])
def test_a_body_without_a_length_is_refused_while_it_comes(server, path):
    kind = b"text/csv" if path == "file" else b"application/json"
    head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\nContent-Type: " + kind + b"\r\n\r\n"
    with server.connect(head) as connection:
        try:
            for _ in range(1000):  # 16 MB, without an end
                connection.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        except OSError:
            pass  # the server has gone
        else:
            pytest.fail("the server took everything")
    assert server.get("/healthz").status == 200


def test_too_many_rows_and_cells_are_refused(app):
    assert "51 rows" in problem(app.post("predict", {"rows": [ROW] * 51}), 413)["detail"]
    assert app.post("predict", {"rows": [ROW] * 50}).status == 200
    few = ServerSettings(file_rows=10, file_columns=5, file_cells=20)
    for blocks, says in (
        ([b"a\n", b"1\n" * 5, b"1\n" * 20], "10 lines"),
        ([b"a,b,c,", b"d,e,f\n"], "5 columns"),
        ([b"a;b;c;d\n", b"1;2;3;4\n" * 5], "20 cells"),
    ):
        check = UploadCheck(few)
        for block in blocks[:-1]:
            check.add(block)
        with pytest.raises(Problem, match=says) as caught:
            check.add(blocks[-1])
        assert caught.value.status == 413


def test_bodies_that_wait_are_limited_together(penguin_model):  # noqa: F811
    app = App(penguin_model, buffered=2 * len(BODY) - 1)

    async def at_once():
        app.application.buffered += len(BODY)  # another request is being read
        refused = await app.ask("POST", "/api/v1/predict", BODY, JSON)
        app.application.buffered -= len(BODY)
        return refused, await app.ask("POST", "/api/v1/predict", BODY, JSON)

    refused, served = asyncio.run(at_once())
    assert problem(refused, 429)
    assert refused.headers["connection"] == "close"
    assert served.status == 200
    assert app.application.buffered == 0


# -- slow clients ------------------------------------------------------------------------------------------------------

# Requests that begin and do not go on: nothing, a line, headers, a body, a second request.
UNFINISHED = (
    b"",
    b"POST /api/v1/pre",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    SLOW_BODY,
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTT",
)


@contextmanager
def dripping(server):
    """Return a connection that sends each byte in time, and a whole body in an hour."""
    stop = threading.Event()
    with server.connect(POST + b"Content-Length: 19000\r\n\r\n{") as connection:

        def drip():
            while not stop.wait(0.2):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield connection
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("plain", [False, True])
def test_slow_clients_are_cut_off(penguin_model, tmp_path, plain):  # noqa: F811
    names, *lines = PENGUINS.read_text(encoding="utf-8").splitlines()
    log = tmp_path / "log.jsonl"
    with Server(penguin_model, "--timeout", 1, "--log", log, plain=plain) as server:
        with ExitStack() as stack:  # all wait at once
            connections = [stack.enter_context(server.connect(begin)) for begin in UNFINISHED]
            for connection in [*connections, stack.enter_context(dripping(server))]:
                read_all(connection)  # ends, because the server ends it
        log.write_text("")
        with server.connect() as connection:  # takes no response
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(sent_file(names, *lines * 400))
            follow = 'tail -n +1 -F "$0" 2>/dev/null | grep -m1 -q "slow clients cut off"'
            assert subprocess.run(["timeout", "3600", "bash", "-c", follow, log], check=False).returncode == 0
        assert server.post("predict", ROW).status == 200


def connection_of(*, request=True, more=False, started=False, paused=False):
    """Return a connection as a sweep sees it."""
    cycle = SimpleNamespace(more_body=more, response_started=started, response_complete=False) if request else None
    transport = Mock(**{"is_closing.return_value": False, "get_write_buffer_size.return_value": 0})
    return Mock(cycle=cycle, transport=transport, received=1, taken=0, flow=SimpleNamespace(write_paused=paused))


def test_a_body_needs_its_rate_and_headers_their_time():
    sweeper, cut = SlowClients(ServerSettings(timeout=5, slowest=100)), 0
    good, slow, head = connection_of(more=True), connection_of(more=True), connection_of(request=False)
    for second in range(20):
        good.received, slow.received, head.received = good.received + 200, slow.received + 20, head.received + 1
        there = [c for c in (good, slow, head) if not (c.transport.abort.called or c.transport.close.called)]
        cut += sweeper.sweep(there, float(second))
    assert cut == 2
    slow.transport.abort.assert_called_once()
    head.transport.close.assert_called_once()
    assert head.transport.write.call_args[0][0].startswith(b"HTTP/1.1 408")


# -- what is written down ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="such names of files are not allowed there")
def test_names_and_values_that_look_like_html_are_text(tmp_path):
    names = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a'b&c"]
    for k, name in enumerate(names):
        nv.NaiveBayes().fit({name: [name, "b"] * 5}, [name, "out"] * 5).save(tmp_path / f"{k}<b>&'.parquet")
    app = App(*sorted(tmp_path.iterdir()))
    for k, name in enumerate(names):
        page = app.get(f"/m/{k}<b>&'/").body.decode()
        assert name not in page
        assert "<img src=x" not in page
        assert "<b>&" not in page
        api = f"/api/v1/models/{k}<b>&'"
        assert app.request("POST", f"{api}/predict", json.dumps({name: name}).encode(), JSON).json["answer"] == name
        assert app.get(f"{api}/model").json["columns"][0]["name"] == name
        column = f'"{name.replace(chr(34), chr(34) * 2)}"'
        assert app.request("POST", f"{api}/file", f"{column}\nb\n".encode(), CSV).status == 200
