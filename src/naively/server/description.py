"""What the server answers: descriptions of a model and its pages; predictions and explanations of rows and files."""

from __future__ import annotations

import asyncio
import html
import json
import math
import re
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl

import numpy as np

from .. import __version__
from .._types import Floats, Json, JsonObject
from ..data.column import Column, family_text
from ..data.dict_rows import FEW
from ..errors import InvalidInput
from ..estimator.answers import evidence_of, probabilities_of
from ..estimator.html_report import ReportOptions, page_data_of
from ..estimator.predict_files import AnswerColumns, answered_blocks, decision_columns, evidence_of_decisions
from ..explain.evidence import evidence_json, finite
from ..files.file import File
from ..files.writer import csv_parts
from ..page.page import content_security_policy, report_page
from ..stats.moments import Moments
from ..stats.table import Table
from .exchange import ClientGone, Problem, Request, problem_of_error
from .guard import ServerSettings
from .served_model import JsonRow, RequestRows, Snapshot, label_index

# Values of a column that are listed, and that are examples in the OpenAPI document; the most frequent first.
LISTED, EXAMPLES = 1_000, 20

UNFRAMED = "; frame-ancestors 'none'"


def described_model(snapshot: Snapshot, learning: bool = False) -> JsonObject:
    """Return what a form needs: columns with their types and values, classes with their probabilities."""
    fitted = snapshot.fitted
    rows = fitted.all_counts.rows
    prior = np.exp(fitted.model.textbook.log_prior)
    classes = zip(snapshot.labels, rows.tolist(), prior.tolist(), strict=True)
    return {
        "name": snapshot.name,
        "revision": snapshot.revision,
        "target": fitted.schema.target,
        "model": fitted.parameters.model,
        "rows": float(rows.sum()),
        "learning": learning,
        "naively": __version__,
        "classes": [{"label": label, "rows": n, "prior": p} for label, n, p in classes],
        "columns": [described_column(snapshot, column) for column in snapshot.schema],
        "rejects": fitted.parameters.reject is not None,
        "has_costs": fitted.parameters.cost is not None,
    }


def described_column(snapshot: Snapshot, column: Column) -> JsonObject:
    """Return what a field of a form needs: the values of a column, or where most of its numbers lie."""
    described: JsonObject = {"name": column.name, "type": column.type, "family": family_text(column)}
    statistic = snapshot.fitted.counts.columns[column.name]
    if isinstance(statistic, Table):
        counts = zip(statistic.n.sum(axis=0).tolist(), statistic.values.labels, strict=True)
        values = [value for _, value in sorted(counts, key=lambda pair: -pair[0]) if value is not None]
        described |= {"values": values[:LISTED], "value_count": len(values)}
    if isinstance(statistic, Moments) and statistic.n.shape[1] == 1 and statistic.n.any():
        rows = statistic.overall()
        middle, deviation = float(rows.mean[0, 0]), math.sqrt(rows.variance[0, 0])
        low, high = middle - 3 * deviation, middle + 3 * deviation
        bins, _ = snapshot.fitted.model.fine_bins.get(column.name, (None, None))
        if bins is not None and len(bins.cuts):
            low, high = float(bins.cuts[0]), float(bins.cuts[-1])
        described |= {"mean": middle, "low": low, "high": high}
    return described


def openapi_document(snapshot: Snapshot, prefix: str, learning: bool, most_rows: int) -> JsonObject:
    """Return the OpenAPI document of one model, whose operations are under a prefix.

    What is the same for all models is in ``openapi.json``; the schemas of rows and classes are added here.
    """
    document: JsonObject = json.loads((Path(__file__).parent / "openapi.json").read_text("utf-8"))
    document["info"] = {"title": f"Naively: {snapshot.name}", "version": __version__}
    document["paths"] = {
        path if path == "/healthz" else f"{prefix}{path}": operations
        for path, operations in document["paths"].items()
        if learning or path not in ("/learn", "/forget")
    }
    schemas, names, target = document["components"]["schemas"], snapshot.labels, snapshot.fitted.schema.target
    schemas["Label"] = {"enum": names}
    for name, number in (
        ("Probabilities", {"type": "number", "minimum": 0, "maximum": 1}),
        ("Scores", {"type": ["number", "null"]}),
    ):
        required = [str(label) for label in names]
        schemas[name] = {"type": "object", "properties": dict.fromkeys(required, number), "required": required}
    parameters = snapshot.fitted.parameters
    if isinstance(parameters.cost, str):
        schemas["Answer"]["properties"]["answer"] = {"type": ["number", "null"]}
    elif parameters.cost is None:  # with costs, a choice need not be a class
        schemas["Answer"]["properties"]["answer"] = {"enum": names if parameters.reject is None else [*names, None]}
    row = row_schema(snapshot)
    labelled = (
        row
        if target is None
        else {
            **row,
            "properties": {**row["properties"], target: {"enum": names}},
            "required": [*row["required"], target],
        }
    )
    for name, schema in (("Row", row), ("LabelledRow", labelled))[: 2 if learning else 1]:
        schemas[name] = schema
        items = {"$ref": f"#/components/schemas/{name}"}
        schemas[f"{name}s"] = {"type": "array", "items": items, "minItems": 1, "maxItems": most_rows}
    return document


def row_schema(snapshot: Snapshot) -> JsonObject:
    """Return the JSON Schema of a row: every column of the model, and no other."""
    properties, required = {}, list(snapshot.schema.names)
    for column in snapshot.schema:
        types = {"text": ["string"], "boolean": ["boolean"], "time": ["string"]}.get(column.type, ["number"])
        about = f"Column {column.name!r}: {family_text(column)}."
        about += " A time such as 2024-02-29T12:30:00." if column.type == "time" else ""
        schema: JsonObject = {"type": [*types, "null"], "description": about}
        values = described_column(snapshot, column).get("values", [])
        if values and snapshot.fitted.parameters.unseen == "error" and len(values) < LISTED:
            schema["enum"] = [*values, None]
        elif values:
            schema["examples"] = values[:EXAMPLES]
        properties[column.name] = schema
    for name in sorted(snapshot.reader.others):
        about = "Not used." if name != snapshot.fitted.schema.target else "The class; answers do not use it."
        properties[name] = {"type": ["string", "number", "boolean", "null"], "description": about}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


# -- pages -------------------------------------------------------------------------------------------------------------


def model_page(snapshot: Snapshot, server: JsonObject) -> tuple[bytes, bytes]:
    """Return the page of a model, whose scripts may send requests to this server, and its policy."""
    options = ReportOptions(title=f"{snapshot.name}.parquet", language=str(server["language"]))
    text = report_page(page_data_of(snapshot.fitted, options=options, server=server))
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0]
    return text.encode(), f"{html.unescape(policy)}{UNFRAMED}".encode()


@cache
def token_page() -> tuple[bytes, str]:
    """Return the page that asks for the token, and its policy."""
    text = (Path(__file__).parent / "token.html").read_text("utf-8")
    style, script = (re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0] for tag in ("style", "script"))
    return text.encode(), content_security_policy(style, script, served=True) + UNFRAMED


# -- predictions and explanations of rows ------------------------------------------------------------------------------


Result = TypeVar("Result")

# Bytes that are written to the disk at once, and sent at once.
WRITTEN, SENT = 1 << 20, 1 << 16
# Beginnings of files that are compressed, or binary: a small one could be unpacked to a huge one.
BINARY = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"PAR1", b"ARROW1")
DELIMITERS = (b",", b";", b"\t", b"|")


def predictions(snapshot: Snapshot, request: RequestRows) -> bytes:
    """Return the predictions of rows."""
    texts = _texts(
        snapshot, np.concatenate(in_blocks(request.rows, lambda rows: probabilities_of(snapshot.fitted, rows)))
    )
    end = f', "revision": {snapshot.revision}}}'
    return (texts[0][:-1] + end if request.alone else f'{{"answers": [{", ".join(texts)}]{end}').encode()


def _texts(snapshot: Snapshot, probabilities: Floats) -> list[str]:
    """Return each prediction as a JSON object.

    Without costs, the text is joined from strings: this is the response to thousands of requests a second.
    """
    if snapshot.has_costs:
        columns = {
            name: column.to_pylist() for name, column in decision_columns(snapshot.fitted, probabilities, True).items()
        }
        names = [str(label) for label in snapshot.labels]
        columns["probabilities"] = [dict(zip(names, each, strict=True)) for each in probabilities.tolist()]
        rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
        return [json.dumps(finite(row), default=str) for row in rows]
    texts = []
    for each in probabilities.tolist():
        highest = max(each)
        by_class = ", ".join([f"{name}: {p!r}" for name, p in zip(snapshot.json_names, each, strict=True)])
        label = snapshot.json_labels[each.index(highest)]
        texts.append(f'{{"answer": {label}, "probability": {highest!r}, "probabilities": {{{by_class}}}}}')
    return texts


def explanations(snapshot: Snapshot, request: RequestRows, cells: int) -> bytes:
    """Return the contributions of each column to the log joint of each class, for each row; they add up."""
    fitted, against = snapshot.fitted, request.more.get("against")
    size = len(request.rows) * len(snapshot.schema) * len(snapshot.labels)
    if size > cells:
        raise Problem(413, f"There are {size:,} contributions, and one request may have {cells:,}; send fewer rows.")
    rival = None if against is None else snapshot.labels[label_index(snapshot.labels, snapshot.indices, against)]

    def explained(rows: list[JsonRow]) -> list[JsonObject]:
        evidence, labels = evidence_of_decisions(fitted, evidence_of(fitted, rows, rival), rival)
        return [{"answer": labels[k], **evidence_json(evidence, k, row)} for k, row in enumerate(rows)]

    each = [one for block in in_blocks(request.rows, explained) for one in block]
    result: Json = each[0] if request.alone else {"explanations": each}
    return json.dumps({**result, "revision": snapshot.revision}, default=str).encode()


def in_blocks(rows: list[JsonRow], call: Callable[[list[JsonRow]], Result]) -> list[Result]:
    """Return the results for blocks of rows, so few that each is read value by value, as a single row is.

    The problem of a refused block names the row.
    """
    results = []
    for begin in range(0, len(rows), FEW):
        block = rows[begin : begin + FEW]
        try:
            results.append(call(block))
        except InvalidInput as refused:
            for k, row in enumerate(block, begin):
                try:
                    call([row])
                except InvalidInput as error:
                    raise problem_of_error(error, k) from None
            raise problem_of_error(refused) from None
    return results


# -- files -------------------------------------------------------------------------------------------------------------


class UploadCheck:
    """Counts the lines and cells of a file while it arrives.

    Parameters
    ----------
    settings : ServerSettings
        The limits.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings, self.lines, self.columns, self.first = settings, 0, 0, b""

    def add(self, block: bytes) -> None:
        """Count some bytes; too many lines, columns or cells are a problem."""
        limits = self.settings
        if not self.columns:
            self.first += block
            if self.first.startswith(BINARY):
                raise Problem(415, "The file is packed, or no text; send plain CSV.", {"accept": "text/csv"})
            line, end, _ = self.first.partition(b"\n")
            if end or len(self.first) > WRITTEN:
                self.columns, self.first = 1 + max(line.count(sign) for sign in DELIMITERS), b""
            if self.columns > limits.file_columns:
                raise Problem(413, f"The file has more than {limits.file_columns:,} columns.")
        self.lines += block.count(b"\n")
        if self.lines > limits.file_rows + 1:
            raise Problem(413, f"The file has more than {limits.file_rows:,} lines; send it in parts.")
        if self.lines * self.columns > limits.file_cells:
            raise Problem(413, f"The file has more than {limits.file_cells:,} cells; send it in parts.")


def answer_columns(query: bytes, snapshot: Snapshot) -> AnswerColumns:
    """Return the columns that are added, by the options in an address."""
    options = {"probabilities": "true", "only": "false", "why": "0", "prefix": ""}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name not in options:
            raise Problem(400, f"There is no option {name[:100]!r}; the options are probabilities, only, why, prefix.")
        if name in ("probabilities", "only") and value not in ("true", "false"):
            raise Problem(400, f"The option {name} is {value[:100]!r}; give true or false.")
        options[name] = value
    why = options["why"]
    if not (why.isascii() and why.isdigit() and int(why[:6]) <= 1000):
        raise Problem(400, f"The option why is {why[:100]!r}; give the number of contributions to name.")
    return AnswerColumns(
        probabilities=options["probabilities"] == "true",
        cost=snapshot.has_costs,
        why=int(why),
        only=options["only"] == "true",
        prefix=options["prefix"][:100],
    )


async def answer_file(snapshot: Snapshot, request: Request, settings: ServerSettings) -> None:
    """Receive a file, and send it back with its predictions."""
    wanted = answer_columns(request.query, snapshot)
    # One thread writes, predicts and cleans up, one after the other, whatever becomes of the client.
    with (
        tempfile.TemporaryDirectory(prefix="naively-upload-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(1) as thread,
    ):
        path = Path(folder) / "upload.csv"
        await _receive(path, request, settings, thread)
        blocks = _csv_blocks(snapshot, path, wanted)
        try:
            async with asyncio.timeout(settings.file_seconds):
                await _send(blocks, request, thread)
        except TimeoutError:
            raise Problem(408, f"The answer took more than {settings.file_seconds:g} seconds.") from None
        except InvalidInput as error:
            raise problem_of_error(error, path=str(path)) from None
        finally:
            await asyncio.shield(asyncio.wrap_future(thread.submit(blocks.close)))


async def _receive(path: Path, request: Request, settings: ServerSettings, thread: ThreadPoolExecutor) -> None:
    """Write the body to a file."""
    loop = asyncio.get_running_loop()
    check, waiting, size = UploadCheck(settings), list[bytes](), 0
    with path.open("xb") as sink:
        async for block in request.body(settings.file, settings.file_seconds, settings):
            check.add(block)
            waiting.append(block)
            size += len(block)
            if size >= WRITTEN:
                await loop.run_in_executor(thread, sink.writelines, waiting)
                waiting, size = [], 0
        sink.writelines(waiting)
    if not path.stat().st_size:
        raise Problem(422, "The file is empty; its first line names the columns.")


async def _send(blocks: Generator[tuple[bytes, int], None, None], request: Request, thread: ThreadPoolExecutor) -> None:
    """Send the predictions; an error before the first of them is a problem, a later one breaks the response off."""
    loop, rows = asyncio.get_running_loop(), 0
    gone = asyncio.ensure_future(request.receive())  # done when the client closes the connection
    try:
        # The line of names, and the first rows.
        waiting = [await loop.run_in_executor(thread, next, blocks, None) for _ in range(2)]
        await request.begin(
            "text/csv; charset=utf-8", headers={"content-disposition": 'attachment; filename="answers.csv"'}
        )
        while (block := waiting.pop(0)) is not None:
            for begin in range(0, len(block[0]), SENT):
                body = block[0][begin : begin + SENT]
                await request.send({"type": "http.response.body", "body": body, "more_body": True})
                if gone.done():
                    raise ClientGone
            rows += block[1]
            waiting = waiting or [await loop.run_in_executor(thread, next, blocks, None)]
        await request.send({"type": "http.response.body", "body": b""})
        request.rows = rows
    finally:
        gone.cancel()


def _csv_blocks(snapshot: Snapshot, path: Path, wanted: AnswerColumns) -> Generator[tuple[bytes, int], None, None]:
    """Yield lines of the response, and how many rows they are; closing this ends the threads that make them."""
    with closing(answered_blocks(snapshot.fitted, File(path, format="csv"), wanted)) as blocks:
        yield from csv_parts(blocks)
