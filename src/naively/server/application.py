"""The application: what a request is, the response, and the log of requests, in which no cell ever is."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, TypeVar

from .._types import JsonObject
from .description import (
    answer_file,
    described_model,
    explanations,
    model_page,
    openapi_document,
    predictions,
    token_page,
)
from .exchange import JSON, ClientGone, Message, Problem, Receive, Request, Send
from .guard import Guard, ServerSettings
from .learning import Learner, labelled_rows
from .served_model import RequestRows, ServedModel, Snapshot

LONGEST_PATH = 200

API = "/api/v1"
# Bodies of at most so many bytes are read and predicted in the thread of the connections; others in another thread.
AT_ONCE = 16_384
# Seconds between two checks of a model's file.
CHECK_EVERY = 1.0
HTML = "text/html; charset=utf-8"
Result = TypeVar("Result")


class AccessLog:
    """Writes lines to stderr or to a file.

    Parameters
    ----------
    settings : ServerSettings
        The settings of the server: the file, and whether requests that succeeded are left out.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._sink: IO[str] = sys.stderr if settings.log is None else settings.log.open("a", encoding="utf-8")
        self._lines: deque[str] = deque()  # threads may add to it
        self.quiet = settings.quiet

    def request(self, method: str, path: str, status: int, seconds: float, rows: int | None) -> None:
        """Note a request; its line is written with others, within a fraction of a second."""
        if status >= 400 or not self.quiet:
            facts: dict[str, object] = {"method": method[:20], "path": path[:LONGEST_PATH], "status": status}
            facts["ms"] = round(seconds * 1e3, 2)
            self._add(facts if rows is None else {**facts, "rows": rows})

    def event(self, what: str, **facts: object) -> None:
        """Write an event at once."""
        self._add({"event": what, **facts})
        self.flush()

    def _add(self, facts: dict[str, object]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.append(json.dumps({"time": now, **facts}, default=str) + "\n")

    def flush(self) -> None:
        """Write the lines so far."""
        lines: list[str] = []
        with suppress(IndexError):
            while True:
                lines.append(self._lines.popleft())
        with suppress(OSError, ValueError):  # a full disk, or nobody who reads stderr, ends no server
            self._sink.write("".join(lines))
            self._sink.flush()

    def close(self) -> None:
        """Write the lines so far, and close the file."""
        self.flush()
        if self._sink is not sys.stderr:
            self._sink.close()


class Application:
    """Responds to requests about models, as an ASGI application.

    Parameters
    ----------
    models : dict of str to ServedModel
        The models by name, in their order.
    learners : dict of str to Learner
        What learns rows, by the names of models.
    settings : ServerSettings
        The settings of the server.
    log : AccessLog
        Notes each request.
    port : int
        The port of the server.
    """

    def __init__(
        self,
        models: dict[str, ServedModel],
        learners: dict[str, Learner],
        settings: ServerSettings,
        log: AccessLog,
        port: int = 0,
    ) -> None:
        self.models, self.learners, self.settings, self.log = models, learners, settings, log
        self.guard = Guard(settings, port)
        self.threads = ThreadPoolExecutor(4)
        self.buffered = self.uploads = 0  # bytes of JSON requests and number of files in progress
        self.check_at = dict.fromkeys(models, time.monotonic() + CHECK_EVERY)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Respond to a request, and note it."""
        if scope["type"] != "http":
            return  # no other protocol is supported; uvicorn closes the connection
        begin, request = time.perf_counter(), Request(scope, receive, send)
        try:
            await self._respond(request)
        except ClientGone:
            request.status = request.status or 499
        except Problem as problem:
            if request.status:  # the response has begun: it ends here, and is not complete
                self.log.event("broken off", path=request.path, reason=problem.detail)
            else:
                await request.refuse(problem)
        except Exception as error:
            self.log.event("error", path=request.path, reason=repr(error), traceback=traceback.format_exc())
            if not request.status:
                await request.refuse(
                    Problem(500, "This is a bug. Please report it with what the log of the server says.")
                )
        finally:
            self.log.request(request.method, request.path, request.status, time.perf_counter() - begin, request.rows)

    async def _respond(self, request: Request) -> None:
        """Find the handler of a request, and call it."""
        self.guard.check_place(request)
        allowed = []
        for method, pattern, handler in ROUTES:
            if address := pattern.fullmatch(request.path):
                if request.method == method or (request.method, method) == ("HEAD", "GET"):
                    if handler not in OPEN:
                        self.guard.check_token(request)
                    return await handler(self, request, address.groupdict().get("name"))
                allowed += [method, "HEAD"] if method == "GET" else [method]
        if allowed:
            raise Problem(405, f"{request.method} is not for this address.", {"allow": ", ".join(allowed)})
        raise Problem(404, "There is no such page.")

    async def _snapshot(self, name: str | None) -> Snapshot:
        """Return a model; if its file was replaced, this request waits for the new one, and others do not."""
        if name is None and len(self.models) > 1:
            names = ", ".join(self.models)
            raise Problem(404, f"There are several models: {names}. Their addresses are {API}/models/NAME/….")
        name = next(iter(self.models)) if name is None else name
        served = self.models.get(name)
        if served is None:
            raise Problem(404, f"There is no model {name[:100]!r}; {API}/models lists those that there are.")
        now = time.monotonic()
        if now >= self.check_at[name] and name not in self.learners:
            self.check_at[name] = now + CHECK_EVERY
            if served.is_replaced():
                await self._elsewhere(lambda: served.reload(self.log.event))
        return served.now

    async def _elsewhere(self, call: Callable[[], Result]) -> Result:
        """Return the result of another thread, so that small requests go on."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)

    # -- rows -----------------------------------------------------------------------------------------------------

    async def _of_rows(
        self, request: Request, snapshot: Snapshot, call: Callable[[RequestRows], Result], **options: type
    ) -> Result:
        """Return the result for the rows of a request."""
        request.check_content(JSON)
        settings, blocks, size = self.settings, list[bytes](), 0
        try:
            async for block in request.body(settings.body, settings.body_seconds, settings):
                size, self.buffered = size + len(block), self.buffered + len(block)
                if self.buffered > settings.buffered:
                    raise Problem(429, "The server is busy with other requests; try again.", {"retry-after": "1"})
                blocks.append(block)

            def read_and_call() -> tuple[Result, int]:
                rows = snapshot.reader.read(b"".join(blocks), settings, options)
                return call(rows), len(rows.rows)

            result, request.rows = read_and_call() if size <= AT_ONCE else await self._elsewhere(read_and_call)
            return result
        finally:
            self.buffered -= size

    async def predict(self, request: Request, name: str | None) -> None:
        """Predict rows."""
        snapshot = await self._snapshot(name)
        await request.reply(await self._of_rows(request, snapshot, lambda rows: predictions(snapshot, rows)))

    async def explain(self, request: Request, name: str | None) -> None:
        """Explain the predictions of rows."""
        snapshot, cells = await self._snapshot(name), self.settings.cells
        content = await self._of_rows(
            request, snapshot, lambda rows: explanations(snapshot, rows, cells), against=object
        )
        await request.reply(content)

    async def learn(self, request: Request, name: str | None) -> None:
        """Learn rows, or forget them."""
        verb, snapshot = request.path.rpartition("/")[2], await self._snapshot(name)
        learner = self.learners.get(snapshot.name)
        if learner is None:
            raise Problem(403, "This server does not learn; start it with --learn.")
        new = self.settings.new_classes and verb == "learn"
        rows, labels = await self._of_rows(
            request, snapshot, lambda rows: labelled_rows(snapshot, rows, new), labels=list
        )
        await request.reply(json.dumps(await learner.take(verb, rows, labels)).encode())

    async def file(self, request: Request, name: str | None) -> None:
        """Predict the rows of a CSV file."""
        snapshot = await self._snapshot(name)
        request.check_content("text/csv")
        if self.uploads >= self.settings.uploads:
            detail = f"{self.uploads} files are being answered, as many as this server takes at once; try again."
            raise Problem(429, detail, {"retry-after": "5"})
        self.uploads += 1
        try:
            await answer_file(snapshot, request, self.settings)
        finally:
            self.uploads -= 1

    # -- models ---------------------------------------------------------------------------------------------------

    async def health(self, request: Request, name: str | None) -> None:
        """Tell that the server is there."""
        await request.reply(b'{"status": "ok"}')

    async def list_models(self, request: Request, name: str | None) -> None:
        """List the models."""
        listed = [
            {"name": name, "revision": served.now.revision, "page": f"/m/{name}/", "api": f"{API}/models/{name}"}
            for name, served in self.models.items()
        ]
        await request.reply(json.dumps({"models": listed}).encode())

    async def model(self, request: Request, name: str | None) -> None:
        """Describe a model."""
        snapshot = await self._snapshot(name)
        learning = snapshot.name in self.learners
        await self._reply_once(request, snapshot, lambda: described_model(snapshot, learning))

    async def openapi(self, request: Request, name: str | None) -> None:
        """Return the OpenAPI document."""
        snapshot = await self._snapshot(name)
        prefix, learning = request.path.rpartition("/")[0], snapshot.name in self.learners
        await self._reply_once(
            request, snapshot, lambda: openapi_document(snapshot, prefix, learning, self.settings.rows)
        )

    async def _reply_once(self, request: Request, snapshot: Snapshot, make: Callable[[], JsonObject]) -> None:
        """Reply with JSON that is made once for each model and address."""
        if request.path not in snapshot.texts:
            snapshot.texts[request.path] = json.dumps(await self._elsewhere(make), default=str).encode()
        await request.reply(snapshot.texts[request.path])

    # -- pages ----------------------------------------------------------------------------------------------------

    async def page(self, request: Request, name: str | None) -> None:
        """Return the page of a model, or the one that asks for the token."""
        if not self.guard.knows_token(request):
            content, policy = token_page()
            await request.reply(content, HTML, 401, policy)
            return
        snapshot = await self._snapshot(name)
        if "page" not in snapshot.texts:
            server = {
                "api": API if len(self.models) == 1 else f"{API}/models/{snapshot.name}",
                "models": list(self.models),
                "token": self.guard.token is not None,
                "revision": snapshot.revision,
                "language": self.settings.language,
            }
            snapshot.texts["page"], snapshot.texts["policy"] = await self._elsewhere(
                lambda: model_page(snapshot, server)
            )
        await request.reply(snapshot.texts["page"], HTML, policy=snapshot.texts["policy"].decode())

    async def session(self, request: Request, name: str | None) -> None:
        """Give a browser that has the token a cookie that stands for it."""
        request.check_content(JSON)
        cookie = f"{self.guard.cookie}={self.guard.session}; HttpOnly; SameSite=Strict; Path=/"
        await request.reply(b"{}", headers={"set-cookie": cookie})


def _of_model(verb: str) -> re.Pattern[str]:
    return re.compile(rf"{API}/(?:models/(?P<name>[^/]+)/)?(?:{verb})")


# What responds to which requests; the most frequent first.
ROUTES: list[tuple[str, re.Pattern[str], Callable[[Application, Request, str | None], Awaitable[None]]]] = [
    ("POST", _of_model("predict"), Application.predict),
    ("GET", re.compile(rf"(?:{API})?/healthz"), Application.health),
    ("POST", _of_model("explain"), Application.explain),
    ("POST", _of_model("file"), Application.file),
    ("POST", _of_model("learn|forget"), Application.learn),
    ("GET", _of_model("model"), Application.model),
    ("GET", _of_model(r"openapi\.json"), Application.openapi),
    ("GET", re.compile(f"{API}/models"), Application.list_models),
    ("POST", re.compile(f"{API}/session"), Application.session),
    ("GET", re.compile("/(?:m/(?P<name>[^/]+)/?)?"), Application.page),
]
# The page itself asks for the token.
OPEN = (Application.health, Application.page)
