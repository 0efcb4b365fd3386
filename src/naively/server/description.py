"""Descriptions of a model: for programs, as an OpenAPI document, as a page; and the page that asks for the token."""

from __future__ import annotations

import html
import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np

from .. import __version__
from .._types import JsonObject
from ..data.column import Column, family_text
from ..estimator.html_report import ReportOptions, page_data_of
from ..page.page import content_security_policy, report_page
from ..stats.moments import Moments
from ..stats.table import Table
from .served_model import Snapshot

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
