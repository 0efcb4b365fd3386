"""One request and its response: headers, the body within its limits, and refusals as `application/problem+json`."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import NaivelyError

if TYPE_CHECKING:
    from .guard import ServerSettings

Message: TypeAlias = MutableMapping[str, Any]  # of ASGI, as the next two
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON, PROBLEM = "application/json", "application/problem+json"
# Names of statuses as RFC 9110 has them; Python's vary by version.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
# The policy of responses that are no page, and the headers of all responses.
NOTHING = "default-src 'none'; frame-ancestors 'none'"
SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
# The headers of requests that are read. Each may occur once.
READ = frozenset(
    b"host origin authorization content-type content-length content-encoding cookie sec-fetch-site".split()
)


class ClientGone(Exception):
    """The client closed the connection; nobody waits for a response."""


class Problem(Exception):
    """A request that is refused (RFC 9457): its status, what is wrong, and what to do.

    Parameters
    ----------
    status : int
        The status of the response.
    detail : str
        One or two sentences.
    headers : dict, optional
        More headers of the response.
    **fields : object
        More members of the JSON object, such as `row` and `column`; those that are None are left out.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **fields: object) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def content(self) -> bytes:
        """Return the JSON object as bytes; characters that UTF-8 cannot hold are escaped."""
        title = TITLES.get(self.status) or HTTPStatus(self.status).phrase
        members = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.fields}
        return json.dumps(members, default=str).encode()


def problem_of_error(error: NaivelyError, row: int | None = None, path: str | None = None) -> Problem:
    """Return the problem of rows that the library refuses, with the library's own sentence.

    `row` is the index of a row that was scored alone. A `path` of the server is not shown to clients.
    """
    detail, row = str(error), error.row if row is None else row
    if path is not None:
        detail = detail.replace(path, "The file")
    value = error.value if isinstance(error.value, (str, int, float, bool)) else None
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        value = str(value)
    return Problem(422, detail, row=row, line=error.line, column=error.column, value=value, classes=error.classes)


class Request:
    """A request, and the response to it.

    Parameters
    ----------
    scope, receive, send
        What ASGI gives for a request.

    Attributes
    ----------
    repeated : bool
        Whether a header that may occur once occurs again.
    status : int
        The status of the response; 0 before it has begun.
    rows : int or None
        How many rows the request had, for the log.
    """

    def __init__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.method, self.path, self.query = scope["method"], scope["path"], scope.get("query_string", b"")
        self.receive, self.send = receive, send
        headers = [(name, value) for name, value in scope["headers"] if name in READ]
        self.headers: dict[bytes, bytes] = dict(headers)
        self.repeated = len(headers) > len(self.headers)
        self.status = 0
        self.rows: int | None = None

    # -- the request ----------------------------------------------------------------------------------------------

    def header(self, name: bytes) -> str:
        """Return a header, empty if there is none."""
        return self.headers.get(name, b"").decode("latin-1")

    def check_content(self, media_type: str) -> None:
        """Refuse a body of another type, or one that is compressed."""
        given = self.header(b"content-type")
        kind, _, parameters = given.partition(";")
        charset = parameters.strip().lower().replace('"', "")
        accept = {"accept": media_type}
        if kind.strip().lower() != media_type:
            what = f"is {kind.strip()[:100]!r}" if given else "has no Content-Type"
            raise Problem(415, f"The body {what}; send {media_type}.", accept)
        if charset not in ("", "charset=utf-8", "header=present", "header=present; charset=utf-8"):
            raise Problem(415, f"The body is {charset[:100]!r}; send {media_type} in UTF-8.", accept)
        if self.headers.get(b"content-encoding", b"identity") != b"identity":
            raise Problem(415, "The body is compressed; send it as it is.", {"accept-encoding": "identity"})

    async def body(self, most: int, seconds: float, settings: ServerSettings) -> AsyncIterator[bytes]:
        """Yield the blocks of the body as they arrive; limits act at once, that of an announced length before."""
        announced = self.header(b"content-length") or "0"
        if not announced.isdigit():
            raise Problem(400, "The header Content-Length is not a number.")
        too_large = Problem(413, f"The body has more than {most:,} bytes, the limit of this server; send less at once.")
        if int(announced) > most:
            raise too_large
        clock, idle, size, more = asyncio.get_running_loop().time, settings.timeout, 0, True
        begin = clock()
        while more:
            end = min(begin + seconds, clock() + idle, begin + idle + size / settings.slowest)
            try:
                async with asyncio.timeout_at(end):
                    message = await self.receive()
            except TimeoutError:
                raise Problem(408, f"The body came too slowly; it had {end - begin:.3g} seconds so far.") from None
            if message["type"] == "http.disconnect":
                raise ClientGone
            block, more = message.get("body", b""), message.get("more_body", False)
            size += len(block)
            if size > most:
                raise too_large
            if block:
                yield block

    # -- the response ---------------------------------------------------------------------------------------------

    async def begin(
        self, media_type: str, status: int = 200, policy: str = NOTHING, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send the status and the headers."""
        self.status = status
        more = {"content-security-policy": policy, "content-type": media_type, **(headers or {})}
        listed = [*SECURITY, *((name.encode(), value.encode("latin-1")) for name, value in more.items())]
        await self.send({"type": "http.response.start", "status": status, "headers": listed})

    async def reply(
        self,
        content: bytes,
        media_type: str = JSON,
        status: int = 200,
        policy: str = NOTHING,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a whole response."""
        await self.begin(media_type, status, policy, {**(headers or {}), "content-length": str(len(content))})
        await self.send({"type": "http.response.body", "body": content})

    async def refuse(self, problem: Problem) -> None:
        """Send a problem. The rest of a request that was not read in time or in full ends the connection."""
        close = {"connection": "close"} if problem.status in (408, 413, 429) else {}
        await self.reply(problem.content(), PROBLEM, problem.status, headers={**close, **problem.headers})
