"""Connections whose clients send or take too little are cut off.

uvicorn has no time limit for headers, nor for a client that takes no response. Once a second, `SlowClients.sweep`
checks what each connection waits for, and since when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from .exchange import PROBLEM, Problem
from .settings import ServerSettings


class HttpConnection(Protocol):
    """What is read of a connection of uvicorn; both of its implementations have it."""

    cycle: Any  # the request and its response; None before the first
    flow: Any  # whether the client takes what is sent
    transport: asyncio.Transport
    received: int  # bytes that came
    taken: int  # how often the client took all that waited to be sent


class ClientWait(NamedTuple):
    """What a connection waits for, since when, and how far it was."""

    what: tuple[str, int]  # "headers", "body" or "reader", and the request
    since: float
    received: int  # bytes when it began to wait
    progress: tuple[int, int, int]  # at the last sweep
    moved: float  # when that changed last


def protocol_class() -> type[asyncio.Protocol]:
    """Return the protocol of uvicorn, by httptools if that is installed, that counts what arrives and is taken."""
    base: Any
    if find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        base = HttpToolsProtocol
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        base = H11Protocol

    class CountingProtocol(base):  # type: ignore[misc]
        """Counts bytes that arrive, and how often the client took all that was sent."""

        received = taken = 0

        def data_received(self, data: bytes) -> None:
            """Take bytes."""
            self.received += len(data)
            super().data_received(data)

        def resume_writing(self) -> None:
            """Go on, because the client took what waited."""
            self.taken += 1
            super().resume_writing()

    return CountingProtocol


class SlowClients:
    """Cuts off connections that wait too long for their clients.

    Parameters
    ----------
    settings : ServerSettings
        How long that is.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._waits: dict[HttpConnection, ClientWait] = {}

    def sweep(self, connections: Iterable[HttpConnection], now: float) -> int:
        """Check all connections, and return how many were cut off."""
        waits, cut = dict[HttpConnection, ClientWait](), 0
        for connection in list(connections):
            what = awaited(connection)
            if what is None:
                continue
            progress = connection.received, connection.taken, connection.transport.get_write_buffer_size()
            wait = self._waits.get(connection)
            if wait is None or wait.what != (what, id(connection.cycle)):
                wait = ClientWait((what, id(connection.cycle)), now, connection.received, progress, now)
            elif progress != wait.progress:
                wait = wait._replace(progress=progress, moved=now)
            if self._is_too_slow(wait, now):
                cut_off(connection, what)
                cut += 1
            else:
                waits[connection] = wait
        self._waits = waits
        return cut

    def _is_too_slow(self, wait: ClientWait, now: float) -> bool:
        (what, _), timeout, waited = wait.what, self.settings.timeout, now - wait.since
        if what == "headers":
            return waited > timeout
        enough = self.settings.slowest * (waited - timeout)
        return now - wait.moved > timeout or (what == "body" and wait.progress[0] - wait.received < enough)


def awaited(connection: HttpConnection) -> str | None:
    """Return what a connection waits for: headers, a body, or that the client reads; None if for the server."""
    cycle = connection.cycle
    if connection.flow.write_paused or connection.transport.is_closing():
        return "reader"
    if cycle is None or cycle.response_complete:
        return "headers"
    return "body" if cycle.more_body and not cycle.response_started else None


def cut_off(connection: HttpConnection, what: str) -> None:
    """End a connection; a client that began a request is told why."""
    if what != "headers" or not connection.received:
        connection.transport.abort()
        return
    content = Problem(408, "The headers of the request came too slowly.").content()
    head = f"content-type: {PROBLEM}\r\ncontent-length: {len(content)}\r\nconnection: close"
    connection.transport.write(f"HTTP/1.1 408 Request Timeout\r\n{head}\r\n\r\n".encode() + content)
    connection.transport.close()
