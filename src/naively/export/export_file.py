"""A model as a file of any format: that of the name's ending, or a given one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..errors import InvalidSetting
from ..errors.message import Setting
from .exported import HasFlat
from .javascript_module import javascript, json
from .onnx_model import onnx
from .pmml_file import pmml
from .sql_query import sql

SUFFIXES = {
    ".onnx": "onnx",
    ".sql": "sql",
    ".pmml": "pmml",
    ".js": "javascript",
    ".mjs": "javascript",
    ".json": "json",
}


WRITERS: dict[str, Callable[..., object]] = {
    "onnx": onnx,
    "sql": sql,
    "pmml": pmml,
    "javascript": javascript,
    "json": json,
}


def write(model: HasFlat, path: str | PathLike[str], *, format: str | None = None, **settings: Any) -> Path:  # noqa: A002
    """Write a model to a file that other programs read, in the format that the name of the file ends with.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path
        The file: .onnx, .sql, .pmml, .js, .mjs or .json. It is replaced if it exists, when the new one is complete.
    format : {"onnx", "sql", "pmml", "javascript", "json"}, optional
        The format; by default the one that the name ends with.
    **settings : object
        Settings of the format, such as `dialect` of `sql`.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    InvalidInput
        If the format cannot hold the model.
    InvalidSetting
        If no format has such a name.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
    >>> nv.export.write(nb, pathlib.Path(tempfile.mkdtemp()) / "weather.mjs").name
    'weather.mjs'
    """
    WRITERS[format_of(path, format)](model, path, **settings)
    return Path(path)


def format_of(path: str | PathLike[str], name: str | None = None) -> str:
    """Return the format of a file: a given one, or that of the ending of its name."""
    if name is not None:
        if name not in WRITERS:
            raise InvalidSetting(Setting("format", name), f" is no format of models; there are {', '.join(WRITERS)}.")
        return name
    ending = Path(path).suffix.lower()
    if ending not in SUFFIXES:
        raise InvalidSetting(
            f"{fspath(path)!r} does not end with a format of models: {', '.join(SUFFIXES)}. Name the file so, or give ",
            Setting("format", "sql"),
            ".",
        )
    return SUFFIXES[ending]
