"""ONNX models, run by onnxruntime on rows that Python holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naively as nv

from .flat_cases import plain_rows

pytest.importorskip("onnx", reason="needs onnx: pip install 'naively[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def session_of(model: Any) -> Any:
    """Return what runs a model, in one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def props_of(model: Any) -> dict[str, str]:
    """Return the metadata of a model."""
    return {prop.key: prop.value for prop in model.metadata_props}


def facts_of(model: Any) -> dict[str, Any]:
    """Return what a model says of its columns, by name."""
    return {column["name"]: column for column in json.loads(props_of(model)["columns"])}


def inputs_of(model: Any, rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return rows as the inputs of a model, by nothing but what it says of itself."""
    found = {}
    for name, column in facts_of(model).items():
        if column["input"] == "string":
            cells = [column["missing"] if row.get(name) is None else str(row[name]) for row in rows]
            found[name] = np.array(cells, dtype=object).reshape(-1, 1)
        else:
            numbers = [np.nan if row.get(name) is None else float(row[name]) for row in rows]
            found[name] = np.array(numbers, dtype=np.float64).reshape(-1, 1)
    return found


def answers(model: Any, rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the label and the probabilities of rows."""
    label, probabilities = session_of(model).run(None, inputs_of(model, rows))
    return label, probabilities


def assert_same_answers(nb: nv.NaiveBayes, rows: Any) -> Any:
    """Check that ONNX gives the probabilities and the classes of a model, and return the ONNX model."""
    model = nv.export.onnx(nb)
    label, found = answers(model, plain_rows(rows) if isinstance(rows, pd.DataFrame) else rows)
    expected = nb.predict_proba(rows)
    assert found.dtype == np.float64
    assert np.abs(found - expected).max() < 1e-9
    # Where two classes are equal but for rounding, either may be chosen.
    last = np.sort(expected, axis=1)[:, -2:]
    clear = np.ones(len(last), dtype=bool) if expected.shape[1] == 1 else last[:, 1] - last[:, 0] > 1e-12
    assert (np.asarray(label)[clear] == nb.predict(rows)[clear]).all()
    return model


def spoiled(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a table with missing cells, categories that are new and numbers that are far out."""
    random, found = np.random.default_rng(seed), {}
    for name in table:
        column, is_number = table[name].astype(object).to_numpy(copy=True), pd.api.types.is_numeric_dtype(table[name])
        odd = (1e12 if pd.api.types.is_float_dtype(table[name]) else 987654) if is_number else "never seen"
        column[random.random(len(column)) < 0.03] = odd
        column[random.random(len(column)) < 0.1] = None
        found[name] = pd.Series(column).astype(float if is_number else object)
    return pd.DataFrame(found)
