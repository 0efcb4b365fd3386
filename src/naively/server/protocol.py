"""HTTP connections that do not wait for slow clients: those that send or take too little are cut off.

uvicorn has no limit of time for headers, nor for a client that takes no answer. Once a second, `SlowClients.sweep`
looks at what each connection waits for, and for how long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from .limits import Limits
from .problems import MEDIA_TYPE, Problem


class HttpConnection(Protocol):
    """What is looked at in a connection of uvicorn; both of its implementations have it."""

    cycle: Any  # the request and its answer; None before the first
    flow: Any  # whether the client takes what is sent
    transport: asyncio.Transport
    received: int  # bytes that came
    taken: int  # how often the client took all that waited to be sent


class ClientWait(NamedTuple):
    """What a connection waits for, since when, and how far it was."""

    what: str
    request: int
    since: float
    received: int  # bytes when it began to wait
    progress: tuple[int, int, int]  # at the last look
    moved: float  # when that changed last


def protocol_class() -> type[asyncio.Protocol]:
    """Return the protocol of uvicorn, by httptools if that is installed, that counts what comes and goes."""
    base: Any
    if find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        base = HttpToolsProtocol
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        base = H11Protocol

    class CountingProtocol(base):  # type: ignore[misc]
        """Counts what comes and goes."""

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
    limits : Limits
        How long that is.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seen: dict[HttpConnection, ClientWait] = {}

    def sweep(self, connections: Iterable[HttpConnection], now: float) -> int:
        """Look at all connections, and return how many were cut off."""
        seen, cut = dict[HttpConnection, ClientWait](), 0
        for connection in list(connections):
            wait = self._look(connection, now)
            if wait is None:
                continue
            if self._is_too_slow(wait, now):
                cut_off(connection, wait)
                cut += 1
            else:
                seen[connection] = wait
        self._seen = seen
        return cut

    def _look(self, connection: HttpConnection, now: float) -> ClientWait | None:
        """Return what a connection waits for; None if for the server."""
        what = awaited(connection)
        if what is None:
            return None
        before, request = self._seen.get(connection), id(connection.cycle)
        progress = connection.received, connection.taken, connection.transport.get_write_buffer_size()
        if before is None or (before.what, before.request) != (what, request):
            return ClientWait(what, request, now, connection.received, progress, now)
        return before._replace(progress=progress, moved=now if progress != before.progress else before.moved)

    def _is_too_slow(self, wait: ClientWait, now: float) -> bool:
        limits, waited = self.limits, now - wait.since
        if wait.what == "headers":
            return waited > limits.header_seconds
        if now - wait.moved > limits.stalled_seconds:
            return True
        enough = limits.slowest * (waited - limits.stalled_seconds)
        return wait.what == "body" and wait.progress[0] - wait.received < enough


def awaited(connection: HttpConnection) -> str | None:
    """Return what a connection waits for from its client: headers, a body, or that it reads the answer."""
    cycle = connection.cycle
    if connection.flow.write_paused or connection.transport.is_closing():
        return "reader"
    if cycle is None or cycle.response_complete:
        return "headers"
    return "body" if cycle.more_body and not cycle.response_started else None


def cut_off(connection: HttpConnection, wait: ClientWait) -> None:
    """End a connection; a client that began a request is told why."""
    if wait.what == "headers" and connection.received:
        connection.transport.write(TOO_SLOW)
        connection.transport.close()
    else:
        connection.transport.abort()


def _plain_answer(problem: Problem) -> bytes:
    """Return a problem as bytes, for a connection whose request is not known yet."""
    content = problem.content()
    head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(content)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + content


TOO_SLOW = _plain_answer(Problem(408, "The headers of the request came too slowly."))
