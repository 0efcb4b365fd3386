"""The settings of a server, and what a request may cost it: bytes, rows, cells, seconds, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class ServerSettings:
    """How models are served.

    Parameters
    ----------
    host, port : str and int
        Where the server listens; port 0 is any that is free.
    token : str, optional
        What requests have to know; needed unless the host is this machine.
    allow_hosts : tuple of str
        More names that the Host header may have.
    learn : Path, optional
        The write-ahead file, or its folder.
    save_every : float, optional
        Seconds between two saves of learned rows in the model's file, in addition to that on shutdown.
    rebase : bool
        Whether rows of another model in the write-ahead file are counted over this one.
    new_classes : bool
        Whether rows of new classes may be learned.
    language : str
        The language of the pages: "en" or "zh".
    log : Path, optional
        The file of the log; by default stderr.
    quiet : bool
        Whether the log leaves out requests that succeeded.
    body, buffered : int
        Bytes of one JSON request, and of all that are being read or predicted.
    rows, cells : int
        Rows and cells of one JSON request.
    file, file_rows, file_columns, file_cells : int
        Bytes, lines, columns and cells of one uploaded file.
    uploads : int
        Files that are received or predicted at once.
    body_seconds, file_seconds : float
        Seconds until the body of a JSON request is there, and until an uploaded file is predicted.
    timeout : float
        Seconds until the headers of a request are there, and in which a client may send or take nothing; after these
        it also has to send `slowest` bytes a second.
    slowest : int
        Bytes a second that a client has to send on average.
    connections : int
        Connections at once.
    shutdown_seconds : float
        Seconds that requests have to end after SIGTERM.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    allow_hosts: tuple[str, ...] = ()
    learn: Path | None = None
    save_every: float | None = None
    rebase: bool = False
    new_classes: bool = False
    language: str = "en"
    log: Path | None = None
    quiet: bool = False
    body: int = 8 * MEBIBYTE
    buffered: int = 64 * MEBIBYTE
    rows: int = 10_000
    cells: int = 1_000_000
    file: int = 1024 * MEBIBYTE
    file_rows: int = 10_000_000
    file_columns: int = 20_000
    file_cells: int = 500_000_000
    uploads: int = 2
    body_seconds: float = 30.0
    file_seconds: float = 600.0
    timeout: float = 10.0
    slowest: int = 1024
    connections: int = 512
    shutdown_seconds: float = 30.0
