"""Models for other programs: a flat model comes in, SQL, PMML, ONNX, JavaScript or JSON goes out.

`formulas.py` turns the flat model into formulas, which SQL, PMML and ONNX write in their own languages. Imports `flat`
and below; libraries that a format needs are imported when it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..errors import InvalidSetting
from ..errors.message import Setting
from .flat_file import HasFlat, javascript, json
from .onnx_model import onnx
from .pmml_file import pmml
from .sql_query import sql

__all__ = ["javascript", "json", "onnx", "pmml", "sql", "write"]

SUFFIXES = {
    ".onnx": "onnx",
    ".sql": "sql",
    ".pmml": "pmml",
    ".js": "javascript",
    ".mjs": "javascript",
    ".json": "json",
}
WRITERS: dict[str, Callable[..., object]] = {write.__name__: write for write in (onnx, sql, pmml, javascript, json)}


def write(model: HasFlat, path: str | PathLike[str], *, format: str | None = None, **settings: Any) -> Path:  # noqa: A002
    """Write a model to a file that other programs read, in the format of its extension.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path
        The file: .onnx, .sql, .pmml, .js, .mjs or .json. It is replaced if it exists, when the new one is complete.
    format : {"onnx", "sql", "pmml", "javascript", "json"}, optional
        The format; by default that of the file extension.
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
    """Return the format of a file: a given one, or that of its extension."""
    if name is not None:
        if name not in WRITERS:
            formats = ", ".join(WRITERS)
            raise InvalidSetting(Setting("format", name), f" is not a format of models; there are {formats}.")
        return name
    ending = Path(path).suffix.lower()
    if ending not in SUFFIXES:
        raise InvalidSetting(
            f"{fspath(path)!r} does not end with a format of models: {', '.join(SUFFIXES)}. Rename the file, or give ",
            Setting("format", "sql"),
            ".",
        )
    return SUFFIXES[ending]
