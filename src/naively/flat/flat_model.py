"""The flat model as a value: columns, terms and tables; as JSON, with its arrays in base64."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from os import PathLike

import numpy as np

from .._types import AnyArray, Json, JsonObject

FORMAT, VERSION = "naively flat model", 1
# Kinds of terms whose tables hold scores, which single precision is enough for.
ROUNDED = frozenset({"table", "pair", "triple", "words"})
# Rounded scores are multiples of this: a packed page is a twentieth smaller, and small scores lose nothing that counts.
SCORE_STEP = 2.0**-24
TYPES = {"f": "f8", "i": "i4", "u": "u1", "b": "u1"}  # by the kind of an array's numbers


@dataclass(frozen=True)
class FlatModel:
    """Everything that is needed to score a row by looking values up, as plain data.

    `nb.flat()` returns it. The page on the flat model describes the format field by field, with a scorer of a few lines
    of plain Python.

    Parameters
    ----------
    content : dict
        The fields of the format, arrays as arrays of NumPy.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(model="textbook").fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
    >>> flat = nb.flat().to_json()
    >>> flat["classes"], [column["name"] for column in flat["columns"]]
    (['in', 'out'], ['sky'])
    """

    content: JsonObject

    def to_json(self, *, single: bool = False) -> JsonObject:
        """Return the model as what `json.dumps` takes.

        Parameters
        ----------
        single : bool, default=False
            Whether tables of scores are rounded to single precision, in half the room.

        Returns
        -------
        dict
            The fields of the format; arrays are dicts of shape, type and data.
        """
        content: JsonObject = encoded(self.content, single)
        return content

    def json(self, *, single: bool = False) -> str:
        """Return the model as the text of a JSON file.

        Parameters
        ----------
        single : bool, default=False
            Whether tables of scores are rounded to single precision, in half the room.

        Returns
        -------
        str
            One JSON object, without blanks.
        """
        return json.dumps(self.to_json(single=single), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def save(self, path: str | PathLike[str], *, single: bool = False) -> None:
        """Write the model to a JSON file.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.
        single : bool, default=False
            Whether tables of scores are rounded to single precision, in half the room.

        Raises
        ------
        UnwritableFile
            If the file cannot be written.

        Examples
        --------
        >>> import json, pathlib, tempfile
        >>> import naively as nv
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "flat.json"
        >>> nv.NaiveBayes().fit({"sky": ["rain", "sun"]}, ["in", "out"]).flat().save(path)
        >>> json.loads(path.read_text(encoding="utf-8"))["format"]
        'naively flat model'
        """
        save_bytes(path, self.json(single=single).encode("utf-8"))


def save_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write a file, which is replaced only when the new one is complete."""
    from ..data.model_file.file import unwritable, write_place  # which imports much

    with unwritable(path):
        write_place(path, data)


def encoded(value: Json, single: bool) -> Json:
    """Return a value of a flat model as JSON has it; only tables of scores may be rounded."""
    if isinstance(value, dict):
        exact = "kind" in value and value["kind"] not in ROUNDED
        return {name: encoded(part, single and not exact) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(part, single) for part in value]
    if isinstance(value, np.ndarray):
        kind = TYPES[value.dtype.kind]
        if single and kind == "f8" and value.ndim > 1:
            return array_json(np.round(value / SCORE_STEP) * SCORE_STEP, "f4")
        return array_json(value, kind)
    return value


def array_json(values: AnyArray, kind: str) -> Json:
    """Return an array as a dict of its shape, its type and its numbers, little endian, in base64; [] if it is empty."""
    if not values.size:
        return []
    data = b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode("ascii")
    return {"shape": list(values.shape), "type": kind, "data": data}
