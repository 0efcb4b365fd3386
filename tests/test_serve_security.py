"""What a server refuses: strangers, other sites, other types, too much, too slow."""

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("uvicorn", reason="naively[serve] is not installed")
pytest.importorskip("starlette", reason="naively[serve] is not installed")

import naively as nv
from naively.server.guard import Guard, host_name
from naively.server.limits import Limits
from naively.server.protocol import SlowClients
from naively.server.running import ServerSettings, guard_of, is_loopback

from .serving import CSV, JSON, PENGUINS, ROW, Server, penguin_model, problem, read_all  # noqa: F401

TOKEN = "a-token-of-enough-characters"
BODY = json.dumps(ROW).encode()
POST = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW_BODY = POST + b"Content-Length: 1000\r\n\r\n{"


@pytest.fixture(scope="module")
def server(penguin_model):  # noqa: F811
    limits = ("--max-body", 20_000, "--max-rows", 50, "--max-file", 100_000, "--max-uploads", 1)
    with Server(penguin_model, *limits) as started:
        yield started


@pytest.fixture(scope="module")
def guarded(penguin_model):  # noqa: F811
    with Server(penguin_model, environment={"NAIVELY_TOKEN": TOKEN}) as started:
        yield started


# -- where it listens, and the token ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("host", "own"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("[::1]", True)])
def test_addresses_of_this_machine_need_no_token(host, own):
    assert is_loopback(host) is own


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.3", "example.org", "127.0.0.1.example.org", ""])
def test_every_other_address_is_no_loopback(host):
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_every_other_address_needs_one(host, penguin_model):  # noqa: F811
    command = [sys.executable, "-m", "naively", "serve", str(penguin_model), "--host", host, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 1
    assert "NAIVELY_TOKEN" in done.stderr


def test_another_address_with_a_token_is_served(penguin_model):  # noqa: F811
    with Server(penguin_model, "--host", "0.0.0.0", environment={"NAIVELY_TOKEN": TOKEN}) as server:
        problem(server.post("predict", ROW), 401)
        assert server.post("predict", ROW, {"Authorization": f"Bearer {TOKEN}"}).status == 200
        head = {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}
        problem(server.post("predict", ROW, head), 421)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/model"),
        ("GET", "/api/v1/models"),
        ("GET", "/api/v1/openapi.json"),
        ("POST", "/api/v1/predict"),
        ("POST", "/api/v1/explain"),
        ("POST", "/api/v1/file"),
        ("POST", "/api/v1/learn"),
        ("POST", "/api/v1/forget"),
        ("POST", "/api/v1/session"),
        ("POST", "/api/v1/models/penguins/predict"),
    ],
)
@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Cookie": f"naively={TOKEN}"},
        {"X-Token": TOKEN},
    ],
)
def test_without_the_token_nothing_is_answered(guarded, method, path, header):
    found = guarded.request(method, f"{path}?token={TOKEN}", BODY if method == "POST" else None, {**JSON, **header})
    problem(found, 401)
    assert found.headers["www-authenticate"].startswith("Bearer")


def test_the_page_asks_for_the_token_and_shows_nothing_else(guarded):
    found = guarded.get(f"/?token={TOKEN}")
    assert found.status == 401
    assert b"penguins" not in found.body.lower()
    assert TOKEN.encode() not in found.body
    assert "sha256-" in found.headers["content-security-policy"]


def test_the_token_gives_a_cookie_that_other_sites_cannot_use(guarded):
    found = guarded.post("session", {}, {"Authorization": f"Bearer {TOKEN}"})
    assert found.status == 200
    cookie, *rules = found.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(rules)
    assert TOKEN not in cookie
    assert guarded.get("/", Cookie=cookie).status == 200
    assert guarded.post("predict", ROW, {"Cookie": cookie}).status == 200
    problem(guarded.post("predict", ROW, {"Cookie": cookie, "Origin": "http://evil.example"}), 403)
    problem(guarded.post("predict", ROW, {"Cookie": f"{cookie}x"}), 401)
    problem(guarded.post("predict", ROW, {"Cookie": f"{cookie}; {cookie}"}), 401)


def test_health_needs_no_token(guarded):
    assert guarded.get("/healthz").json == {"status": "ok"}
    assert guarded.get("/api/v1/healthz").json == {"status": "ok"}


def test_tokens_are_compared_in_constant_time(monkeypatch):
    import hmac

    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr("naively.server.guard.hmac.compare_digest", lambda a, b: compared.append(1) or real(a, b))
    guard = Guard(token=TOKEN)
    assert guard.knows_token({b"authorization": b"Bearer " + TOKEN.encode()})
    assert guard.knows_token({b"cookie": b"other=1; naively=" + guard.session.encode()})
    assert not guard.knows_token({b"authorization": "Bearer tökén".encode()})
    assert len(compared) == 3


# -- Host, Origin, type -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:80", "localhost"), ("[::1]:8000", "[::1]"), ("A.b.", "a.b"), ("[::1]", "[::1]"), (":80", "")],
)
def test_the_name_in_a_host_header(host, name):
    assert host_name(host) == name


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.3", "0.0.0.0"],
)
@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/model", "/api/v1/predict"])
def test_a_foreign_host_is_refused(server, host, path):
    """A name of somebody else that points here (DNS rebinding) must not read the model."""
    method = "POST" if path.endswith("predict") else "GET"
    problem(server.request(method, path, BODY if method == "POST" else None, {**JSON, "Host": host}), 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8000"])
def test_names_of_this_machine_are_answered(server, host):
    assert server.get("/healthz", Host=host).status == 200


def test_more_names_can_be_allowed():
    names = guard_of(ServerSettings(allow_hosts=("Model.example.org",)), 8000).hosts
    assert "model.example.org" in names
    assert not guard_of(ServerSettings(), 8000).any_address
    assert guard_of(ServerSettings(host="0.0.0.0", token=TOKEN), 8000).any_address


def test_a_request_has_one_host(server):
    assert b" 400 " in server.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").split(b"\r\n")[0]
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert b" 400 " in server.raw(two).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["predict", "explain", "file", "learn", "session"])
def test_other_sites_cannot_post(server, path, header):
    found = server.request("POST", f"/api/v1/{path}", BODY, {**JSON, **header})
    problem(found, 403)


def test_the_page_itself_can_post(server):
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.post("predict", ROW, own).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/vnd.apache.parquet",
        "application/x-python-serialize",
        "application/jsonx",
        "text/json",
        "application/json; charset=utf-16",
        "",
    ],
)
def test_other_types_are_refused(server, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    for path in ("predict", "explain", "file"):
        problem(server.request("POST", f"/api/v1/{path}", BODY, headers), 415)


def test_each_address_takes_its_own_type(server):
    problem(server.request("POST", "/api/v1/predict", BODY, CSV), 415)
    problem(server.request("POST", "/api/v1/file", PENGUINS.read_bytes(), JSON), 415)
    assert (
        server.request("POST", "/api/v1/predict", BODY, {"Content-Type": "Application/JSON; charset=UTF-8"}).status
        == 200
    )
    assert server.request("POST", "/api/v1/file", PENGUINS.read_bytes(), {"Content-Type": "text/csv"}).status == 200


def test_packed_bodies_are_refused(server):
    packed = gzip.compress(b"island\n" * 1_000_000)
    problem(server.request("POST", "/api/v1/file", packed, {**CSV, "Content-Encoding": "gzip"}), 415)
    problem(server.upload(packed), 415)
    problem(server.upload(b"PK\x03\x04zip"), 415)


def test_a_model_is_never_uploaded(server, penguin_model):  # noqa: F811
    problem(server.upload(penguin_model.read_bytes()), 415)


def test_no_header_lets_other_sites_read(server):
    own = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for found in (
        server.request("OPTIONS", "/api/v1/predict", headers=own),
        server.get("/api/v1/model", Origin="http://evil.example"),
        server.get("/"),
        server.post("predict", ROW),
    ):
        assert not [name for name in found.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/", None),
        ("GET", "/healthz", None),
        ("GET", "/api/v1/model", None),
        ("POST", "/api/v1/predict", "application/json"),
        ("POST", "/api/v1/explain", "application/json"),
        ("POST", "/api/v1/file", "text/csv"),
        ("GET", "/nothing", None),
        ("PUT", "/", None),
    ],
)
def test_every_answer_has_the_headers_of_safety(server, method, path, kind):
    body = PENGUINS.read_bytes() if kind == "text/csv" else BODY if kind else None
    found = server.request(method, path, body, {"Content-Type": kind} if kind else {}).headers
    policy = found["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert found["x-content-type-options"] == "nosniff"
    assert found["referrer-policy"] == "no-referrer"
    assert found["cross-origin-opener-policy"] == "same-origin"
    assert found["cross-origin-resource-policy"] == "same-origin"
    assert found["cache-control"] == "no-store"
    assert "server" not in found


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_comes(server):
    head = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = server.raw(head + b"Content-Length: 200000000\r\n\r\n")  # and not a byte of it
    assert b"HTTP/1.1 413" in answer
    assert b"20,000 bytes" in answer


@pytest.mark.parametrize("path", ["predict", "file"])
def test_a_body_without_a_length_is_refused_while_it_comes(server, path):
    kind = b"text/csv" if path == "file" else b"application/json"
    head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\nContent-Type: " + kind + b"\r\n\r\n"
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    with server.connect() as connection:
        connection.sendall(head)
        try:
            for _ in range(1000):  # 16 MB, without an end
                connection.sendall(chunk)
        except OSError:
            pass  # the server has gone
        else:
            pytest.fail("the server took everything")
    assert server.get("/healthz").status == 200


def test_too_many_rows_and_cells_are_refused(server):
    found = problem(server.post("predict", {"rows": [ROW] * 51}), 413)
    assert "51 rows" in found["detail"]
    assert server.post("predict", {"rows": [ROW] * 50}).status == 200


def test_too_many_lines_columns_and_cells_of_a_file_are_refused():
    from naively.server.problems import Problem
    from naively.server.uploads import UploadCheck

    few = Limits(file_rows=10, file_columns=5, file_cells=20)
    for parts, says in (
        ([b"a\n", b"1\n" * 5, b"1\n" * 20], "10 lines"),
        ([b"a,b,c,", b"d,e,f\n"], "5 columns"),
        ([b"a;b;c;d\n", b"1;2;3;4\n" * 5], "20 cells"),
    ):
        check = UploadCheck(few)
        for part in parts[:-1]:
            check.add(part)
        with pytest.raises(Problem, match=says) as caught:
            check.add(parts[-1])
        assert caught.value.status == 413


def test_bodies_that_wait_are_limited_together():
    import asyncio

    from naively.server.bodies import BodyBuffer
    from naively.server.problems import Problem

    buffer = BodyBuffer(Limits(buffered=100, body=80))

    async def body(size):
        async def receive():
            return {"type": "http.request", "body": b"x" * size, "more_body": False}

        return await buffer.read(receive, {})

    held = asyncio.run(body(80))
    with pytest.raises(Problem) as caught:
        asyncio.run(body(21))
    assert caught.value.status == 429
    assert buffer.held == 80
    buffer.release(held)
    assert asyncio.run(body(21)) == b"x" * 21


def test_too_many_uploads_at_once_are_refused(server):
    head = b"POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 1000\r\n"
    with server.connect() as connection:
        connection.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")  # one is being received
        found = server.upload(PENGUINS.read_bytes())
        problem(found, 429)
        assert found.headers["retry-after"]
        assert server.post("predict", ROW).status == 200  # other requests go on
    # Who goes away makes room, once the server notices it.
    statuses = {server.upload(PENGUINS.read_bytes()).status for _ in range(20)}
    assert 200 in statuses


# -- slow clients -----------------------------------------------------------------------------------------------------


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
    with server.connect() as connection:
        connection.sendall(POST + b"Content-Length: 19000\r\n\r\n{")

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
def test_slow_clients_are_cut_off(penguin_model, plain):  # noqa: F811
    with Server(penguin_model, "--timeout", 1, plain=plain) as server:
        with ExitStack() as stack:  # all wait at once
            connections = [stack.enter_context(server.connect()) for _ in UNFINISHED]
            for connection, begin in zip(connections, UNFINISHED, strict=True):
                connection.sendall(begin)
            for connection in [*connections, stack.enter_context(dripping(server))]:
                read_all(connection)  # ends, because the server ends it
        assert server.get("/healthz").status == 200


def test_a_client_that_takes_no_answer_is_cut_off(penguin_model, tmp_path):  # noqa: F811
    names, *lines = PENGUINS.read_text(encoding="utf-8").splitlines()
    content = "\n".join([names, *lines * 400, ""]).encode()
    log = tmp_path / "log.jsonl"
    with Server(penguin_model, "--timeout", 1, "--log", log) as server, server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = "POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        server.process.stderr.close()
        wait_for_line(log, "slow clients cut off")
        assert server.post("predict", ROW).status == 200


def wait_for_line(path, text):
    """Wait until a file has a line, which must come soon."""
    done = subprocess.run(
        ["timeout", "3600", "bash", "-c", 'tail -n +1 -F "$0" 2>/dev/null | grep -m1 -q "$1"', path, text], check=False
    )
    assert done.returncode == 0


class FakeTransport:
    """What a sweep does to a connection."""

    def __init__(self):
        self.calls, self.ended = {}, None

    def __getattr__(self, name):
        def call(*given):
            self.calls[name] = given
            self.ended = name if name in ("close", "abort") else self.ended
            return {"is_closing": False, "get_write_buffer_size": 0}.get(name)

        return call


class FakeConnection:
    """A connection as a sweep sees it."""

    def __init__(self, cycle=None, paused=False):
        self.cycle, self.transport, self.received, self.taken = cycle, FakeTransport(), 1, 0
        self.flow = type("Flow", (), {"write_paused": paused})()


def cycle(*, more=False, started=False, complete=False):
    return type("Cycle", (), {"more_body": more, "response_started": started, "response_complete": complete})()


def test_a_client_that_reads_slowly_but_steadily_is_waited_for():
    sweeper, connection = SlowClients(Limits(stalled_seconds=3)), FakeConnection(cycle(started=True), paused=True)
    for second in range(100):
        connection.taken += second % 2
        assert sweeper.sweep([connection], float(second)) == 0
    assert sum(sweeper.sweep([connection], 100.0 + second) for second in range(5)) == 1
    assert connection.transport.ended == "abort"


def test_a_request_that_the_server_works_on_is_never_slow():
    sweeper, connection = SlowClients(Limits()), FakeConnection(cycle())
    assert not any(sweeper.sweep([connection], float(second)) for second in range(1000))


def test_a_body_needs_its_rate_and_headers_their_time():
    sweeper = SlowClients(Limits(stalled_seconds=5, slowest=100, header_seconds=5))
    good, slow, head = FakeConnection(cycle(more=True)), FakeConnection(cycle(more=True)), FakeConnection()
    for second in range(20):
        good.received += 200
        slow.received += 20
        head.received += 1
        sweeper.sweep([c for c in (good, slow, head) if c.transport.ended is None], float(second))
    assert good.transport.ended is None
    assert slow.transport.ended == "abort"
    assert head.transport.ended == "close"
    assert head.transport.calls["write"][0].startswith(b"HTTP/1.1 408")


# -- what is written down ---------------------------------------------------------------------------------------------


def test_uploads_leave_nothing_behind(penguin_model, tmp_path):  # noqa: F811
    places = {"TMPDIR": str(tmp_path)}
    with Server(penguin_model, environment=places) as server:
        assert server.upload(PENGUINS.read_bytes()).status == 200
        problem(server.upload(b"a\n1\n"), 422)
        head = b"POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 9999\r\n"
        with server.connect() as connection:  # who goes away in the middle
            connection.sendall(head + b"Expect: 100-continue\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 100")
            connection.sendall(b"island,year\n")
            assert [path for path in tmp_path.iterdir() if path.name.startswith("naively-upload")]
        assert server.get("/healthz").status == 200
        names, *lines = PENGUINS.read_text(encoding="utf-8").splitlines()
        content = "\n".join([names, *lines * 400, ""]).encode()
        head = (
            f"POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {len(content)}"
        )
        with server.connect() as connection:  # or before the answer is whole
            connection.sendall(f"{head}\r\n\r\n".encode() + content)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        server.end()
    assert list(tmp_path.iterdir()) == []


def test_names_and_values_that_look_like_html_are_text(tmp_path):
    names = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a'b&c"]
    for at, name in enumerate(names):
        nv.NaiveBayes().fit({name: [name, "b"] * 5}, [name, "out"] * 5).save(tmp_path / f"model{at}.parquet")
    with Server(*sorted(tmp_path.iterdir())) as server:
        for at, name in enumerate(names):
            page = server.get(f"/m/model{at}/").body.decode()
            assert name not in page
            assert "<img src=x" not in page
            found = server.post(f"models/model{at}/predict", {name: name})
            assert found.json["answer"] == name
            assert server.get(f"/api/v1/models/model{at}/model").json["columns"][0]["name"] == name
            column = f'"{name.replace(chr(34), chr(34) * 2)}"'
            path = f"/api/v1/models/model{at}/file"
            assert server.request("POST", path, f"{column}\nb\n".encode(), CSV).status == 200


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "penguins.parquet", "a" * 5000, "penguins%2f..%2fx"]
)
def test_a_model_is_found_by_its_name_alone(server, name):
    for path in (f"/m/{name}/", f"/api/v1/models/{name}/model"):
        problem(server.get(path), 404)


def test_a_name_of_a_file_is_text_in_its_page(tmp_path):
    if os.name == "nt":
        pytest.skip("such names are not allowed there")
    path = tmp_path / "<b>&'.parquet"
    nv.NaiveBayes().fit({"x": ["a", "b"] * 5}, ["in", "out"] * 5).save(path)
    with Server(path) as server:
        assert b"<b>&" not in server.get("/").body
