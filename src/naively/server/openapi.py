"""The OpenAPI document of a model, made from its schema: columns with their types, values and classes."""

from __future__ import annotations

from collections.abc import Sequence

from .. import __version__
from .._types import JsonObject
from ..data.column import Column, family_text
from .description import LISTED, described_column
from .served_model import Snapshot

# So many values of a column are examples.
EXAMPLES = 20


def cell_schema(snapshot: Snapshot, column: Column) -> JsonObject:
    """Return the JSON Schema of the cells of a column."""
    types = {"text": ["string"], "boolean": ["boolean"], "time": ["string"]}.get(column.type, ["number"])
    schema: JsonObject = {"type": [*types, "null"], "description": f"Column {column.name!r}: {family_text(column)}."}
    if column.type == "time":
        schema["description"] += " A time such as 2024-02-29T12:30:00."
    values = described_column(snapshot, column).get("values", [])
    if values and snapshot.fitted.parameters.unseen == "error" and len(values) < LISTED:
        return schema | {"enum": [*values, None]}
    return schema | ({"examples": values[:EXAMPLES]} if values else {})


def row_schema(snapshot: Snapshot, *, labelled: bool = False) -> JsonObject:
    """Return the JSON Schema of a row: every column of the model, and no other."""
    properties = {column.name: cell_schema(snapshot, column) for column in snapshot.schema}
    required, target = list(snapshot.schema.names), snapshot.fitted.schema.target
    for name in sorted(snapshot.reader.others):
        said = "Not used." if name != target else "The class; answers do not use it."
        properties[name] = {"type": ["string", "number", "boolean", "null"], "description": said}
    if labelled and target is not None:
        properties[target] = label_schema(snapshot)
        required.append(target)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def label_schema(snapshot: Snapshot, *, or_none: bool = False) -> JsonObject:
    """Return the JSON Schema of a class."""
    return {"enum": [*snapshot.labels, *([None] if or_none else [])]}


def by_class_schema(snapshot: Snapshot, *, least: float | None = None) -> JsonObject:
    """Return the JSON Schema of a number for each class."""
    number: JsonObject = {"type": "number", "minimum": 0, "maximum": 1} if least == 0 else {"type": ["number", "null"]}
    names = [str(label) for label in snapshot.labels]
    return {"type": "object", "properties": dict.fromkeys(names, number), "required": names}


def answer_schema(snapshot: Snapshot) -> JsonObject:
    """Return the JSON Schema of an answer."""
    parameters, numbers = snapshot.fitted.parameters, isinstance(snapshot.fitted.parameters.cost, str)
    answer = {"type": ["number", "null"]} if numbers else label_schema(snapshot, or_none=parameters.reject is not None)
    if parameters.cost is not None and not numbers:
        answer = {}  # a choice need not be a class
    properties = {
        "answer": answer,
        "probability": {"type": ["number", "null"]},
        "probabilities": by_class_schema(snapshot, least=0),
        "expected_cost": {"type": ["number", "null"]},
    }
    return {"type": "object", "properties": properties, "required": ["answer", "probabilities"]}


def explanation_schema(snapshot: Snapshot) -> JsonObject:
    """Return the JSON Schema of an explanation."""
    numbers = by_class_schema(snapshot)
    column = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "value": {}, "columns": {"type": "array"}, "scores": numbers},
        "required": ["name", "scores"],
    }
    return {
        "type": "object",
        "properties": {
            "answer": {},
            "against": label_schema(snapshot),
            "probabilities": by_class_schema(snapshot, least=0),
            "log_joint": numbers,
            "base": numbers,
            "columns": {"type": "array", "items": column},
        },
        "required": ["answer", "probabilities", "log_joint", "base", "columns"],
    }


PROBLEM: JsonObject = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "row": {"type": "integer", "description": "Counted from 0."},
        "column": {"type": "string"},
        "line": {"type": "integer"},
    },
    "required": ["type", "title", "status", "detail"],
}


def _reference(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _with_revision(name: str) -> JsonObject:
    """Return the JSON Schema of an object with the number of the model that answered."""
    return {"allOf": [_reference(name), {"type": "object", "properties": {"revision": {"type": "integer"}}}]}


def _operation(summary: str, name: str, good: JsonObject, body: JsonObject | None = None, *more: int) -> JsonObject:
    """Return one operation: its body, and its answers."""
    problems = {401: "No token.", 429: "Too many requests at once."}
    problems |= {
        400: "No JSON.",
        408: "Too slow.",
        413: "Too large.",
        415: "Another type.",
        422: "Rows that do not fit.",
    }
    said = (401, *((400, 408, 413, 415, 422, 429) if body is not None else ()), *more)
    content = {"application/problem+json": {"schema": _reference("Problem")}}
    answers: JsonObject = {"200": {"description": "The answer.", "content": good}}
    answers |= {str(status): {"description": problems[status], "content": content} for status in sorted(set(said))}
    found: JsonObject = {"summary": summary, "operationId": name, "responses": answers}
    return found if body is None else found | {"requestBody": {"required": True, "content": body}}


def _json(schema: JsonObject) -> JsonObject:
    return {"application/json": {"schema": schema}}


def _rows(name: str, most: int, more: JsonObject) -> JsonObject:
    """Return the JSON Schema of a request: one row, or a list of them."""
    listed = {"type": "array", "items": _reference(name), "minItems": 1, "maxItems": most}
    many = {"type": "object", "properties": {"rows": listed, **more}, "required": ["rows"]}
    return {"oneOf": [_reference(name), many | {"additionalProperties": False}]}


def _answers(name: str, plural: str) -> JsonObject:
    """Return the JSON Schema of the answer to one row, or to a list of them."""
    many = {
        "type": "object",
        "properties": {plural: {"type": "array", "items": _reference(name)}},
        "required": [plural],
    }
    many["properties"] = {**many["properties"], "revision": {"type": "integer"}}  # type: ignore[dict-item]
    return {"anyOf": [many, _with_revision(name)]}


def openapi_document(snapshot: Snapshot, prefix: str, learning: bool, most_rows: int) -> JsonObject:
    """Return the OpenAPI document of one model, whose operations are under a prefix."""
    label: JsonObject = {"against": label_schema(snapshot, or_none=True)}
    labels: JsonObject = {"labels": {"type": "array", "items": label_schema(snapshot)}}
    csv: JsonObject = {"text/csv": {"schema": {"type": "string"}}}
    answers = _json(_answers("Answer", "answers"))
    predict = _operation("Answer rows", "predict", answers, _json(_rows("Row", most_rows, {})))
    explain = _operation(
        "Explain the answers to rows by contributions that add up",
        "explain",
        _json(_answers("Explanation", "explanations")),
        _json(_rows("Row", most_rows, label)),
    )
    file = _operation("Answer the rows of a CSV file", "file", csv, csv)
    file["parameters"] = _file_options()
    paths: JsonObject = {
        f"{prefix}/model": {"get": _operation("Describe the model", "model", _json({"type": "object"}))},
        f"{prefix}/predict": {"post": predict},
        f"{prefix}/explain": {"post": explain},
        f"{prefix}/file": {"post": file},
        "/healthz": {"get": {"summary": "Tell that the server is there", "operationId": "health"}},
    }
    paths["/healthz"]["get"]["responses"] = {"200": {"description": "It is.", "content": _json({"type": "object"})}}
    schemas = {
        "Row": row_schema(snapshot),
        "Answer": answer_schema(snapshot),
        "Explanation": explanation_schema(snapshot),
        "Problem": PROBLEM,
    }
    if learning:
        schemas["LabelledRow"] = row_schema(snapshot, labelled=True)
        body, good = _json(_rows("LabelledRow", most_rows, labels)), _json({"type": "object"})
        paths[f"{prefix}/learn"] = {"post": _operation("Learn rows", "learn", good, body)}
        paths[f"{prefix}/forget"] = {"post": _operation("Forget rows that were learned", "forget", good, body)}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Naively: {snapshot.name}", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _file_options() -> Sequence[JsonObject]:
    """Return the options in the address of an upload."""
    flag: JsonObject = {"type": "string", "enum": ["true", "false"]}
    options = {
        "probabilities": flag | {"description": "Add P(class) for each class; true by default."},
        "only": flag | {"description": "Leave out the columns of the file."},
        "why": {"type": "integer", "minimum": 0, "maximum": 1000, "description": "Name so many contributions."},
        "prefix": {"type": "string", "maxLength": 100, "description": "Put before the names of the added columns."},
    }
    return [{"name": name, "in": "query", "schema": schema} for name, schema in options.items()]
