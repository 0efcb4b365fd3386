"""Learning by requests: rows are on the disk before they count, and a killed server loses none it acknowledged."""

import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="naively[serve] is not installed")
pytest.importorskip("starlette", reason="naively[serve] is not installed")
if os.name == "nt":
    pytest.skip("kills processes by signals of POSIX", allow_module_level=True)

import naively as nv
from naively.errors import InvalidInput
from naively.server.learning import Learner, LearningRequest
from naively.server.problems import Problem
from naively.server.served_model import ServedModel
from naively.server.write_ahead import (
    LearnedEntry,
    WriteAheadFile,
    digest_of_file,
    entry_json,
    json_of_line,
    line_of_json,
    read_ahead_file,
    runs_of_learning,
)

from .serving import JSON, Server, problem

RNG = np.random.default_rng(11)
FIRST = [
    {"sky": str(sky), "wind": float(wind), "go": go}
    for sky, wind, go in zip(
        RNG.choice(["rain", "sun"], 80), RNG.normal(5, 2, 80).round(2), RNG.choice(["in", "out"], 80), strict=True
    )
]
ROW = {"sky": "sun", "wind": 3.5}


@pytest.fixture
def model(tmp_path):
    """Return the file of a model of 80 rows, which it holds."""
    path = tmp_path / "weather.parquet"
    nv.NaiveBayes().fit(FIRST, target="go").save(path, rows=True)
    return path


def labelled(number):
    """Return a row of its own: its number is its wind."""
    return {"sky": "sun" if number % 3 else "rain", "wind": float(number), "go": "out" if number % 2 else "in"}


def learn(server, *rows):
    found = server.post("learn", {"rows": list(rows)})
    assert found.status == 200, found.body
    return found.json


def rows_of(path):
    return float(nv.load(path).counts_.rows.sum())


def test_learned_rows_count_in_the_next_answer(model, tmp_path):
    before = nv.load(model)
    with Server(model, "--learn", tmp_path / "learned.wal") as server:
        assert list(server.post("predict", ROW).json["probabilities"].values()) == before.predict_proba(ROW)[0].tolist()
        rows = [labelled(number) for number in range(30)]
        assert learn(server, *rows) == {"rows": 30, "total": 110, "revision": 1}
        expected = before.partial_fit(rows, target="go")
        found = server.post("predict", ROW).json
        assert list(found["probabilities"].values()) == expected.predict_proba(ROW)[0].tolist()
        assert found["revision"] == 1
        assert server.post("learn", labelled(30)).json == {"rows": 1, "total": 111, "revision": 2}
        assert server.get("/api/v1/model").json["rows"] == 111
        assert server.get("/api/v1/model").json["learning"] is True
        assert "/api/v1/forget" in server.get("/api/v1/openapi.json").json["paths"]


def test_forgotten_rows_are_subtracted(model, tmp_path):
    with Server(model, "--learn", tmp_path / "learned.wal") as server:
        before = server.post("predict", ROW).json["probabilities"]
        learn(server, *[labelled(number) for number in range(30)])
        found = server.post("forget", {"rows": [labelled(number) for number in range(30)]})
        assert found.json == {"rows": 30, "total": 80, "revision": 2}
        assert server.post("predict", ROW).json["probabilities"] == pytest.approx(before, abs=1e-12)
        assert "never counted" in problem(server.post("forget", labelled(500)), 422)["detail"]
        assert server.get("/api/v1/model").json["rows"] == 80


def test_labels_may_be_a_list_beside_the_rows(model, tmp_path):
    with Server(model, "--learn", tmp_path / "learned.wal") as server:
        assert server.post("learn", {"rows": [ROW, ROW], "labels": ["in", "out"]}).json["total"] == 82
        problem(server.post("learn", {"rows": [ROW, ROW], "labels": ["in"]}), 422)
        problem(server.post("learn", {"rows": [ROW], "labels": [["in"]]}), 422)
        for labels in ("in", False, 3, None, {"0": "in"}):
            problem(server.post("learn", {"rows": [ROW, ROW], "labels": labels}), 422)


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


def test_a_bad_row_changes_nothing_and_is_not_written(model, tmp_path):
    ahead = tmp_path / "learned.wal"
    with Server(model, "--learn", ahead) as server:
        size = ahead.stat().st_size
        for row, column in BAD_ROWS:
            for rows, verb in product(([row], [labelled(1), row]), ("learn", "forget")):
                assert problem(server.post(verb, {"rows": rows}), 422).get("column", column) == column, row
        assert server.get("/api/v1/model").json["rows"] == 80
        assert ahead.stat().st_size == size
        learn(server, labelled(1))
    assert rows_of(model) == 81


def test_new_classes_need_an_option(model, tmp_path):
    with Server(model, "--learn", tmp_path / "learned.wal", "--new-classes") as server:
        assert learn(server, *[ROW | {"go": "away"}] * 60)["total"] == 140
        assert "away" in server.post("predict", ROW).json["probabilities"]


# -- the file at the end -----------------------------------------------------------------------------------------------


def test_the_model_is_saved_at_the_end_and_the_file_begins_anew(model, tmp_path):
    ahead = tmp_path / "learned.wal"
    rows = [labelled(number) for number in range(40)]
    with Server(model, "--learn", ahead) as server:
        learn(server, *rows[:20])
        learn(server, *rows[20:])
        answer = server.post("predict", ROW).json["probabilities"]
        assert rows_of(model) == 80  # not before
    assert rows_of(model) == 120
    held = read_ahead_file(ahead)
    assert held.entries == []
    assert held.sequence == 2
    assert held.model == digest_of_file(model)
    with Server(model, "--learn", ahead) as server:
        found = server.post("predict", ROW).json
        assert found["revision"] == 2
        assert found["probabilities"] == pytest.approx(answer, abs=1e-9)
        assert learn(server, labelled(50)) == {"rows": 1, "total": 121, "revision": 3}
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]


def test_the_model_is_saved_now_and_then(model, tmp_path):
    log = tmp_path / "log"
    with Server(model, "--learn", tmp_path / "learned.wal", "--save-every", 0.1, "--log", log) as server:
        learn(server, labelled(1))
        follow = 'tail -n +1 -F "$0" 2>/dev/null | grep -m1 -q \'"saved"\''
        assert subprocess.run(["timeout", "3600", "bash", "-c", follow, log], check=False).returncode == 0
        assert rows_of(model) == 81
        assert learn(server, labelled(2))["total"] == 82
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        server.process.returncode = 0
    with Server(model, "--learn", tmp_path / "learned.wal") as server:
        assert server.get("/api/v1/model").json["rows"] == 82


def test_several_models_learn_apart(model, tmp_path):
    other = tmp_path / "other.parquet"
    nv.NaiveBayes().fit(FIRST[:60], target="go").save(other)
    with Server(model, other, "--learn", tmp_path / "learned") as server:
        assert server.post("models/other/learn", labelled(1)).json["total"] == 61
        assert server.post("models/weather/learn", labelled(1)).json["total"] == 81
    assert {path.name for path in (tmp_path / "learned").glob("*.wal")} == {"other.wal", "weather.wal"}
    assert (rows_of(model), rows_of(other)) == (81, 61)


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [1, 17])
def test_a_killed_server_loses_no_acknowledged_row(model, tmp_path, kills):
    """Several clients learn at once; the server is killed after some answers. Each row has a wind of its own."""
    ahead, acknowledged, lock = tmp_path / "learned.wal", set(), threading.Lock()
    server = Server(model, "--learn", ahead)
    enough = threading.Event()

    def client(first):
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=3600)) as connection:
            for number in range(first, first + 200):
                try:
                    connection.request("POST", "/api/v1/learn", json.dumps(labelled(number)).encode(), JSON)
                    status = connection.getresponse().read()
                except (OSError, http.client.HTTPException):
                    return
                assert json.loads(status)["rows"] == 1
                with lock:
                    acknowledged.add(number)
                    if len(acknowledged) >= kills:
                        enough.set()

    threads = [threading.Thread(target=client, args=(1000 * at,)) for at in range(1, 5)]
    for thread in threads:
        thread.start()
    assert enough.wait(3600)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.communicate()
    for thread in threads:
        thread.join()

    assert rows_of(model) == 80  # the model's file is as it was
    held = {int(row["wind"]) for entry in read_ahead_file(ahead).entries for row in entry.rows}
    assert acknowledged <= held
    with Server(model, "--learn", ahead) as again:
        assert again.get("/api/v1/model").json["rows"] == 80 + len(held)
    expected = nv.NaiveBayes().fit([*FIRST, *map(labelled, sorted(held))], target="go")
    found = nv.load(model)
    np.testing.assert_array_equal(found.counts_.rows, expected.counts_.rows)
    assert found.counts_.columns["sky"] == expected.counts_.columns["sky"]
    assert found.counts_.columns["wind"].agrees(expected.counts_.columns["wind"])


POINTS = ["add", "replace", "start"]


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_while_saving_counts_each_row_once(model, tmp_path, point):
    """Before the note of the new file, before it takes its place, before the write-ahead file begins anew."""
    ahead = tmp_path / "learned.wal"
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from naively.server import learning, served_model, write_ahead\n"
        "model, ahead, point = sys.argv[1:]\n"
        "learner = learning.Learner(served_model.ServedModel('m', Path(model)), "
        "write_ahead.WriteAheadFile(Path(ahead)), lambda *a, **k: None)\n"
        "learner.start()\n"
        "request = learning.LearningRequest('learn', [{'sky': 'sun', 'wind': 1.0}] * 20, ['in'] * 20, None)\n"
        "assert learner.take_all([request])[0]['total'] == 100\n"
        "crash = lambda *a, **k: os._exit(9)\n"
        "if point == 'add': learner.ahead.add = crash\n"
        "if point == 'replace': Path.replace = lambda self, other: os._exit(9) if str(other) == model else "
        "os.replace(self, other)\n"
        "if point == 'start': learner.ahead.start = crash\n"
        "learner.save()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(model), str(ahead), point], capture_output=True, text=True
    )
    if point == "replace":  # the library's own writer replaces a file, too: another one
        assert done.returncode == 9, done.stderr
    assert done.returncode == 9, done.stderr
    assert rows_of(model) == (100 if point == "start" else 80)
    learner = learner_of(model, ahead)
    learner.start()
    assert learner.served.now.fitted.counts.rows.sum() == 100
    request = LearningRequest("learn", [ROW], ["in"], None)
    assert learner.take_all([request])[0]["total"] == 101
    learner.close()
    assert rows_of(model) == 101


def learner_of(model, ahead, events=None):
    def log(what, **facts):
        if events is not None:
            events.append(what)

    return Learner(ServedModel("weather", model), WriteAheadFile(ahead), log)


def written(path, model, *numbers):
    """Write a write-ahead file of some rows, and return its bytes."""
    file = WriteAheadFile(path)
    entries = []
    for at, number in enumerate(numbers, 1):
        row = labelled(number)
        entries.append(LearnedEntry(at, "learn", [row], [row.pop("go")]))
    file.start(digest_of_file(model), 0, entries)
    file.close()
    return path.read_bytes()


def test_every_cut_of_the_last_line_is_ignored(model, tmp_path):
    path = tmp_path / "learned.wal"
    whole = written(path, model, 1, 2, 3)
    last = whole[:-1].rindex(b"\n") + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        held = read_ahead_file(path)
        assert [entry.sequence for entry in held.entries] == [1, 2]
        assert (held.size, held.torn) == (last, cut - last)
    path.write_bytes(whole[:-10])
    events = []
    learner = learner_of(model, path, events)
    learner.start()
    assert events == ["torn line ignored", "replayed"]
    assert learner.served.now.fitted.counts.rows.sum() == 82
    learner.ahead.release()
    assert path.read_bytes() == whole[:last]  # the next line begins where the torn one did


def test_a_damaged_line_in_the_middle_is_an_error_that_says_where(model, tmp_path):
    path = tmp_path / "learned.wal"
    whole = written(path, model, 1, 2, 3)
    lines = whole.splitlines(keepends=True)
    for place in range(len(lines[0]), len(lines[0] + lines[1]) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match="line 2, is damaged") as caught:
            read_ahead_file(path)
        assert caught.value.line == 2
    command = [sys.executable, "-m", "naively", "serve", str(model), "--port", "0", "--learn", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 1
    assert "line 2, is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_rows_of_another_model_are_refused_unless_asked_for(model, tmp_path):
    path = tmp_path / "learned.wal"
    written(path, model, 1, 2, 3)
    nv.NaiveBayes().fit(FIRST[:60], target="go").save(model)
    learner = learner_of(model, path)
    with pytest.raises(InvalidInput, match="3 rows that were learned over another model"):
        learner.start()
    learner.ahead.release()
    learner = learner_of(model, path)
    learner.start(rebase=True)
    assert learner.served.now.fitted.counts.rows.sum() == 63
    learner.ahead.release()
    held = read_ahead_file(path)
    assert held.model == digest_of_file(model)
    assert len(held.entries) == 3


def test_a_file_that_is_no_write_ahead_file_is_refused(model, tmp_path):
    for content in (b"", b"rows\n", line_of_json({"format": "other"}), b'{"rows": []}\n'):
        path = tmp_path / "other.wal"
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="no write-ahead file"):
            read_ahead_file(path)


def test_two_servers_do_not_share_a_file(model, tmp_path):
    ahead = tmp_path / "learned.wal"
    with Server(model, "--learn", ahead):
        command = [sys.executable, "-m", "naively", "serve", str(model), "--port", "0", "--learn", str(ahead)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        assert done.returncode == 1
        assert "Another server learns" in done.stderr


def test_a_full_disk_is_a_problem_and_the_rows_do_not_count(model, tmp_path, monkeypatch):
    events = []
    learner = learner_of(model, tmp_path / "learned.wal", events)
    learner.start()
    monkeypatch.setattr("os.fsync", full_disk)
    (found,) = learner.take_all([LearningRequest("learn", [ROW], ["in"], None)])
    assert isinstance(found, Problem)
    assert found.status == 503
    monkeypatch.undo()
    assert read_ahead_file(tmp_path / "learned.wal").entries == []
    (found,) = learner.take_all([LearningRequest("learn", [ROW], ["in"], None)])
    assert found == {"rows": 1, "total": 81, "revision": 1}
    assert len(read_ahead_file(tmp_path / "learned.wal").entries) == 1
    assert events == ["write-ahead file failed"]
    learner.ahead.release()


def full_disk(descriptor):
    raise OSError(28, "No space left on device")


def test_a_model_that_somebody_else_replaced_is_not_overwritten(model, tmp_path):
    events = []
    learner = learner_of(model, tmp_path / "learned.wal", events)
    learner.start()
    learner.take_all([LearningRequest("learn", [ROW], ["in"], None)])
    nv.NaiveBayes().fit(FIRST[:60], target="go").save(model)
    learner.save()
    assert events == ["not saved"]
    assert rows_of(model) == 60
    assert len(read_ahead_file(tmp_path / "learned.wal").entries) == 1
    learner.ahead.release()


def test_a_line_is_told_from_a_damaged_one():
    line = line_of_json({"rows": [{"é\u2028": 1.5}]})
    assert json_of_line(line) == {"rows": [{"é\u2028": 1.5}]}
    assert line.count(b"\n") == 1
    for bad in (b"", b"\n", line[:-1], line[1:], line + b"x", line.replace(b"1.5", b"1.6"), b"00000000 0 \n "):
        assert json_of_line(bad) is None


def test_rows_learned_one_after_the_other_are_replayed_at_once():
    entries = [
        LearnedEntry(at, verb, [{"a": at}], ["x"]) for at, verb in enumerate(["learn", "learn", "forget", "learn"])
    ]
    runs = list(runs_of_learning(entries))
    assert [(run.verb, len(run.rows)) for run in runs] == [("learn", 2), ("forget", 1), ("learn", 1)]
    assert [row for run in runs for row in run.rows] == [{"a": at} for at in range(4)]
    assert entry_json(entries[0]) == {"sequence": 0, "verb": "learn", "rows": [{"a": 0}], "labels": ["x"]}


def test_the_file_of_a_model_is_named_by_its_content(tmp_path):
    path = Path(tmp_path / "a")
    path.write_bytes(b"abc")
    assert digest_of_file(path) == hashlib.sha256(b"abc").hexdigest()
