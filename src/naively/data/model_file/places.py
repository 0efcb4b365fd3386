"""Where a model file lies: at a path, in an open file, or at a URL of another file system, by fsspec."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

from ...errors import InvalidInput, UnwritableFile

# A path, a URL such as "s3://bucket/model.parquet", or an open file of bytes.
ModelPlace: TypeAlias = str | os.PathLike[str] | IO[bytes]


class Refused(Exception):
    """What is wrong with a file, in words for its user, who knows which file it is."""


def place_name(place: ModelPlace) -> str:
    """Return what a place is called in messages."""
    if isinstance(place, str | os.PathLike):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else f"<{type(place).__name__}>"


def is_url(place: ModelPlace) -> bool:
    """Tell whether a place is a URL, and not a path: paths of Windows have a colon, too."""
    return isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.:-]+://", place) is not None


def read_place(place: ModelPlace) -> bytes:
    """Return all bytes of a model file."""
    try:
        if is_url(place):
            system, path = _file_system(str(place))
            found: bytes = system.cat_file(path)
            return found
        if not isinstance(place, str | os.PathLike):
            data = place.read()
            if not isinstance(data, bytes):
                raise Refused("the file is open for text; open it in mode 'rb'.")
            return data
        file = Path(place)
        if file.exists() and not file.is_file():
            raise Refused("it is a folder or a device; give the path of a file.")
        return file.read_bytes()
    except FileNotFoundError:
        raise Refused("there is no such file; check the path.") from None
    except OSError as error:
        raise Refused(f"{error.strerror or error}; check the path, and whether you may read it.") from None


def write_place(place: ModelPlace, data: bytes) -> None:
    """Write a model file, whole or not at all; an open file gets all bytes in one call."""
    if is_url(place):
        system, path = _file_system(str(place))
        system.pipe_file(path, data)
    elif isinstance(place, str | os.PathLike):
        replace_file(Path(os.path.realpath(place)), data)
    else:
        try:
            place.write(data)
        except TypeError:
            raise InvalidInput("the file is open for text; open it in mode 'wb'.") from None


@contextlib.contextmanager
def unwritable(place: ModelPlace) -> Iterator[None]:
    """Say of errors that they are about writing this file."""
    try:
        yield
    except InvalidInput as error:
        raise UnwritableFile(place_name(place), error.message) from error
    except FileNotFoundError as error:
        raise UnwritableFile(place_name(place), "its folder does not exist; create it, or choose another.") from error
    except OSError as error:
        why = f"{error.strerror or error}; choose a place with room where you may write."
        raise UnwritableFile(place_name(place), why) from error


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path on it."""
    try:
        import fsspec
    except ImportError:
        raise InvalidInput(
            f"{url!r} is a URL, which fsspec reads. Install it: pip install 'naively[fsspec]', and the package of the "
            "file system, such as s3fs or gcsfs."
        ) from None
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # it names the package to install, or the protocols there are
        raise InvalidInput(f"{str(error).rstrip('.')}.") from None
    return found


def replace_file(path: Path, data: bytes) -> None:
    """Put the data at the path in one step: whoever opens it finds the old file or the new one, never a part."""
    if path.is_dir():
        raise InvalidInput("that is a folder; add the name of a file.")
    made = path.with_name(f".naively-{secrets.token_hex(8)}.tmp")
    try:
        with made.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, made)  # whoever might read the old file may read the new one, and nobody else
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the new name outlives a power cut
        finally:
            os.close(folder)
