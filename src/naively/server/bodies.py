"""Reads the bodies of requests within their limits, which act while bytes come in and not afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.types import Receive

from .guard import Headers
from .limits import Limits
from .problems import Problem


class ClientGone(Exception):
    """The client closed the connection; nobody waits for an answer."""


def announced_length(headers: Headers, most: int) -> int | None:
    """Return how many bytes a request says it has; too many are refused before the first is read."""
    given = headers.get(b"content-length")
    if given is None:
        return None
    if not given.isdigit():
        raise Problem(400, "The header Content-Length is not a number.")
    length = int(given)
    if length > most:
        raise too_large(most)
    return length


def too_large(most: int) -> Problem:
    """Return the problem of a body that is too large."""
    return Problem(413, f"The body has more than {most:,} bytes, the limit of this server; send less at once.")


async def body_parts(receive: Receive, headers: Headers, most: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they come; too many bytes and too much time are problems."""
    announced_length(headers, most)
    size, end, more = 0, asyncio.get_running_loop().time() + seconds, True
    while more:
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            raise Problem(408, f"The body did not come within {seconds:g} seconds.") from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > most:
            raise too_large(most)
        if part:
            yield part


class BodyBuffer:
    """Bodies in memory: how many bytes all of them together have."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.held = limits, 0

    async def read(self, receive: Receive, headers: Headers) -> bytes:
        """Return a whole body, which counts as held until `release`."""
        limits, parts, size = self.limits, list[bytes](), 0
        try:
            async for part in body_parts(receive, headers, limits.body, limits.body_seconds):
                if self.held + len(part) > limits.buffered:
                    raise Problem(429, "The server is busy with other requests; try again.", {"retry-after": "1"})
                size, self.held = size + len(part), self.held + len(part)
                parts.append(part)
        except BaseException:
            self.held -= size
            raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def release(self, body: bytes) -> None:
        """Count a body as held no more."""
        self.held -= len(body)
