"""Learning by requests: rows are on the disk before they count, and a killed server loses none it acknowledged."""

import http.client
import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pytest

if os.name == "nt":
    pytest.skip("kills processes by signals of POSIX", allow_module_level=True)

import naively as nv
from naively.errors import InvalidInput
from naively.server.learning import Learner, LearningRequest
from naively.server.served_model import ServedModel
from naively.server.write_ahead import LearnedEntry, WriteAheadLog, digest_of_file

from .serving import JSON, App, Events, Server, problem

RNG = np.random.default_rng(11)
FIRST = [
    {"sky": str(sky), "wind": float(wind), "go": go}
    for sky, wind, go in zip(
        RNG.choice(["rain", "sun"], 80), RNG.normal(5, 2, 80).round(2), RNG.choice(["in", "out"], 80), strict=True
    )
]
ROW = {"sky": "sun", "wind": 3.5}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the bytes of the file of a model of 80 rows, which it holds."""
    path = tmp_path_factory.mktemp("first") / "weather.parquet"
    nv.NaiveBayes().fit(FIRST, target="go").save(path, rows=True)
    return path.read_bytes()


@pytest.fixture
def model(first, tmp_path):
    """Return the file of the model."""
    path = tmp_path / "weather.parquet"
    path.write_bytes(first)
    return path


@pytest.fixture
def ahead(tmp_path):
    """Return the write-ahead log."""
    return tmp_path / "learned.wal"


def labelled(number):
    """Return a row of its own: its number is its wind."""
    return {"sky": "sun" if number % 3 else "rain", "wind": float(number), "go": "out" if number % 2 else "in"}


def learn(client, *rows):
    found = client.post("learn", {"rows": list(rows)})
    assert found.status == 200, found.body
    return found.json


def read_log(path):
    """Return the content of a write-ahead log that no server has."""
    with closing(WriteAheadLog(path)) as log:
        return log.read()


def rows_of(path):
    return float(nv.load(path).counts_.rows.sum())


# -- requests ----------------------------------------------------------------------------------------------------------


def test_learned_rows_count_in_the_next_prediction_until_they_are_forgotten(model, ahead):
    before = nv.load(model)
    rows = [labelled(number) for number in range(30)]
    with App(model, learn=ahead) as app:
        first = app.post("predict", ROW).json["probabilities"]
        assert list(first.values()) == before.predict_proba(ROW)[0].tolist()
        assert learn(app, *rows) == {"rows": 30, "total": 110, "revision": 1}
        expected = before.partial_fit(rows, target="go")
        found = app.post("predict", ROW).json
        assert list(found["probabilities"].values()) == expected.predict_proba(ROW)[0].tolist()
        assert found["revision"] == 1
        assert app.post("learn", labelled(30)).json == {"rows": 1, "total": 111, "revision": 2}
        described = app.get("/api/v1/model").json
        assert (described["rows"], described["learning"]) == (111, True)
        assert "/api/v1/forget" in app.get("/api/v1/openapi.json").json["paths"]
        gone = app.post("forget", {"rows": [*rows, labelled(30)]})
        assert gone.json == {"rows": 31, "total": 80, "revision": 3}
        assert app.post("predict", ROW).json["probabilities"] == pytest.approx(first, abs=1e-12)
        assert "never counted" in problem(app.post("forget", labelled(500)), 422)["detail"]


BAD_ROWS = [
    (ROW, "go"),
    (ROW | {"go": None}, "go"),
    (ROW | {"go": "away"}, "go"),
    (ROW | {"go": 1}, "go"),
    (ROW | {"go": ["in"]}, "go"),
    (ROW | {"go": "in", "wind": "strong"}, "wind"),
    (ROW | {"go": "in", "wind": 1e200}, "wind"),
    ({"sky": "sun", "go": "in"}, "wind"),
    (ROW | {"go": "in", "more": 1}, "more"),
]
BAD_LABELS = [["in"], [["in"], "in"], "in", False, 3, None, {"0": "in"}]


def test_a_bad_row_changes_nothing_and_is_not_written(model, ahead):
    with App(model, learn=ahead) as app:
        for row, column in BAD_ROWS:
            for rows, verb in product(([row], [labelled(1), row]), ("learn", "forget")):
                assert problem(app.post(verb, {"rows": rows}), 422).get("column", column) == column, row
        for labels in BAD_LABELS:
            problem(app.post("learn", {"rows": [ROW, ROW], "labels": labels}), 422)
        assert app.get("/api/v1/model").json["rows"] == 80
        assert app.learners["weather"].ahead.read().entries == []
        assert app.post("learn", {"rows": [ROW, ROW], "labels": ["in", "out"]}).json["total"] == 82
    assert rows_of(model) == 82


# -- the file at the end -----------------------------------------------------------------------------------------------


def test_the_model_is_saved_at_the_end_and_the_log_begins_again(model, ahead, tmp_path):
    rows = [labelled(number) for number in range(40)]
    with Server(model, "--learn", ahead) as server:
        learn(server, *rows[:20])
        learn(server, *rows[20:])
        answer = server.post("predict", ROW).json["probabilities"]
        assert rows_of(model) == 80  # not before
        command = [sys.executable, "-m", "naively", "serve", model, "--port", "0", "--learn", ahead]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        assert done.returncode == 1
        assert "Another server learns" in done.stderr
    assert rows_of(model) == 120
    held = read_log(ahead)
    assert (held.entries, held.sequence, held.model) == ([], 2, digest_of_file(model))
    with App(model, learn=ahead) as app:
        found = app.post("predict", ROW).json
        assert found["revision"] == 2
        assert found["probabilities"] == pytest.approx(answer, abs=1e-9)
        assert learn(app, labelled(50)) == {"rows": 1, "total": 121, "revision": 3}
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [1, 17])
def test_a_killed_server_loses_no_acknowledged_row(model, ahead, kills):
    """Several clients learn at once; the server is killed after some responses. Each row has a wind of its own."""
    acknowledged, lock, enough = set(), threading.Lock(), threading.Event()
    server = Server(model, "--learn", ahead)

    def client(first):
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=3600)) as connection:
            for number in range(first, first + 200):
                try:
                    connection.request("POST", "/api/v1/learn", json.dumps(labelled(number)).encode(), JSON)
                    found = connection.getresponse().read()
                except (OSError, http.client.HTTPException):
                    return
                assert json.loads(found)["rows"] == 1
                with lock:
                    acknowledged.add(number)
                    if len(acknowledged) >= kills:
                        enough.set()

    threads = [threading.Thread(target=client, args=(1000 * k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    assert enough.wait(3600)
    server.kill()
    for thread in threads:
        thread.join()

    assert rows_of(model) == 80  # the model's file is as it was
    held = {int(row["wind"]) for entry in read_log(ahead).entries for row in entry.rows}
    assert acknowledged <= held
    with App(model, learn=ahead) as app:
        assert app.get("/api/v1/model").json["rows"] == 80 + len(held)
    expected = nv.NaiveBayes().fit([*FIRST, *map(labelled, sorted(held))], target="go")
    found = nv.load(model)
    np.testing.assert_array_equal(found.counts_.rows, expected.counts_.rows)
    assert found.counts_.columns["sky"] == expected.counts_.columns["sky"]
    assert found.counts_.columns["wind"].agrees(expected.counts_.columns["wind"])


class Crash(BaseException):
    """Ends everything, as a crash does."""


def crash(*given, **more):
    raise Crash


@pytest.mark.parametrize("point", ["note_saved", "replace", "start"])
def test_a_crash_while_saving_counts_each_row_once(model, ahead, point, monkeypatch):
    """Before the note of the new file, before it takes its place, before the write-ahead log begins again."""
    with learner_of(model, ahead) as learner:
        assert learner.take_all([LearningRequest("learn", [ROW] * 20, ["in"] * 20, None)])[0]["total"] == 100
        replace = Path.replace
        if point == "replace":
            monkeypatch.setattr(Path, point, lambda new, to: crash() if to == model else replace(new, to))
        else:
            monkeypatch.setattr(learner.ahead, point, crash)
        with pytest.raises(Crash):
            learner.save()
        monkeypatch.undo()
    assert rows_of(model) == (100 if point == "start" else 80)
    with learner_of(model, ahead) as learner:
        assert learner.served.now.fitted.counts.rows.sum() == 100
        assert learner.take_all([LearningRequest("learn", [ROW], ["in"], None)])[0]["total"] == 101
        learner.save()
    assert rows_of(model) == 101


@contextmanager
def learner_of(model, ahead, **how):
    """Yield the learner of a model, which has started; its log is closed at the end."""
    events = Events()
    learner = Learner(ServedModel(model), ahead, events.event)
    try:
        learner.start(**how)
        learner.events = events.events
        yield learner
    finally:
        learner.ahead.close()


def written(path, model, *numbers):
    """Write a write-ahead log of some rows."""
    entries = []
    for sequence, number in enumerate(numbers, 1):
        row = labelled(number)
        entries.append(LearnedEntry(sequence, "learn", [row], [row.pop("go")]))
    with closing(WriteAheadLog(path)) as log:
        log.start(digest_of_file(model), 0, entries)


def test_another_file_is_no_write_ahead_log(model, ahead):
    with closing(sqlite3.connect(ahead)) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    for content in (ahead.read_bytes(), b"rows\n", model.read_bytes()):
        ahead.write_bytes(content)
        with pytest.raises(InvalidInput, match="is no write-ahead file"):
            WriteAheadLog(ahead)
        assert ahead.read_bytes() == content


def test_rows_that_are_saved_leave_the_log(model, ahead):
    """Also the bytes of its pages."""
    with learner_of(model, ahead) as learner:
        learner.take_all([LearningRequest("learn", [ROW | {"sky": "a secret"}] * 500, ["in"] * 500, None)])
        learner.save()
        for path in ahead.parent.glob(f"{ahead.name}*"):
            assert b"a secret" not in path.read_bytes()


def test_rows_of_another_model_are_refused_unless_asked_for(model, ahead):
    written(ahead, model, 1, 2, 3)
    nv.NaiveBayes().fit(FIRST[:60], target="go").save(model, rows=True)
    with pytest.raises(InvalidInput, match="3 rows that were learned over another model"), learner_of(model, ahead):
        pass
    with learner_of(model, ahead, rebase=True) as learner:
        assert learner.served.now.fitted.counts.rows.sum() == 63
    held = read_log(ahead)
    assert (held.model, len(held.entries)) == (digest_of_file(model), 3)


def test_a_full_disk_is_a_problem_and_the_rows_do_not_count(model, ahead):
    with App(model, learn=ahead) as app:
        log = app.learners["weather"].ahead
        ((pages,),) = log.database.execute("PRAGMA page_count")
        log.database.execute(f"PRAGMA max_page_count = {pages}")
        assert "is full" in problem(app.post("learn", {"rows": [labelled(1)] * 5000}), 503)["detail"]
        log.database.execute("PRAGMA max_page_count = 1000000")
        assert log.read().entries == []
        assert learn(app, labelled(1)) == {"rows": 1, "total": 81, "revision": 1}
        assert len(log.read().entries) == 1
        assert app.log.events == ["write-ahead file failed"]


def test_a_model_that_somebody_else_replaced_is_not_overwritten(model, ahead):
    with App(model, learn=ahead) as app:
        learn(app, labelled(1))
        nv.NaiveBayes().fit(FIRST[:60], target="go").save(model)
    assert app.log.events == ["not saved"]
    assert rows_of(model) == 60
    assert len(read_log(ahead).entries) == 1
