"""Counts of single files, kept in a folder: a file is read again only if it changed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from .._types import Json, JsonObject
from ..data import model_file
from ..data.column import FamilySettings
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting, UnreadableFile
from ..errors.message import Setting
from .files import FileRows

# What makes kept counts useless when it changes, and the pieces of a file that are looked at to see whether it did.
FORMAT = 3
PIECES, PIECE = 16, 1 << 16
# A file that was being written when its process was killed is swept away after so many seconds.
STALE = 3600.0


class CountsCache:
    """A folder with the counts of files that were counted in one and the same way.

    What is kept beside the counts follows from some settings, which are given as plain data.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        rows: FileRows,
        families: FamilySettings | Schema | None,
        beside: JsonObject | None = None,
        pairs: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        how = counting_settings(rows, families) | (beside or {})
        place = self.folder / "schema.json"
        if place.exists():
            said = self._read(place)
            check_same_settings(self.folder, said["how"], how)
            self.schema = Schema.from_json(said["schema"])
        else:
            self.schema = rows.schema(families, pairs)
            text = json.dumps({"how": how, "schema": self.schema.to_json()}, indent=1, ensure_ascii=False)
            model_file.replace_file(place, text.encode())
        rows.asked = families or ()
        self.mark = sha256_of(json.dumps([FORMAT, how, self.schema.to_json()]).encode())

    def _read(self, place: Path) -> Json:
        try:
            return json.loads(place.read_text(encoding="utf-8"))
        except (ValueError, OSError) as error:
            raise UnreadableFile(place, f"it is not what Naively wrote ({error}); delete the folder.") from None

    def _sweep(self) -> None:
        """Remove what a killed process was writing."""
        for left in self.folder.glob(".naively-*.tmp"):
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink(missing_ok=True)

    def place(self, path: str) -> Path:
        """Return where the counts of a file are kept."""
        whole = str(Path(path).resolve())
        return self.folder / f"{Path(path).name}-{sha256_of(whole.encode())[:16]}.parquet"

    def find(self, path: str) -> model_file.StoredModel | None:
        """Return what is kept of a file, if it is there and the file is as it was."""
        place = self.place(path)
        if not place.exists():
            return None
        try:
            result = model_file.read_model(place)
        except UnreadableFile:
            return None  # counted anew
        same = result.about.get("mark") == self.mark and result.about.get("file") == file_fingerprint(path)
        return result if same else None

    def entry(self, path: str, noted: JsonObject, before: JsonObject) -> JsonObject:
        """Return what is written beside the counts of a file, unless it changed while it was read."""
        if file_fingerprint(path) != before:
            raise InvalidInput(
                f"{path} changed while it was read. Wait until it is whole, and count it again.", path=path
            )
        return {"mark": self.mark, "file": before, "noted": noted}


def counting_settings(rows: FileRows, families: FamilySettings | Schema | None) -> JsonObject:
    """Return all that decides what is counted, as plain data."""
    file = rows.source
    if file.limit is not None:
        raise InvalidSetting(
            Setting("limit"),
            " counts a part of the files, and ",
            Setting("keep_counts"),
            " each of them whole; give only one.",
        )
    if "-" in file.paths:
        raise InvalidSetting(
            "Counts are kept for files that can be found again; what is piped in has no name.", setting="keep_counts"
        )
    names = ("format", "table", "query", "decimal", "thousands", "delimiter", "encoding")
    asked = families.to_json() if isinstance(families, Schema) else {n: repr(f) for n, f in (families or {}).items()}
    plain = {"target": rows.of_target, "weight": rows.weight, "ignore": sorted(rows.ignore), "families": asked}
    options = {name: getattr(file, name) for name in names} | {"types": dict(file.types or {})}
    options["null"] = None if file.null is None else list(file.null)
    return plain | {"unlabelled": rows.unlabelled} | options


def check_same_settings(folder: Path, then: Mapping[str, Json], now: Mapping[str, Json]) -> None:
    """Refuse to add counts that were made in another way."""
    for name, value in now.items():
        if then.get(name) != value:
            raise InvalidSetting(
                f"{str(folder)!r} keeps counts with ",
                Setting(name, then.get(name)),
                ", and now ",
                Setting(name, value),
                ". Use the same, or another folder.",
                setting=name,
                value=value,
                path=str(folder),
            )


def file_fingerprint(path: str) -> JsonObject:
    """Return what tells whether a file changed: its size, its time, and a hash of pieces all over it."""
    place = Path(path)
    stat = place.stat()
    result = hashlib.sha256()
    with place.open("rb") as file:
        for index in range(PIECES):
            file.seek(index * max(stat.st_size - PIECE, 0) // (PIECES - 1))
            result.update(file.read(PIECE))
    return {
        "path": os.path.realpath(path),
        "size": stat.st_size,
        "time": stat.st_mtime_ns,
        "sha256": result.hexdigest(),
    }


def sha256_of(data: bytes) -> str:
    """Return a hash of some bytes."""
    return hashlib.sha256(data).hexdigest()
