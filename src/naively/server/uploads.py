"""CSV in, CSV with answers out: a file is received into a temporary folder, answered block by block, and removed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.datastructures import QueryParams
from starlette.types import Receive, Send

from ..errors import InvalidInput
from ..estimator.predict_files import AnswerColumns, answered_blocks
from ..files.file import File
from ..files.writer import csv_parts
from .bodies import ClientGone, body_parts
from .guard import Headers
from .limits import Limits
from .problems import Problem, problem_of_error
from .replies import NOTHING, SECURITY
from .served_model import Snapshot

# Bytes that are written to the disk at once, and sent at once.
WRITTEN, SENT = 1 << 20, 1 << 16
# Beginnings of files that are packed, or are no text: a small one could be unpacked to a huge one.
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"PAR1", b"ARROW1")
DELIMITERS = (b",", b";", b"\t", b"|")
SHOWN = "The file"

CsvPart = tuple[bytes, int]  # some lines, and how many rows they are


@dataclass
class UploadCheck:
    """Counts the lines and cells of a file while it comes in."""

    limits: Limits
    lines: int = 0
    columns: int = 0
    first: bytes = field(default=b"", repr=False)

    def add(self, part: bytes) -> None:
        """Count some bytes; too many lines or cells are a problem."""
        if not self.columns:
            self._look_at_first_line(part)
        self.lines += part.count(b"\n")
        if self.lines > self.limits.file_rows + 1:
            raise Problem(413, f"The file has more than {self.limits.file_rows:,} lines; send it in parts.")
        if self.lines * self.columns > self.limits.file_cells:
            raise Problem(413, f"The file has more than {self.limits.file_cells:,} cells; send it in parts.")

    def _look_at_first_line(self, part: bytes) -> None:
        """Refuse what is no text, and count the columns."""
        self.first += part
        if self.first.startswith(PACKED):
            raise Problem(415, "The file is packed, or no text; send plain CSV.", {"accept": "text/csv"})
        line, end, _ = self.first.partition(b"\n")
        if end or len(self.first) > WRITTEN:
            self.columns, self.first = 1 + max(line.count(sign) for sign in DELIMITERS), b""
        if self.columns > self.limits.file_columns:
            raise Problem(413, f"The file has more than {self.limits.file_columns:,} columns.")


def answer_columns(query: QueryParams, snapshot: Snapshot) -> AnswerColumns:
    """Return which columns are added, by the options in an address."""
    known = {"probabilities": ("true", "false"), "only": ("true", "false")}
    for name, value in query.items():
        if name not in (*known, "why", "prefix"):
            raise Problem(400, f"There is no option {name[:100]!r}; the options are probabilities, only, why, prefix.")
        if value not in known.get(name, (value,)):
            raise Problem(400, f"The option {name} is {value[:100]!r}; give true or false.")
    why = query.get("why", "0")
    if not (why.isascii() and why.isdigit() and int(why[:6]) <= 1000):
        raise Problem(400, f"The option why is {why[:100]!r}; give the number of contributions to name.")
    parameters = snapshot.fitted.parameters
    return AnswerColumns(
        probabilities=query.get("probabilities", "true") == "true",
        cost=parameters.cost is not None or parameters.reject is not None,
        why=int(why),
        only=query.get("only", "false") == "true",
        prefix=query.get("prefix", "")[:100],
    )


class Uploads:
    """Receives and answers files, a few at once.

    Parameters
    ----------
    limits : Limits
        How large files may be, and how many.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.running = limits, 0
        self.threads = CapacityLimiter(2 * limits.uploads)

    async def answer(
        self, snapshot: Snapshot, query: QueryParams, headers: Headers, receive: Receive, send: Send
    ) -> int:
        """Receive a file, send it back with its answers, and return how many rows there were."""
        wanted = answer_columns(query, snapshot)
        if self.running >= self.limits.uploads:
            detail = f"{self.running} files are being answered, as many as this server takes at once; try again."
            raise Problem(429, detail, {"retry-after": "5"})
        self.running += 1
        try:
            with tempfile.TemporaryDirectory(prefix="naively-upload-", ignore_cleanup_errors=True) as folder:
                path = Path(folder) / "upload.csv"
                await self._receive(path, receive, headers)
                async with asyncio.timeout(self.limits.file_seconds):
                    return await self._answer(snapshot, path, wanted, receive, send)
        except TimeoutError:
            raise Problem(408, f"The answer took more than {self.limits.file_seconds:g} seconds.") from None
        finally:
            self.running -= 1

    async def _receive(self, path: Path, receive: Receive, headers: Headers) -> None:
        """Write the body to a file."""
        check, waiting, size = UploadCheck(self.limits), list[bytes](), 0
        with path.open("xb") as sink:
            async for part in body_parts(receive, headers, self.limits.file, self.limits.file_seconds):
                check.add(part)
                waiting.append(part)
                size += len(part)
                if size >= WRITTEN:
                    await to_thread.run_sync(sink.writelines, waiting, limiter=self.threads)
                    waiting, size = [], 0
            sink.writelines(waiting)
        if not path.stat().st_size:
            raise Problem(422, "The file is empty; its first line names the columns.")

    async def _answer(self, snapshot: Snapshot, path: Path, wanted: AnswerColumns, receive: Receive, send: Send) -> int:
        """Send the answers, from the first block on; an error in the first is a problem, later it ends the stream."""
        parts, rows = self._parts(snapshot, path, wanted), 0
        gone = asyncio.ensure_future(receive())  # comes when the client closes the connection
        try:
            waiting = [await self._next(parts), await self._next(parts)]  # the line of names, and the first rows
            await send({"type": "http.response.start", "status": 200, "headers": CSV_HEADERS})
            while (part := waiting.pop(0)) is not None:
                for at in range(0, len(part[0]), SENT):
                    await send({"type": "http.response.body", "body": part[0][at : at + SENT], "more_body": True})
                    if gone.done():
                        raise ClientGone
                rows += part[1]
                waiting = waiting or [await self._next(parts)]
            await send({"type": "http.response.body", "body": b""})
            return rows
        except InvalidInput as error:
            raise problem_of_error(error, shown={str(path): SHOWN}) from None
        finally:
            gone.cancel()
            with CancelScope(shield=True):
                await to_thread.run_sync(parts.close, limiter=self.threads)

    async def _next(self, parts: Iterator[CsvPart]) -> CsvPart | None:
        """Return the next part; threads of their own make it."""
        return await to_thread.run_sync(lambda: next(parts, None), limiter=self.threads)

    @staticmethod
    def _parts(snapshot: Snapshot, path: Path, wanted: AnswerColumns) -> Generator[CsvPart, None, None]:
        """Yield the parts of the answer; closing this ends the threads that make them."""
        with closing(answered_blocks(snapshot.fitted, File(path, format="csv"), wanted)) as blocks:
            yield from csv_parts(blocks)


CSV_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {
        **SECURITY,
        "content-security-policy": NOTHING,
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": 'attachment; filename="answers.csv"',
    }.items()
]
