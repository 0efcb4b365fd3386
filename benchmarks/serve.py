"""The server against FastAPI with a pipeline of scikit-learn, on the loopback: ``python3 chores.py bench serve``.

Both learn adult and answer one JSON row a request with the probabilities of both classes. Answers are checked before
anything is timed. `wrk` makes the load where it is installed, else processes of this script. What counts is the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import smoke

TARGET = "income"
# Rows that are sent in turn.
ROWS = 200
# The command where neither httptools nor uvloop is installed.
PLAIN = "import sys; sys.modules['httptools'] = sys.modules['uvloop'] = None; from naively.cli import main; main()"

OURS = (("naively serve", ["-m", "naively"]), ("naively serve, no uvloop, no httptools", ["-c", PLAIN]))
PEERS = (
    ("FastAPI, async: OneHot, LogisticRegression", "logistic", "async"),
    ("FastAPI, threads: OneHot, LogisticRegression", "logistic", "threads"),
    ("FastAPI, async: Ordinal, CategoricalNB", "categorical", "async"),
)

SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function() at = at %% #bodies + 1; return wrk.format(nil, nil, nil, bodies[at]) end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


@dataclass(frozen=True)
class Load:
    """What a load was answered with."""

    requests: int
    seconds: float
    p50: float  # milliseconds
    p99: float
    errors: int

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


# -- the other server -------------------------------------------------------------------------------------------------


def serve_peer(path: Path, how: str, port: int) -> None:
    """Run FastAPI with a pipeline of scikit-learn, which is loaded from a file."""
    import joblib
    import uvicorn
    from fastapi import FastAPI
    from pydantic import create_model

    pipeline, columns = joblib.load(path)
    fields: dict[str, Any] = {
        name.replace("-", "_"): (float | None if columns[name] else str | None, ...) for name in columns
    }
    row_type = create_model("AdultRow", **fields)
    app = FastAPI()

    def probabilities(row: Any) -> dict[str, float]:
        frame = pd.DataFrame([row.model_dump()]).rename(columns=lambda name: name.replace("_", "-"))
        (found,) = pipeline.predict_proba(as_fitted(frame, columns))
        return dict(zip(pipeline.classes_, found.tolist(), strict=True))

    async def predict_at_once(row: Any) -> dict[str, float]:
        return probabilities(row)

    def predict_in_thread(row: Any) -> dict[str, float]:
        return probabilities(row)

    chosen: Any = predict_at_once if how == "async" else predict_in_thread
    chosen.__annotations__ = {"row": row_type, "return": dict[str, float]}  # which `from __future__` left as text
    app.post("/predict")(chosen)
    uvicorn.run(app, port=port, log_level="warning", access_log=False)


def as_fitted(frame: pd.DataFrame, columns: dict[str, bool]) -> pd.DataFrame:
    """Return a frame with the types of the fit: a row alone may hold nothing but None in a column."""
    return frame.astype({name: float if is_number else object for name, is_number in columns.items()})


def fitted_pipeline(kind: str, data: Path) -> tuple[Any, dict[str, bool]]:
    """Return a pipeline as people write it, and which columns are numbers."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

    X, y = table_of(data)
    columns = {name: bool(pd.api.types.is_numeric_dtype(X[name])) for name in X}
    numbers, labels = ([name for name in X if columns[name] is is_number] for is_number in (True, False))
    fill = SimpleImputer(strategy="most_frequent")
    if kind == "logistic":
        encode: Any = OneHotEncoder(handle_unknown="ignore")
        prepared = make_column_transformer((StandardScaler(), numbers), (make_pipeline(fill, encode), labels))
        model: Any = LogisticRegression(max_iter=1000)
    else:
        encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        bins = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf")
        prepared = make_column_transformer((bins, numbers), (make_pipeline(fill, encode), labels))
        model = CategoricalNB(min_categories=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bins of zeros, which most cells are, are one
        return make_pipeline(prepared, model).fit(X, y), columns


def table_of(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows of adult, and apart from them their classes."""
    table = pd.read_csv(data / "adult-train.csv.gz", na_values="?")
    for name in table.select_dtypes("number"):
        table[name] = table[name].astype(float)
    return table.drop(columns=TARGET), table[TARGET]


def sent_rows(data: Path) -> list[dict[str, Any]]:
    """Return rows as JSON holds them; none has a missing value, which the other pipelines would read by more code."""
    test = pd.read_csv(data / "adult-test.csv.gz", na_values="?").drop(columns=TARGET).dropna().head(ROWS)
    return [json.loads(line) for line in test.to_json(orient="records", lines=True).splitlines()]


# -- both -------------------------------------------------------------------------------------------------------------


@contextmanager
def running(command: list[str], address: str) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """Start a server, wait until it answers, and give how long that took."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except urllib.error.HTTPError:
                break  # it answers, if with an error
            except OSError:
                if process.poll() is not None:
                    sys.exit(f"The server does not start: {' '.join(command)}")
                time.sleep(0.01)
        yield process, time.perf_counter() - begin
    finally:
        process.terminate()
        process.wait()


def asked(address: str, body: bytes) -> dict[str, float]:
    """Return the probabilities that a server answers."""
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found = json.load(answer)
    return dict(found.get("probabilities", found))


def resident(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000


def load(address: str, bodies: list[bytes], connections: int, seconds: float) -> Load:
    """Send requests over some connections for a while."""
    if shutil.which("wrk") is None or seconds < 1:  # wrk counts whole seconds
        return own_load(address, bodies, connections, seconds)
    with tempfile.TemporaryDirectory() as folder:
        lines, script = Path(folder) / "rows.jsonl", Path(folder) / "post.lua"
        lines.write_bytes(b"\n".join(bodies) + b"\n")
        script.write_text(SCRIPT % lines)
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "10s", "-s", script, address]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = next(line for line in done.stdout.splitlines() if line.startswith("RESULT")).split()[1:]
    requests, micros, p50, p99, errors = map(int, said)
    return Load(requests, micros / 1e6, p50 / 1e3, p99 / 1e3, errors)


def own_load(address: str, bodies: list[bytes], connections: int, seconds: float) -> Load:
    """Send requests from two processes, each with half of the connections."""
    share = [(address, bodies, connections - connections // 2, seconds), (address, bodies, connections // 2, seconds)]
    begin = time.perf_counter()
    if connections == 1:
        parts = [one_process(*share[0])]
    else:
        with multiprocessing.Pool(2) as pool:
            parts = pool.starmap(one_process, share)
    times, errors = [t for part in parts for t in part[0]], sum(part[1] for part in parts)
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return Load(len(times), time.perf_counter() - begin, float(p50), float(p99), errors)


def one_process(address: str, bodies: list[bytes], connections: int, seconds: float) -> tuple[list[float], int]:
    """Return the seconds of each request of one process, and how many failed."""
    host, _, path = address.removeprefix("http://").partition("/")
    name, port = host.split(":")
    head = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
    sent = [head.encode() + str(len(body)).encode() + b"\r\n\r\n" + body for body in bodies]
    times: list[float] = []
    failed = 0

    async def connection(first: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(name, int(port))
        end, at = time.perf_counter() + seconds, first
        while (begin := time.perf_counter()) < end:
            writer.write(sent[at % len(sent)])
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            times.append(time.perf_counter() - begin)
            failed += b" 200 " not in answer[:20]
            at += 1
        writer.close()

    async def all_connections() -> None:
        await asyncio.gather(*(connection(first) for first in range(connections)))

    asyncio.run(all_connections())
    return times, failed


# -- the table --------------------------------------------------------------------------------------------------------


def check(title: str, address: str, rows: list[dict[str, Any]], expected: np.ndarray, names: list[str]) -> None:
    """Refuse to time a server whose answers are wrong."""
    for row, probabilities in zip(rows[:50], expected[:50], strict=True):
        found = asked(address, json.dumps(row).encode())
        if not np.allclose([found[name] for name in names], probabilities, atol=1e-9):
            sys.exit(f"{title} answers {found}, and not {probabilities}, to {row}.")


def measured(
    title: str,
    command: list[str],
    address: str,
    rows: list[dict[str, Any]],
    expected: Any,
    names: list[str],
    options: Any,
) -> tuple[str, float]:
    """Return the line of a server, whose answers are checked first, and how many requests a second it answers."""
    starts, bodies = [], [json.dumps(row).encode() for row in rows]
    for _ in range(options.starts):
        with running(command, address) as (_, seconds):
            starts.append(seconds)
    with running(command, address) as (process, seconds):
        check(title, address, rows, expected, names)
        load(address, bodies, options.connections, min(2, options.seconds))  # warms up
        before = resident(process)
        runs = [load(address, bodies, options.connections, options.seconds) for _ in range(options.repeats)]
        best = max(runs, key=lambda run: run.rate)
        done = sum(run.requests for run in runs)
        while done < options.requests:
            rest = load(address, bodies, options.connections, max((options.requests - done) / best.rate, 1) + 1)
            done += rest.requests
        after = resident(process)
    errors = sum(run.errors for run in runs)
    start = statistics.median([*starts, seconds])
    return (
        f"{title:<46}{best.rate:>10,.0f}{best.p50:>9.2f}{best.p99:>9.2f}{start:>9.2f}{before:>9.0f}{after:>9.0f}"
        f"{done:>11,}{errors:>8}"
    ), best.rate


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = next((p / "shared" / "data" for p in Path(__file__).resolve().parents if (p / "shared").is_dir()), None)
    parser.add_argument("--data", type=Path, default=shared, help="folder of adult-train.csv.gz and adult-test.csv.gz")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="loads, of which the best counts")
    parser.add_argument("--requests", type=int, default=100_000, help="requests between the two figures of memory")
    parser.add_argument("--peer-requests", type=int, default=5_000, help="the same of the other servers")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--port", type=int, default=18_000)
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    options = smoke.parsed(
        parser, data=smoke.data, port=free_port, seconds=0.1, connections=1, repeats=1, requests=0, starts=0
    )
    if options.data is None or not (options.data / "adult-train.csv.gz").exists():
        sys.exit("This benchmark needs adult-train.csv.gz and adult-test.csv.gz; say where they are by --data.")
    if options.peer:
        serve_peer(Path(options.peer[0]), options.peer[1], options.port)
        return
    print(" " * 46 + "requests/s   p50 ms   p99 ms  start s       MB  MB then   requests  errors")
    with tempfile.TemporaryDirectory() as folder:
        rate = measure_ours(options, Path(folder))
        measure_peers(options, Path(folder), rate)


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def measure_ours(options: Any, folder: Path) -> float:
    """Print the lines of our server, with and without uvloop and httptools, and return the rate of the first."""
    import naively as nv

    rows, path, rates = sent_rows(options.data), str(folder / "adult.parquet"), []
    nb = nv.NaiveBayes().fit(str(options.data / "adult-train.csv.gz"), target=TARGET)
    nb.save(path)
    address, names = f"http://127.0.0.1:{options.port}/api/v1/predict", [str(label) for label in nb.classes_]
    for title, how in OURS[: 1 if options.smoke else None]:
        command = [sys.executable, *how, "serve", path, "--port", str(options.port), "--log", os.devnull]
        line, rate = measured(title, command, address, rows, nb.predict_proba(rows), names, options)
        print(line, flush=True)
        rates.append(rate)
    return rates[0]


def measure_peers(options: Any, folder: Path, ours: float) -> None:
    """Print the lines of the other servers."""
    import joblib

    if find_spec("fastapi") is None:
        print("FastAPI is not installed, and left out")
        return

    rows, address = sent_rows(options.data), f"http://127.0.0.1:{options.port}/predict"
    named = [{name.replace("-", "_"): value for name, value in row.items()} for row in rows]
    fewer = argparse.Namespace(**{**vars(options), "requests": options.peer_requests})
    for title, kind, how in PEERS:
        path = folder / f"{kind}.joblib"
        pipeline, columns = fitted_pipeline(kind, options.data)
        joblib.dump((pipeline, columns), path)
        command = [sys.executable, __file__, "--peer", str(path), how, "--port", str(options.port)]
        command += ["--data", str(options.data)]
        expected = pipeline.predict_proba(as_fitted(pd.DataFrame(rows), columns))
        line, rate = measured(title, command, address, named, expected, list(pipeline.classes_), fewer)
        print(f"{line}   ours {ours / rate:.1f} times", flush=True)


if __name__ == "__main__":
    main()
