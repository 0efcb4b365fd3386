"""``naively serve``: its predictions are those of the library, its errors sentences, and it refuses what it should."""

import asyncio
import csv
import gzip
import hmac
import http.client
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

import naively as nv
from naively.server import application
from naively.server.description import UploadCheck
from naively.server.exchange import Problem, Request
from naively.server.guard import ServerSettings, is_loopback
from naively.server.running import SlowClients
from naively.server.served_model import open_models

from .serving import CSV, JSON, PENGUINS, ROW, App, Server, problem, read_all, sent_file

CLASSES = ["Adelie", "Chinstrap", "Gentoo"]
SKY = {"sky": ["rain", "sunny"] * 5}


@pytest.fixture(scope="module")
def server(penguin_model):
    with Server(penguin_model) as started:
        yield started


@pytest.fixture(scope="module")
def app(penguin_model):
    return App(penguin_model)


@pytest.fixture(scope="module")
def nb(penguin_model):
    return nv.load(penguin_model)


def penguin_rows():
    """Return the penguins as a client sends them: numbers as numbers, missing values as null."""

    def as_json(text):
        if text in ("", "NA"):
            return None
        try:
            return float(text)
        except ValueError:
            return text

    with PENGUINS.open(encoding="utf-8") as file:
        return [{name: as_json(text) for name, text in row.items()} for row in csv.DictReader(file)]


# -- predictions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 16, 17, 344])
def test_rows_get_the_predictions_of_the_library_to_the_bit(app, nb, count):
    rows = [{name: value for name, value in row.items() if name != "species"} for row in penguin_rows()[:count]]
    found = app.post("predict", {"rows": rows}).json
    expected = nb.predict_proba(rows)
    assert [list(answer["probabilities"].values()) for answer in found["answers"]] == expected.tolist()
    assert [answer["answer"] for answer in found["answers"]] == nb.predict(rows).tolist()


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"species": "Adelie"}, {}),  # the class changes nothing
        ({"sex": None, "body_mass_g": None}, {"sex": None, "body_mass_g": None}),
        ({"body_mass_g": "5200"}, {}),  # as in the file
        ({"island": "Tasmania"}, {"island": "Tasmania"}),  # never seen
    ],
)
def test_values_are_read_as_the_library_reads_them(app, nb, sent, read):
    found = list(app.post("predict", ROW | sent).json["probabilities"].values())
    assert found == nb.predict_proba(ROW | read)[0].tolist()


def test_contributions_add_up_to_the_probabilities(app, nb):
    found = app.post("explain", ROW).json
    total = np.array(list(found["base"].values()))
    for column in found["columns"]:
        total = total + np.array(list(column["scores"].values()))
    np.testing.assert_allclose(total, list(found["log_joint"].values()), atol=1e-12)
    soft = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
    floor = np.array(list(found["floor"].values()))
    np.testing.assert_allclose((1 - floor.sum()) * soft + floor, nb.predict_proba(ROW)[0], atol=1e-12)
    assert found["answer"] == "Gentoo"
    assert {column["name"]: column.get("value") for column in found["columns"]}["island"] == "Biscoe"

    rows = [ROW | {"year": year} for year in (2007, 2008, 2009) * 7]
    many = app.post("explain", {"rows": rows, "against": "Chinstrap"}).json["explanations"]
    assert len(many) == 21
    assert many[1]["against"] == "Chinstrap"
    assert many[1] == app.post("explain", {"rows": [rows[1]], "against": "Chinstrap"}).json["explanations"][0]


def test_costs_decide(tmp_path):
    path = tmp_path / "costly.parquet"
    nb = nv.NaiveBayes(cost={("bad", "good"): 50}, reject=0.4).fit(
        {"x": ["a", "b"] * 30, "n": list(range(60))}, (["bad", "good"] * 29) + ["good", "bad"]
    )
    nb.save(path)
    rows = [{"x": x, "n": n} for x in ("a", "b", None) for n in (0, 59, None)]
    found = App(path).post("predict", {"rows": rows}).json["answers"]
    assert [answer["answer"] for answer in found] == nb.predict(rows).tolist()
    for answer, costs in zip(found, nb.expected_cost(rows), strict=True):
        assert answer["expected_cost"] == pytest.approx(0.4 if answer["answer"] is None else costs.min())


def test_texts_and_times_are_read_as_they_were_learned(tmp_path):
    path = tmp_path / "texts.parquet"
    days = [datetime(2024, 1 + k % 12, 1, tzinfo=UTC) for k in range(60)]
    texts = ["good news today" if k % 12 < 6 else "bad luck again" for k in range(60)]
    labels = ["in" if k % 12 < 6 else "out" for k in range(60)]
    nb = nv.NaiveBayes(families={"text": "words"}, model="textbook").fit({"text": texts, "day": days}, labels)
    nb.save(path)
    app = App(path)
    found = app.post("predict", {"text": "good luck", "day": "2024-03-01T00:00:00Z"}).json
    expected = nb.predict_proba({"text": "good luck", "day": datetime(2024, 3, 1, tzinfo=UTC)})[0]
    assert list(found["probabilities"].values()) == expected.tolist()
    assert problem(app.post("predict", {"text": "good", "day": "no day"}), 422)["column"] == "day"


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_with_the_predictions_of_the_command(server, app, penguin_model, tmp_path):
    out = tmp_path / "answers.csv"
    command = [sys.executable, "-m", "naively", "predict", penguin_model, PENGUINS, "-o", out, "-q", "-p"]
    subprocess.run(command, check=True)
    for client in (server, app):
        found = client.upload(PENGUINS.read_bytes())
        assert found.status == 200
        assert found.headers["content-type"] == "text/csv; charset=utf-8"
        assert found.body == out.read_bytes()


def test_options_of_a_file_choose_its_columns(app):
    lines = app.upload(PENGUINS.read_bytes(), "?only=true&probabilities=false&why=2&prefix=new_").body.decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert list(rows[0]) == ["new_answer", "new_probability", "new_why"]
    assert len(rows) == 344
    for options in ("probabilities=perhaps", "colour=red", "why=-1", "why="):
        problem(app.upload(b"a\n1\n", f"?{options}"), 400)


def test_a_file_that_cannot_be_read_gets_a_sentence_without_our_paths(app):
    long = PENGUINS.read_bytes().replace(b"39.1", b"long", 1)
    contents = {b"": "empty", b"a,b\n1,2\n": "no column", long: "long"}
    others = (b"island,bill_length_mm\n\xff\xfe,1\n", b'island\n"open', b"\0\0\0\0", b"[1, 2]", b"<html>")
    for content, says in (contents | dict.fromkeys(others, "")).items():
        detail = problem(app.upload(content), 422)["detail"]
        assert says in detail
        assert "/tmp" not in detail
        assert "naively-upload" not in detail
    found = problem(app.upload(long), 422)
    assert (found["column"], found["line"]) == ("bill_length_mm", 2)


# -- what is refused ---------------------------------------------------------------------------------------------------

BAD_ROWS = [
    ({"island": "Biscoe"}, "bill_length_mm", "has no column"),
    ({}, "island", "has no column"),
    (ROW | {"beak": 3}, "beak", "does not know"),
    (ROW | {"Sex": "male"}, "Sex", "did you mean 'sex'"),
    (ROW | {"body_mass_g": "heavy"}, "body_mass_g", "heavy"),
    (ROW | {"island": 3}, "island", "3"),
    (ROW | {"island": ["Biscoe"]}, "island", "a list"),
    (ROW | {"island": {"name": "Biscoe"}}, "island", "an object"),
    (ROW | {"body_mass_g": 10**400}, "body_mass_g", "too large"),
]


@pytest.mark.parametrize(("row", "column", "says"), BAD_ROWS)
def test_a_bad_row_is_a_problem_that_names_the_column(app, row, column, says):
    for path, data in (("predict", row), ("explain", row), ("predict", {"rows": [ROW] * 20 + [row]})):
        found = problem(app.post(path, data), 422)
        assert says in found["detail"]
        assert found["column"] == column
    assert found["row"] == 20


NO_ROWS = {
    400: (
        *(b"", b"{", b"nonsense", b"\xff\xff", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}'),
        *(b'{"a": 1, "a": 2}', b'{"a": ' + b"9" * 5000 + b"}", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": "\\ud800"}'),
    ),
    422: (
        *(b'"text"', b"[1, 2]", b"3", b"null", b'{"rows": []}', b'{"rows": [3]}', b'{"rows": [[1]]}'),
        b'{"rows": [{}], "other": 1}',
        json.dumps(ROW | {"body_mass_g": 0}).replace(" 0,", " 1e999,").encode(),
        json.dumps({"rows": [ROW], "against": "Emu"}).encode(),
    ),
}


@pytest.mark.parametrize("status", NO_ROWS)
def test_what_is_no_row_is_a_problem_and_never_a_crash(app, status):
    for body in NO_ROWS[status]:
        problem(app.post("explain", body), status)


@pytest.mark.parametrize(
    ("status", "method", "paths"),
    [
        (
            404,
            "GET",
            ["/nothing", "/api/v1/nothing", "/api/v1/models/other/model", "/m/other/", "/api/v1/models/x/session"],
        ),
        (405, "GET", ["/api/v1/predict", "/api/v1/models/penguins/file"]),
        (405, "PUT", ["/api/v1/predict"]),
        (405, "DELETE", ["/"]),
        (405, "OPTIONS", ["/api/v1/predict"]),
        (405, "POST", ["/healthz"]),
    ],
)
def test_other_addresses_and_methods_are_problems(app, status, method, paths):
    for path in paths:
        found = app.request(method, path)
        problem(found, status)
        assert bool(found.headers.get("allow")) is (status == 405)


def test_learning_needs_an_option(app):
    problem(app.post("learn", ROW | {"species": "Gentoo"}), 403)


# -- what a client has to know -----------------------------------------------------------------------------------------


def test_the_description_is_enough_for_a_form(app):
    found = app.get("/api/v1/model").json
    assert found["target"] == "species"
    assert [each["label"] for each in found["classes"]] == CLASSES
    assert sum(each["rows"] for each in found["classes"]) == found["rows"] == 344
    assert sum(each["prior"] for each in found["classes"]) == pytest.approx(1)
    columns = {each["name"]: each for each in found["columns"]}
    assert list(columns) == list(ROW)
    assert set(columns["island"]["values"]) == {"Biscoe", "Dream", "Torgersen"}
    assert columns["island"]["values"][0] == "Biscoe"
    assert columns["body_mass_g"]["low"] < 4200 < columns["body_mass_g"]["high"]


def test_the_openapi_document_is_valid_and_agrees_with_the_responses(app):
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    valid = pytest.importorskip("jsonschema", reason="jsonschema is not installed").Draft202012Validator
    document = app.get("/api/v1/openapi.json").json
    validator.validate(document)
    assert document["openapi"] == "3.1.0"
    assert "/api/v1/learn" not in document["paths"]
    schemas = document["components"]["schemas"]
    row, island = schemas["Row"], schemas["Row"]["properties"]["island"]
    assert row["required"] == list(ROW)
    assert row["additionalProperties"] is False
    assert island["type"] == ["string", "null"]
    assert set(island["examples"]) == {"Biscoe", "Dream", "Torgersen"}
    assert row["properties"]["body_mass_g"]["type"] == ["number", "null"]
    assert schemas["Answer"]["properties"]["answer"] == {"enum": CLASSES}

    def schema_of(path, part):
        operation = document["paths"][f"/api/v1/{path}"]["post"]
        content = operation["requestBody"] if part == "body" else operation["responses"]["200"]
        return {**content["content"]["application/json"]["schema"], "components": document["components"]}

    for path in ("predict", "explain"):
        for data in (ROW, {"rows": [ROW, ROW]}, ROW | {"sex": None}):
            assert valid(schema_of(path, "body")).is_valid(data)
            valid(schema_of(path, "answer")).validate(app.post(path, data).json)
        for data, _, _ in BAD_ROWS[:8]:
            assert not valid(schema_of(path, "body")).is_valid(data)
        valid(schemas["Problem"]).validate(app.post(path, {}).json)


def test_a_category_that_must_be_known_is_an_enum(tmp_path):
    path = tmp_path / "strict.parquet"
    nv.NaiveBayes(unseen="error").fit([{"x": "a", "y": "in"}, {"x": "b", "y": "out"}] * 5, target="y").save(path)
    with App(path, learn=tmp_path / "learned.wal") as app:
        document = app.get("/api/v1/openapi.json").json
        assert app.get("/api/v1/model").json["columns"][0]["value_count"] == 2
    assert document["components"]["schemas"]["Row"]["properties"]["x"]["enum"] == ["a", "b", None]
    assert document["components"]["schemas"]["LabelledRow"]["properties"]["y"] == {"enum": ["in", "out"]}
    assert "/api/v1/learn" in document["paths"]


# -- several models, reloading -----------------------------------------------------------------------------------------


def test_several_models_have_addresses_of_their_own(penguin_model, tmp_path):
    other = tmp_path / "weather.parquet"
    nv.NaiveBayes().fit(SKY, ["in", "out"] * 5).save(other)
    app = App(penguin_model, other)
    listed = app.get("/api/v1/models").json["models"]
    assert [found["name"] for found in listed] == ["penguins", "weather"]
    for verb in ("predict", "explain"):
        assert app.post(f"models/weather/{verb}", {"sky": "rain"}).json["answer"] == "in"
        assert app.post(f"models/penguins/{verb}", ROW).json["answer"] == "Gentoo"
    assert "weather" in problem(app.post("predict", ROW), 404)["detail"]
    assert "/api/v1/models/weather/predict" in app.get("/api/v1/models/weather/openapi.json").json["paths"]
    assert {app.get(page).status for page in ("/m/weather/", "/m/penguins", "/m/penguins/")} == {200}

    again = tmp_path / "penguins.parquet"
    shutil.copy(penguin_model, again)
    with pytest.raises(nv.errors.InvalidInput, match="would both be called 'penguins'"):
        open_models([penguin_model, again])


def test_a_replaced_file_predicts_and_a_broken_one_does_not(tmp_path, monkeypatch):
    path = tmp_path / "model.parquet"
    nv.NaiveBayes().fit(SKY, ["in", "out"] * 5).save(path)
    monkeypatch.setattr(application, "CHECK_EVERY", 0.0)
    app = App(path)

    def answer():
        found = app.post("predict", {"sky": "rain"}).json
        return found["answer"], found["revision"]

    assert answer() == ("in", 0)
    nv.NaiveBayes().fit(SKY, ["out", "in"] * 5).save(path)
    assert answer() == ("out", 1)
    path.write_bytes(b"broken")
    assert answer() == answer() == ("out", 1)  # it is not tried again and again
    path.unlink()
    assert answer() == ("out", 1)
    assert app.log.events == ["reloaded", "reload failed"]


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_log_has_a_line_for_each_request_and_no_cell(penguin_model, tmp_path):
    with Server(penguin_model) as server:
        server.post("predict", {"rows": [ROW | {"island": "Secret"}] * 3})
        server.post("predict", ROW | {"body_mass_g": "Secret"})
        server.get("/api/v1/model?token=Secret")
        assert server.request("HEAD", "/api/v1/model").body == b""
        server.upload(PENGUINS.read_bytes())
        log = server.end()
    assert [(line["method"], line["path"], line["status"], line.get("rows")) for line in log] == [
        ("POST", "/api/v1/predict", 200, 3),
        ("POST", "/api/v1/predict", 422, None),
        ("GET", "/api/v1/model", 200, None),
        ("HEAD", "/api/v1/model", 200, None),
        ("POST", "/api/v1/file", 200, 344),
    ]
    assert all(line["time"].endswith("Z") and line["ms"] >= 0 for line in log)
    assert "Secret" not in json.dumps(log)

    path = tmp_path / "log.jsonl"
    with Server(penguin_model, "--log", path, "--quiet") as server:
        server.post("predict", ROW)
        server.get("/nothing")
        assert server.end() == []
    assert [json.loads(line)["status"] for line in path.read_text().splitlines()] == [404]


@pytest.mark.parametrize(("plain", "number"), [(False, signal.SIGTERM), (True, signal.SIGINT)])
def test_a_signal_lets_requests_end(penguin_model, number, plain, app):
    """Also without httptools and uvloop, where everything else is the same."""
    with Server(penguin_model, plain=plain) as server:
        assert server.post("predict", ROW).body == app.post("predict", ROW).body
        problem(server.post("predict", b"{"), 400)
        with server.connect(sent_file()) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 100")  # the request is being read
            server.process.send_signal(number)
            connection.sendall(PENGUINS.read_bytes())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 200
            assert answer.read() == app.upload(PENGUINS.read_bytes()).body
        server.process.wait(timeout=3600)
        assert server.process.returncode == 0


@pytest.mark.parametrize(
    ("says", "arguments", "environment"),
    [
        ("there is no such file", ["nothing.parquet", "--port", 0], {}),
        ("Choose another port", ["{model}", "--port", "{port}"], {}),
        ("--learn", ["{model}", "--save-every", 3], {}),
        ("NAIVELY_TOKEN", ["{model}", "--host", "0.0.0.0", "--port", 0], {}),
        ("NAIVELY_TOKEN", ["{model}", "--host", "", "--port", 0], {}),
        ("16 characters", ["{model}", "--port", 0], {"NAIVELY_TOKEN": "short"}),
        ('pip install "naively[serve]"', ["{model}", "--port", 0], {}),
    ],
)
def test_a_command_that_cannot_start_says_why(says, arguments, environment, penguin_model, server):
    missing = "sys.modules['uvicorn'] = None; " if "pip" in says else ""
    program = f"import sys; {missing}from naively.cli import main; main()"
    given = [str(one).format(model=penguin_model, port=server.port) for one in arguments]
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", *given],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=3600,
    )
    assert done.returncode in (1, 2), done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


# -- what a server refuses ---------------------------------------------------------------------------------------------

TOKEN = "a-token-of-enough-characters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BODY = json.dumps(ROW).encode()
POST = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW_BODY = POST + b"Content-Length: 1000\r\n\r\n{"


@pytest.fixture(scope="module")
def strict_server(penguin_model):
    limits = ("--max-body", 20_000, "--max-rows", 50, "--max-file", 100_000, "--max-uploads", 1)
    with Server(penguin_model, *limits) as started:
        yield started


@pytest.fixture(scope="module")
def strict_app(penguin_model):
    return App(penguin_model, rows=50)


@pytest.fixture(scope="module")
def guarded(penguin_model):
    return App(penguin_model, token=TOKEN)


# -- where it listens, and the token -----------------------------------------------------------------------------------


def test_it_listens_on_this_machine_alone(strict_server):
    assert strict_server.host == "127.0.0.1"
    listening = subprocess.run(
        [sys.executable, "-c", LISTENING, str(strict_server.process.pid)], capture_output=True, text=True, check=True
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


def test_a_foreign_host_is_refused(strict_app, penguin_model):
    """A name of somebody else that points here (DNS rebinding) must not read the model."""
    foreign = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.3")
    for host, path in product((*foreign, "0.0.0.0"), ("/", "/healthz", "/api/v1/model", "/api/v1/predict")):
        method = "POST" if path.endswith("predict") else "GET"
        problem(strict_app.request(method, path, BODY, {**JSON, "Host": host}), 421)
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8000"):
        assert strict_app.get("/healthz", Host=host).status == 200
    allowed = App(penguin_model, allow_hosts=("Model.example.org",))
    assert allowed.get("/healthz", Host="model.example.org:80").status == 200


def test_other_sites_cannot_post(strict_app, strict_server):
    origins = ("http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:1", "")
    headers = [
        *({"Origin": origin} for origin in origins),
        *({"Sec-Fetch-Site": f"{x}-site"} for x in ("cross", "same")),
    ]
    for path, header in product(("predict", "explain", "file", "learn", "session"), headers):
        problem(strict_app.request("POST", f"/api/v1/{path}", BODY, {**JSON, **header}), 403)
    own = {"Origin": f"http://127.0.0.1:{strict_server.port}", "Sec-Fetch-Site": "same-origin"}
    assert strict_server.post("predict", ROW, own).status == 200
    assert strict_app.get("/", **{"Sec-Fetch-Site": "cross-site"}).status == 200  # a link


OTHER_TYPES = (
    *(None, "", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("application/octet-stream", "application/vnd.apache.parquet", "application/x-python-serialize"),
    *("application/jsonx", "application/json; charset=utf-16"),
)


def test_other_types_are_refused(strict_app):
    for kind, path in product(OTHER_TYPES, ("predict", "explain", "file")):
        problem(strict_app.request("POST", f"/api/v1/{path}", BODY, {"Content-Type": kind}), 415)
    problem(strict_app.request("POST", "/api/v1/predict", BODY, CSV), 415)
    problem(strict_app.request("POST", "/api/v1/file", PENGUINS.read_bytes(), JSON), 415)
    assert strict_app.post("predict", ROW, {"Content-Type": "Application/JSON; charset=UTF-8"}).status == 200


def test_packed_bodies_and_models_are_refused(strict_app, penguin_model):
    packed = gzip.compress(b"island\n" * 1_000_000)
    problem(strict_app.request("POST", "/api/v1/file", packed, {**CSV, "Content-Encoding": "gzip"}), 415)
    for content in (packed, b"PK\x03\x04zip", penguin_model.read_bytes()):
        problem(strict_app.upload(content), 415)


SAFETY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def test_every_response_has_the_headers_of_safety(strict_app):
    evil = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for found in (
        strict_app.get("/", Origin="http://evil.example"),
        strict_app.get("/healthz"),
        strict_app.get("/api/v1/model", Origin="http://evil.example"),
        strict_app.post("predict", ROW),
        strict_app.post("explain", ROW),
        strict_app.upload(PENGUINS.read_bytes()),
        strict_app.get("/nothing"),
        strict_app.request("PUT", "/"),
        strict_app.request("OPTIONS", "/api/v1/predict", headers=evil),
    ):
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert SAFETY.items() <= found.headers.items()
        assert not [name for name in found.headers if name.startswith("access-control")]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_comes(strict_server):
    answer = strict_server.raw(POST + b"Content-Length: 200000000\r\n\r\n")  # and not a byte of it
    assert b"HTTP/1.1 413" in answer
    assert b"20,000 bytes" in answer
    assert b"server:" not in answer.lower()


@pytest.mark.parametrize("path", ["predict", "file"])
def test_a_body_without_a_length_is_refused_while_it_comes(strict_server, path):
    kind = b"text/csv" if path == "file" else b"application/json"
    head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\nContent-Type: " + kind + b"\r\n\r\n"
    with strict_server.connect(head) as connection:
        try:
            for _ in range(1000):  # 16 MB, without an end
                connection.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        except OSError:
            pass  # the server has gone
        else:
            pytest.fail("the server took everything")
    assert strict_server.get("/healthz").status == 200


def test_too_many_rows_and_cells_are_refused(strict_app):
    assert "51 rows" in problem(strict_app.post("predict", {"rows": [ROW] * 51}), 413)["detail"]
    assert strict_app.post("predict", {"rows": [ROW] * 50}).status == 200
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


def test_bodies_that_wait_are_limited_together(penguin_model):
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
def dripping(strict_server):
    """Return a connection that sends each byte in time, and a whole body in an hour."""
    stop = threading.Event()
    with strict_server.connect(POST + b"Content-Length: 19000\r\n\r\n{") as connection:

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
def test_slow_clients_are_cut_off(penguin_model, tmp_path, plain):
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


def connection_of(*, request=True, paused=False):
    """Return a connection as a sweep sees it."""
    cycle = SimpleNamespace(response_complete=False) if request else None
    transport = Mock(**{"is_closing.return_value": False, "get_write_buffer_size.return_value": 0})
    return Mock(cycle=cycle, transport=transport, taken=0, flow=SimpleNamespace(write_paused=paused))


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


def test_headers_have_their_time():
    sweeper, head = SlowClients(5), connection_of(request=False)
    assert [sweeper.sweep([head], float(second)) for second in range(7)] == [0] * 6 + [1]
    head.transport.abort.assert_called_once()


@pytest.mark.parametrize(("pause", "timeout", "status"), [(0.02, 0.1, 408), (1.0, 0.1, 408), (0.0, 60.0, 200)])
def test_a_body_needs_its_rate(pause, timeout, status):
    """It may be idle for the timeout, and has to come at the least rate after that."""
    settings, scope = ServerSettings(timeout=timeout, slowest=10_000), {"method": "POST", "path": "/", "headers": []}

    async def receive():
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b" " * 50, "more_body": status != 200}

    async def read():
        try:
            return [block async for block in Request(scope, receive, None).body(10**6, 60.0, settings)] and 200
        except Problem as problem:
            return problem.status

    assert asyncio.run(read()) == status
