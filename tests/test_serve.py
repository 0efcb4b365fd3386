"""``naively serve``: its answers are those of the library, and its errors are sentences."""

import csv
import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="naively[serve] is not installed")
pytest.importorskip("starlette", reason="naively[serve] is not installed")

import naively as nv
from naively.server.description import described_model
from naively.server.guard import Guard
from naively.server.openapi import openapi_document
from naively.server.served_model import ServedModel, open_models

from .serving import CSV, JSON, PENGUINS, ROW, Server, penguin_model, problem  # noqa: F401

CLASSES = ["Adelie", "Chinstrap", "Gentoo"]


@pytest.fixture(scope="module")
def server(penguin_model):  # noqa: F811
    with Server(penguin_model) as started:
        yield started


@pytest.fixture(scope="module")
def nb(penguin_model):  # noqa: F811
    return nv.load(penguin_model)


def penguin_rows():
    """Return the penguins as a client sends them: numbers as numbers, missing values as null."""
    with PENGUINS.open(encoding="utf-8") as file:
        return [{name: as_json(text) for name, text in row.items()} for row in csv.DictReader(file)]


def as_json(text):
    if text in ("", "NA"):
        return None
    try:
        return float(text)
    except ValueError:
        return text


# -- answers ----------------------------------------------------------------------------------------------------------


def test_one_row_gets_the_answer_of_the_library(server, nb):
    found = server.post("predict", ROW)
    assert found.status == 200
    assert found.headers["content-type"] == "application/json"
    (expected,) = nb.predict_proba(ROW).tolist()
    assert found.json == {
        "answer": nb.predict(ROW)[0],
        "probability": max(expected),
        "probabilities": dict(zip(CLASSES, expected, strict=True)),
        "revision": 0,
    }


@pytest.mark.parametrize("count", [1, 5, 16, 17, 100, 344])
def test_rows_get_the_answers_of_the_library_to_the_bit(server, nb, count):
    rows = [{name: value for name, value in row.items() if name != "species"} for row in penguin_rows()[:count]]
    found = server.post("predict", {"rows": rows}).json
    expected = nb.predict_proba(rows)
    assert [list(answer["probabilities"].values()) for answer in found["answers"]] == expected.tolist()
    assert [answer["answer"] for answer in found["answers"]] == nb.predict(rows).tolist()


def test_a_row_may_hold_its_class_which_changes_nothing(server):
    assert server.post("predict", ROW | {"species": "Adelie"}).body == server.post("predict", ROW).body


def test_missing_values_are_null(server, nb):
    row = ROW | {"sex": None, "body_mass_g": None}
    assert list(server.post("predict", row).json["probabilities"].values()) == nb.predict_proba(row)[0].tolist()


def test_numbers_may_be_written_as_in_the_file(server):
    written = server.post("predict", ROW | {"body_mass_g": "5200"})
    assert written.json == server.post("predict", ROW).json


def test_contributions_add_up_to_the_probabilities(server, nb):
    found = server.post("explain", ROW).json
    total = np.array(list(found["base"].values()))
    for column in found["columns"]:
        total = total + np.array(list(column["scores"].values()))
    np.testing.assert_allclose(total, list(found["log_joint"].values()), atol=1e-12)
    soft = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
    floor = np.array(list(found["floor"].values()))
    np.testing.assert_allclose((1 - floor.sum()) * soft + floor, nb.predict_proba(ROW)[0], atol=1e-12)
    assert found["answer"] == "Gentoo"
    assert {column["name"]: column.get("value") for column in found["columns"]}["island"] == "Biscoe"


def test_explanations_of_many_rows_are_those_of_each(server):
    rows = [ROW | {"year": year} for year in (2007, 2008, 2009) * 7]
    found = server.post("explain", {"rows": rows, "against": "Chinstrap"}).json["explanations"]
    assert len(found) == 21
    alone = server.post("explain", {"rows": [rows[1]], "against": "Chinstrap"}).json["explanations"][0]
    assert found[1] == alone
    assert alone["against"] == "Chinstrap"


def test_costs_decide(tmp_path):
    path = tmp_path / "costly.parquet"
    nb = nv.NaiveBayes(cost={("bad", "good"): 50}, reject=0.4).fit(
        {"x": ["a", "b"] * 30, "n": list(range(60))}, (["bad", "good"] * 29) + ["good", "bad"]
    )
    nb.save(path)
    rows = [{"x": x, "n": n} for x in ("a", "b", None) for n in (0, 59, None)]
    with Server(path) as server:
        found = server.post("predict", {"rows": rows}).json["answers"]
    assert [answer["answer"] for answer in found] == nb.predict(rows).tolist()
    answered = [at for at, answer in enumerate(found) if answer["answer"] is not None]
    costs = nb.expected_cost(rows)
    for at in answered:
        assert found[at]["expected_cost"] == pytest.approx(costs[at].min())


def test_classes_keep_their_type(tmp_path):
    each = {"whole": [0, 1], "flags": [True, False], "numbers": [1.0, 2.0], "texts": ["é", "</script>"]}
    for name, labels in each.items():
        nv.NaiveBayes().fit({"x": ["a", "b"] * 5}, labels * 5).save(tmp_path / f"{name}.parquet")
    with Server(*sorted(tmp_path.iterdir())) as server:
        for name, labels in each.items():
            answer = server.post(f"models/{name}/predict", {"x": "a"}).json
            assert answer["answer"] == labels[0]
            assert type(answer["answer"]) is type(labels[0])
            assert set(answer["probabilities"]) == set(map(str, labels))
            described = server.get(f"/api/v1/models/{name}/model").json["classes"]
            assert sorted(found["label"] for found in described) == sorted(labels)


def test_texts_and_times_are_read_as_they_were_learned(tmp_path):
    path = tmp_path / "texts.parquet"
    days = [datetime(2024, 1 + at % 12, 1, tzinfo=UTC) for at in range(60)]
    texts = ["good news today" if at % 12 < 6 else "bad luck again" for at in range(60)]
    nb = nv.NaiveBayes(families={"text": "words"}).fit(
        {"text": texts, "day": days}, ["in" if at % 12 < 6 else "out" for at in range(60)]
    )
    nb.save(path)
    with Server(path) as server:
        found = server.post("predict", {"text": "good luck", "day": "2024-03-01T00:00:00Z"}).json
        expected = nb.predict_proba({"text": "good luck", "day": datetime(2024, 3, 1, tzinfo=UTC)})[0]
        assert list(found["probabilities"].values()) == expected.tolist()
        assert problem(server.post("predict", {"text": "good", "day": "no day"}), 422)["column"] == "day"


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_with_the_answers_of_the_command(server, penguin_model, tmp_path):  # noqa: F811
    out = tmp_path / "answers.csv"
    command = [sys.executable, "-m", "naively", "predict", penguin_model, PENGUINS, "-o", out, "-q", "-p"]
    subprocess.run(command, check=True)
    found = server.upload(PENGUINS.read_bytes())
    assert found.status == 200
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    assert found.body == out.read_bytes()


def test_options_of_a_file_choose_its_columns(server):
    lines = server.upload(PENGUINS.read_bytes(), "?only=true&probabilities=false&why=2&prefix=new_").body.decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert list(rows[0]) == ["new_answer", "new_probability", "new_why"]
    assert len(rows) == 344
    problem(server.upload(b"a\n1\n", "?probabilities=perhaps"), 400)
    problem(server.upload(b"a\n1\n", "?colour=red"), 400)
    problem(server.upload(b"a\n1\n", "?why=-1"), 400)


def test_a_file_of_many_blocks_is_streamed_whole(server):
    names, *lines = PENGUINS.read_text(encoding="utf-8").splitlines()
    many = "\n".join([names, *lines * 1_000, ""])
    found = server.upload(many.encode(), "?only=true&probabilities=false").body.decode().splitlines()
    assert len(found) == 1 + len(lines) * 1_000
    assert found[1:345] == found[-344:]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "no column"),
        (b"island,bill_length_mm\n\xff\xfe,1\n", ""),
        (PENGUINS.read_bytes().replace(b"39.1", b"long", 1), "long"),
        (b'island\n"open', ""),
        (b"\0\0\0\0", ""),
        (b"[1, 2]", ""),
        (b"<html>", ""),
    ],
)
def test_a_file_that_cannot_be_read_gets_a_sentence_without_our_paths(server, content, says):
    detail = problem(server.upload(content), 422)["detail"]
    assert says in detail
    assert "/tmp" not in detail
    assert "naively-upload" not in detail


def test_a_bad_cell_of_a_file_is_named(server):
    found = problem(server.upload(PENGUINS.read_bytes().replace(b"39.1", b"long", 1)), 422)
    assert found["column"] == "bill_length_mm"
    assert found["line"] == 2


# -- what is refused --------------------------------------------------------------------------------------------------


BAD_ROWS = [
    ({"island": "Biscoe"}, {"column": "bill_length_mm"}, "has no column"),
    ({}, {"column": "island"}, "has no column"),
    (ROW | {"beak": 3}, {"column": "beak"}, "does not know"),
    ({**ROW, "Sex": "male"} | {}, {"column": "Sex"}, "did you mean 'sex'"),
    (ROW | {"body_mass_g": "heavy"}, {"column": "body_mass_g"}, "heavy"),
    (ROW | {"island": 3}, {"column": "island"}, "3"),
    (ROW | {"island": ["Biscoe"]}, {"column": "island"}, "a list"),
    (ROW | {"island": {"name": "Biscoe"}}, {"column": "island"}, "an object"),
    (ROW | {"body_mass_g": 10**400}, {"column": "body_mass_g"}, "too large"),
]


@pytest.mark.parametrize(("row", "fields", "says"), BAD_ROWS)
def test_a_bad_row_is_a_problem_that_names_the_column(server, row, fields, says):
    for found in (
        problem(server.post("predict", row), 422),
        problem(server.post("explain", row), 422),
        problem(server.post("predict", {"rows": [ROW] * 20 + [row]}), 422),
    ):
        assert says in found["detail"]
        assert fields.items() <= found.items()
    assert found["row"] == 20


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"nonsense", 400),
        (b"\xff\xff", 400),
        (b'{"a": NaN}', 400),
        (b'{"a": Infinity}', 400),
        (b'{"a": -Infinity}', 400),
        (b'{"a": 1, "a": 2}', 400),
        (b'{"a": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (b'{"a": "\\ud800"}', 400),
        (b'"text"', 422),
        (b"[1, 2]", 422),
        (b"3", 422),
        (b"null", 422),
        (b'{"rows": []}', 422),
        (b'{"rows": [3]}', 422),
        (b'{"rows": [[1]]}', 422),
        (b'{"rows": [{}], "other": 1}', 422),
        (json.dumps(ROW | {"body_mass_g": 0}).replace(" 0,", " 1e999,").encode(), 422),
        (json.dumps({"rows": [ROW], "against": "Emu"}).encode(), 422),
    ],
)
def test_what_is_no_row_is_a_problem_and_never_a_crash(server, body, status):
    found = server.post("explain", body)
    problem(found, status)
    assert server.get("/healthz").status == 200


def test_an_unknown_value_of_a_column_is_answered_as_by_the_library(server, nb):
    row = ROW | {"island": "Tasmania"}
    assert list(server.post("predict", row).json["probabilities"].values()) == nb.predict_proba(row)[0].tolist()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/v1/models/other/model", 404),
        ("GET", "/m/other/", 404),
        ("GET", "/api/v1/predict", 405),
        ("PUT", "/api/v1/predict", 405),
        ("DELETE", "/", 405),
        ("OPTIONS", "/api/v1/predict", 405),
        ("POST", "/healthz", 405),
    ],
)
def test_other_addresses_and_methods_are_problems(server, method, path, status):
    found = server.request(method, path)
    problem(found, status)
    if status == 405:
        assert found.headers["allow"]


def test_learning_needs_an_option(server):
    problem(server.post("learn", ROW | {"species": "Gentoo"}), 403)


# -- what a client has to know ----------------------------------------------------------------------------------------


def test_the_description_is_enough_for_a_form(server):
    found = server.get("/api/v1/model").json
    assert found["target"] == "species"
    assert [each["label"] for each in found["classes"]] == CLASSES
    assert sum(each["rows"] for each in found["classes"]) == found["rows"] == 344
    assert sum(each["prior"] for each in found["classes"]) == pytest.approx(1)
    columns = {each["name"]: each for each in found["columns"]}
    assert list(columns) == list(ROW)
    assert set(columns["island"]["values"]) == {"Biscoe", "Dream", "Torgersen"}
    assert columns["island"]["values"][0] == "Biscoe"
    assert columns["body_mass_g"]["low"] < 4200 < columns["body_mass_g"]["high"]


def test_the_openapi_document_is_valid_and_of_this_schema(server):
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    document = server.get("/api/v1/openapi.json").json
    validator.validate(document)
    assert document["openapi"] == "3.1.0"
    row = document["components"]["schemas"]["Row"]
    assert row["required"] == list(ROW)
    assert row["additionalProperties"] is False
    assert row["properties"]["island"]["type"] == ["string", "null"]
    assert set(row["properties"]["island"]["examples"]) == {"Biscoe", "Dream", "Torgersen"}
    assert row["properties"]["body_mass_g"]["type"] == ["number", "null"]
    assert document["components"]["schemas"]["Answer"]["properties"]["answer"] == {"enum": CLASSES}
    assert "/api/v1/learn" not in document["paths"]


def test_the_openapi_document_agrees_with_what_is_answered(server):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    document = server.get("/api/v1/openapi.json").json
    valid = jsonschema.Draft202012Validator

    def schema_of(path, part):
        operation = document["paths"][f"/api/v1/{path}"]["post"]
        body = operation["requestBody"] if part == "body" else operation["responses"]["200"]
        return {**body["content"]["application/json"]["schema"], "components": document["components"]}

    for path in ("predict", "explain"):
        for data in (ROW, {"rows": [ROW, ROW]}, ROW | {"sex": None}):
            assert valid(schema_of(path, "body")).is_valid(data)
            valid(schema_of(path, "answer")).validate(server.post(path, data).json)
        for data, _, _ in BAD_ROWS[:8]:
            assert not valid(schema_of(path, "body")).is_valid(data)
        missing = {**document["components"]["schemas"]["Problem"]}
        valid(missing).validate(server.post(path, {}).json)


def test_a_category_that_must_be_known_is_an_enum(tmp_path):
    path = tmp_path / "strict.parquet"
    nv.NaiveBayes(unseen="error").fit({"x": ["a", "b"] * 5}, ["in", "out"] * 5).save(path)
    snapshot = ServedModel("strict", path).now
    document = openapi_document(snapshot, "/api/v1", True, 10)
    assert document["components"]["schemas"]["Row"]["properties"]["x"]["enum"] == ["a", "b", None]
    assert "/api/v1/learn" in document["paths"]
    assert described_model(snapshot)["columns"][0]["value_count"] == 2


# -- several models, reloading ----------------------------------------------------------------------------------------


def test_several_models_have_addresses_of_their_own(penguin_model, tmp_path):  # noqa: F811
    other = tmp_path / "weather.parquet"
    nv.NaiveBayes().fit({"sky": ["rain", "sunny"] * 5}, ["in", "out"] * 5).save(other)
    with Server(penguin_model, other) as server:
        listed = server.get("/api/v1/models").json["models"]
        assert [found["name"] for found in listed] == ["penguins", "weather"]
        assert server.post("models/weather/predict", {"sky": "rain"}).json["answer"] == "in"
        assert server.post("models/penguins/predict", ROW).json["answer"] == "Gentoo"
        assert server.post("models/weather/explain", {"sky": "rain"}).json["answer"] == "in"
        assert "weather" in problem(server.post("predict", ROW), 404)["detail"]
        paths = server.get("/api/v1/models/weather/openapi.json").json["paths"]
        assert "/api/v1/models/weather/predict" in paths
        for page in ("/m/weather/", "/m/penguins/"):
            assert server.get(page).status == 200


def test_two_models_of_one_name_are_refused(penguin_model, tmp_path):  # noqa: F811
    again = tmp_path / "penguins.parquet"
    shutil.copy(penguin_model, again)
    with pytest.raises(nv.errors.InvalidInput, match="would both be called 'penguins'"):
        open_models([penguin_model, again])


def test_a_replaced_file_answers_and_a_broken_one_does_not(tmp_path):
    path, events = tmp_path / "model.parquet", []

    def log(what, **facts):
        events.append(what)

    nv.NaiveBayes().fit({"sky": ["rain", "sunny"] * 5}, ["in", "out"] * 5).save(path)
    served = ServedModel("model", path)
    first = served.now
    assert not served.is_replaced()

    nv.NaiveBayes().fit({"sky": ["rain", "sunny"] * 5}, ["out", "in"] * 5).save(path)
    assert served.is_replaced()
    served.reload(log)
    assert served.now.revision == 1
    assert b'"answer": "out"' in served.now.writer.of_row({"sky": "rain"})
    assert b'"answer": "in"' in first.writer.of_row({"sky": "rain"})  # who has it keeps it

    path.write_bytes(b"broken")
    assert served.is_replaced()
    served.reload(log)
    assert not served.is_replaced()  # it is not tried again and again
    assert served.now.revision == 1
    path.unlink()
    assert not served.is_replaced()
    assert events == ["reloaded", "reload failed"]


def test_the_server_looks_at_its_file_again(tmp_path, monkeypatch):
    import asyncio

    from naively.server import application
    from naively.server.access_log import AccessLog
    from naively.server.limits import Limits

    path = tmp_path / "model.parquet"
    nv.NaiveBayes().fit({"sky": ["rain", "sunny"] * 5}, ["in", "out"] * 5).save(path)
    monkeypatch.setattr(application, "LOOK_EVERY", 0.0)
    app = application.Application(open_models([path]), Guard(), Limits(), AccessLog(tmp_path / "log"))

    def ask():
        return asyncio.run(in_process(app, {"sky": "rain"}))

    assert ask() == (200, "in", 0)
    nv.NaiveBayes().fit({"sky": ["rain", "sunny"] * 5}, ["out", "in"] * 5).save(path)
    assert ask() == (200, "out", 1)
    app.log.close()


async def in_process(app, row):
    """Ask an application without a server, and return the status, the answer and the revision."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": json.dumps(row).encode(), "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/predict", "headers": headers}
    await app(scope, receive, send)
    answer = json.loads(sent[1]["body"])
    return sent[0]["status"], answer["answer"], answer["revision"]


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_log_has_a_line_for_each_request_and_no_cell(penguin_model):  # noqa: F811
    with Server(penguin_model) as server:
        server.post("predict", {"rows": [ROW | {"island": "Secret"}] * 3})
        server.post("predict", ROW | {"body_mass_g": "Secret"})
        server.get("/api/v1/model?token=Secret")
        server.upload(PENGUINS.read_bytes())
        log = server.end()
    assert [(line["method"], line["path"], line["status"], line.get("rows")) for line in log] == [
        ("POST", "/api/v1/predict", 200, 3),
        ("POST", "/api/v1/predict", 422, None),
        ("GET", "/api/v1/model", 200, None),
        ("POST", "/api/v1/file", 200, 344),
    ]
    assert all(line["time"].endswith("Z") and line["ms"] >= 0 for line in log)
    assert "Secret" not in json.dumps(log)


def test_the_log_can_go_to_a_file_and_leave_out_good_requests(penguin_model, tmp_path):  # noqa: F811
    log = tmp_path / "log.jsonl"
    with Server(penguin_model, "--log", log, "--quiet") as server:
        server.post("predict", ROW)
        server.get("/nothing")
        assert server.end() == []
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()] == [404]


@pytest.mark.parametrize(("plain", "number"), [(False, signal.SIGTERM), (True, signal.SIGINT)])
def test_a_signal_lets_requests_end(penguin_model, number, plain):  # noqa: F811
    content = PENGUINS.read_bytes()
    with Server(penguin_model, plain=plain) as server:
        connection = server.connect()
        head = (
            f"POST /api/v1/file HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {len(content)}"
        )
        connection.sendall(f"{head}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")  # the request is being read
        server.process.send_signal(number)
        connection.sendall(content)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200
        assert len(answer.read().splitlines()) == 345
        connection.close()
        server.process.wait(timeout=3600)
        assert server.process.returncode == 0


def test_without_httptools_and_uvloop_it_answers_the_same(penguin_model, server):  # noqa: F811
    with Server(penguin_model, plain=True) as other:
        assert other.post("predict", ROW).body == server.post("predict", ROW).body
        assert other.upload(PENGUINS.read_bytes()).body == server.upload(PENGUINS.read_bytes()).body
        problem(other.post("predict", b"{"), 400)


def test_starting_imports_nothing_slow(penguin_model):  # noqa: F811
    program = (
        "import sys, os, signal, json\n"
        "from naively.server import running\n"
        "from pathlib import Path\n"
        "settings = running.ServerSettings(port=0)\n"
        "running.serve_models([Path(sys.argv[1])], settings, lambda address: os.kill(os.getpid(), signal.SIGTERM))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program, penguin_model], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    slow = {"sklearn", "pandas", "polars", "duckdb", "narwhals", "joblib", "scipy.stats", "scipy.optimize", "rich"}
    assert not slow & set(json.loads(done.stdout))


def bad_command(*arguments, environment=None):
    """Return what the command says on stderr when it does not start."""
    command = [sys.executable, "-m", "naively", "serve", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, timeout=3600
    )
    assert done.returncode in (1, 2), done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    return done.stderr


@pytest.mark.parametrize(
    ("said", "arguments", "environment"),
    [
        ("there is no such file", ["nothing.parquet", "--port", 0], {}),
        ("Choose another port", ["{model}", "--port", "{port}"], {}),
        ("--learn", ["{model}", "--save-every", 3], {}),
        ("NAIVELY_TOKEN", ["{model}", "--host", "0.0.0.0", "--port", 0], {}),
        ("16 characters", ["{model}", "--port", 0], {"NAIVELY_TOKEN": "short"}),
    ],
)
def test_a_command_that_cannot_start_says_why(said, arguments, environment, penguin_model, server):  # noqa: F811
    given = [str(one).format(model=penguin_model, port=server.port) for one in arguments]
    assert said in bad_command(*given, environment=environment)


def test_without_its_extra_the_command_says_how_to_install_it(penguin_model):  # noqa: F811
    program = "import sys; sys.modules['uvicorn'] = None; from naively.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "serve", penguin_model], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "naively[serve]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_requests_that_are_sent_together_are_answered_in_order(server):
    body = json.dumps(ROW).encode()
    head = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    one = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    last = one.replace(b"Host:", b"Connection: close\r\nHost:")
    answer = server.raw(one * 3 + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 4
    assert answer.count(b'"answer": "Gentoo"') == 4


def test_headers_of_json_are_not_needed_to_read(server):
    assert server.request("HEAD", "/api/v1/model").body == b""
    assert server.request("POST", "/api/v1/predict", json.dumps(ROW).encode(), JSON).status == 200
    assert server.request("POST", "/api/v1/file", PENGUINS.read_bytes(), CSV).status == 200
