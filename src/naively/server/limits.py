"""What a request may cost the server: bytes, rows, cells, seconds, and how many requests at once."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Parameters
    ----------
    body : int
        Bytes of one JSON request.
    buffered : int
        Bytes of all JSON requests that are being read or answered.
    rows, cells : int
        Rows and cells of one JSON request.
    file : int
        Bytes of one uploaded file.
    file_rows, file_columns, file_cells : int
        Lines and columns of an uploaded file, and how many cells these are.
    uploads : int
        Files that are received or answered at once.
    header_seconds, body_seconds : float
        Seconds until the headers of a request are there, and until its JSON is.
    file_seconds : float
        Seconds until an uploaded file is answered.
    stalled_seconds : float
        Seconds in which a client may send or take nothing; after these it also has to send `slowest` bytes a second.
    slowest : int
        Bytes a second that a client has to send on average.
    connections : int
        Connections at once.
    shutdown_seconds : float
        Seconds that requests have to end after SIGTERM.
    """

    body: int = 8 * MEBIBYTE
    buffered: int = 64 * MEBIBYTE
    rows: int = 10_000
    cells: int = 1_000_000
    file: int = 1024 * MEBIBYTE
    file_rows: int = 10_000_000
    file_columns: int = 20_000
    file_cells: int = 500_000_000
    uploads: int = 2
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    file_seconds: float = 600.0
    stalled_seconds: float = 10.0
    slowest: int = 1024
    connections: int = 512
    shutdown_seconds: float = 30.0
