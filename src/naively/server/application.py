"""The application: who may ask, what is asked, and the answer.

One row to predict is what is asked most, so that `predict` and `healthz` are answered directly; Starlette routes the
rest.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from .._types import JsonObject
from .access_log import AccessLog
from .bodies import BodyBuffer, ClientGone
from .description import described_model
from .explanations import explanation_json
from .guard import Guard, Headers, check_content, watched_headers
from .learning import Learner, labelled_rows
from .limits import Limits
from .openapi import openapi_document
from .pages import TOKEN_PAGE, page_for
from .problems import Problem
from .replies import JSON, problem_reply, reply, send_json
from .request_rows import RequestRows
from .served_model import ServedModel, Snapshot
from .uploads import Uploads

API = "/api/v1"
# Bodies of at most so many bytes are answered at once, in the thread of the connections; others by another thread.
AT_ONCE = 16_384
# Seconds between two looks at a model's file.
LOOK_EVERY = 1.0
HEALTHY = b'{"status": "ok"}'
HTML = "text/html; charset=utf-8"

Result = TypeVar("Result")
Direct = Callable[[Headers, Scope, Receive, Send], Awaitable[int | None]]


class Application:
    """Answers requests about models.

    Parameters
    ----------
    models : dict of str to ServedModel
        The models by name, in their order.
    guard : Guard
        Who may ask.
    limits : Limits
        What a request may cost.
    log : AccessLog
        Notes each request.
    learners : dict of str to Learner, optional
        What learns rows, by the names of models.
    new_classes : bool
        Whether rows of classes that the model does not know may be learned.
    language : str
        The language of the pages.
    """

    def __init__(
        self,
        models: dict[str, ServedModel],
        guard: Guard,
        limits: Limits,
        log: AccessLog,
        learners: dict[str, Learner] | None = None,
        new_classes: bool = False,
        language: str = "en",
    ) -> None:
        self.models, self.guard, self.limits, self.log = models, guard, limits, log
        self.learners, self.new_classes, self.language = learners or {}, new_classes, language
        self.buffer, self.uploads = BodyBuffer(limits), Uploads(limits)
        self.threads = CapacityLimiter(4)
        self.look_at = dict.fromkeys(models, time.monotonic() + LOOK_EVERY)
        self.router = Router(self._routes(), redirect_slashes=False)
        self.direct: dict[tuple[str, str], Direct] = {
            ("POST", f"{API}/predict"): self._predict_row,
            ("GET", "/healthz"): self._health,
            ("GET", f"{API}/healthz"): self._health,
        }

    def _routes(self) -> list[Route]:
        """Return the routes; those of one model have a short address, too, if there is no other."""
        verbs = {"model": "GET", "openapi.json": "GET", "explain": "POST", "file": "POST", "predict": "POST"}
        handlers = [self.model, self.openapi, self.explain, self.file, self.predict]
        routes = [Route("/", self.page), Route("/m/{name}", self.page), Route("/m/{name}/", self.page)]
        routes += [Route(path, self.health) for path in ("/healthz", f"{API}/healthz")]
        routes += [Route(f"{API}/models", self.list_models)]
        routes += [Route(f"{API}/session", self.session, methods=["POST"])]
        for (verb, method), handler in zip(verbs.items(), handlers, strict=True):
            for path in (f"{API}/{verb}", f"{API}/models/{{name}}/{verb}"):
                routes.append(Route(path, handler, methods=[method]))
        for verb in ("learn", "forget"):
            for path in (f"{API}/{verb}", f"{API}/models/{{name}}/{verb}"):
                routes.append(Route(path, self.learn, methods=["POST"]))
        return routes

    # -- every request --------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note it."""
        if scope["type"] != "http":
            return  # no other protocol is spoken; uvicorn closes the connection
        begin, status, rows = time.perf_counter(), 0, None

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            rows = await self._answer(scope, receive, noted)
        except ClientGone:
            status = status or 499
        except Problem as problem:
            if status:  # the answer has begun: it ends here, and is not whole
                self.log.event("broken off", path=scope["path"], reason=problem.detail)
            else:
                await problem_reply(problem)(scope, receive, noted)
        except Exception as error:
            self.log.event("error", path=scope["path"], reason=repr(error), traceback=traceback.format_exc())
            if not status:
                bug = Problem(500, "This is a bug. Please report it with what the log of the server says.")
                await problem_reply(bug)(scope, receive, noted)
        finally:
            self.log.request(scope["method"], scope["path"], status, time.perf_counter() - begin, rows)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> int | None:
        """Answer a request, and return how many rows it had."""
        headers, method, path = watched_headers(scope["headers"]), scope["method"], scope["path"]
        self.guard.check_place(method, headers)
        direct = self.direct.get((method, path))
        if direct is not None:
            return await direct(headers, scope, receive, send)
        scope["app"] = self  # so that Starlette raises its errors
        scope["naively"] = headers
        try:
            await self.router(scope, receive, send)
        except HTTPException as error:
            detail = "There is no such page." if error.status_code == 404 else f"{method} is not for this address."
            raise Problem(error.status_code, detail, error.headers) from None
        rows: int | None = scope.get("naively.rows")
        return rows

    async def _health(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, HEALTHY)

    async def health(self, request: Request) -> Response:
        """Tell that the server is there, to who asks by HEAD."""
        return reply(HEALTHY)

    # -- rows -----------------------------------------------------------------------------------------------------

    async def _predict_row(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer rows, at once if they are few."""
        self.guard.check_token(headers)
        snapshot = await self._snapshot(None)
        content, rows = await self._rows(snapshot, headers, receive, lambda asked: predicted_json(snapshot, asked))
        await send_json(send, content)
        return rows

    async def predict(self, request: Request) -> Response:
        """Answer rows by one of several models."""
        snapshot = await self._asked_model(request)
        return await self._rows_reply(request, snapshot, lambda asked: predicted_json(snapshot, asked))

    async def explain(self, request: Request) -> Response:
        """Explain the answers to rows."""
        snapshot = await self._asked_model(request)

        def explained_json(asked: RequestRows) -> bytes:
            return explanation_json(snapshot, asked, self.limits.cells)

        return await self._rows_reply(request, snapshot, explained_json, {"against": object})

    async def learn(self, request: Request) -> Response:
        """Learn rows, or forget them."""
        verb, snapshot = request.url.path.rpartition("/")[2], await self._asked_model(request)
        learner = self.learners.get(snapshot.name)
        if learner is None:
            raise Problem(403, "This server does not learn; start it with --learn.")
        found: list[tuple[list[JsonObject], list[object]]] = []

        def checked(asked: RequestRows) -> bytes:
            found.append(labelled_rows(snapshot, asked, self.new_classes and verb == "learn"))
            return b""

        headers: Headers = request.scope["naively"]
        _, count = await self._rows(snapshot, headers, request.receive, checked, {"labels": list})
        result = await learner.take(verb, *found[0])
        request.scope["naively.rows"] = count
        return reply(json.dumps(result).encode())

    async def _rows_reply(
        self,
        request: Request,
        snapshot: Snapshot,
        answer: Callable[[RequestRows], bytes],
        options: dict[str, type] | None = None,
    ) -> Response:
        headers: Headers = request.scope["naively"]
        content, request.scope["naively.rows"] = await self._rows(snapshot, headers, request.receive, answer, options)
        return reply(content)

    async def _rows(
        self,
        snapshot: Snapshot,
        headers: Headers,
        receive: Receive,
        answer: Callable[[RequestRows], bytes],
        options: dict[str, type] | None = None,
    ) -> tuple[bytes, int]:
        """Return the answer to the rows of a request, and how many they are; large ones are left to other threads."""
        check_content(headers, JSON)
        body = await self.buffer.read(receive, headers)
        try:
            if len(body) <= AT_ONCE:
                asked = snapshot.reader.read(body, self.limits, options or {})
                return answer(asked), len(asked.rows)
            asked = await self._elsewhere(lambda: snapshot.reader.read(body, self.limits, options or {}))
            return await self._elsewhere(lambda: answer(asked)), len(asked.rows)
        finally:
            self.buffer.release(body)

    async def _elsewhere(self, call: Callable[[], Result]) -> Result:
        """Return what another thread makes, so that small requests go on."""
        return await to_thread.run_sync(call, limiter=self.threads)

    async def file(self, request: Request) -> Response:
        """Answer the rows of a CSV file."""
        snapshot, headers = await self._asked_model(request), request.scope["naively"]
        check_content(headers, "text/csv")
        return StreamedAnswers(self.uploads, snapshot, request)

    # -- models ---------------------------------------------------------------------------------------------------

    async def _asked_model(self, request: Request) -> Snapshot:
        """Return the model of an address, after the token was checked."""
        self.guard.check_token(request.scope["naively"])
        return await self._snapshot(request.path_params.get("name"))

    async def _snapshot(self, name: str | None) -> Snapshot:
        """Return a model; if its file was replaced, this request waits for the new one, and others do not."""
        if name is None:
            if len(self.models) > 1:
                names = ", ".join(self.models)
                raise Problem(404, f"There are several models: {names}. Their addresses are {API}/models/NAME/….")
            name = next(iter(self.models))
        served = self.models.get(name)
        if served is None:
            raise Problem(404, f"There is no model {name[:100]!r}; {API}/models lists those that there are.")
        now = time.monotonic()
        if now >= self.look_at[name] and name not in self.learners:
            self.look_at[name] = now + LOOK_EVERY
            if served.is_replaced():
                await to_thread.run_sync(served.reload, self.log.event)
        return served.now

    async def list_models(self, request: Request) -> Response:
        """List the models."""
        self.guard.check_token(request.scope["naively"])
        found = [
            {"name": name, "revision": served.now.revision, "page": f"/m/{name}/", "api": f"{API}/models/{name}"}
            for name, served in self.models.items()
        ]
        return reply(json.dumps({"models": found}).encode())

    async def model(self, request: Request) -> Response:
        """Describe a model."""
        snapshot = await self._asked_model(request)
        return await self._made("model", snapshot, lambda: described_model(snapshot, snapshot.name in self.learners))

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI document."""
        snapshot = await self._asked_model(request)
        prefix, learning = request.url.path.rpartition("/")[0], snapshot.name in self.learners
        return await self._made(
            f"openapi {prefix}", snapshot, lambda: openapi_document(snapshot, prefix, learning, self.limits.rows)
        )

    async def _made(self, what: str, snapshot: Snapshot, make: Callable[[], JsonObject]) -> Response:
        """Return what is made of a model once."""
        if what not in snapshot.texts:
            made = await self._elsewhere(make)
            snapshot.texts[what] = json.dumps(made, default=str).encode()
        return reply(snapshot.texts[what])

    # -- pages ----------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """Return the page of a model, or the one that asks for the token."""
        if not self.guard.knows_token(request.scope["naively"]):
            return reply(TOKEN_PAGE.content, HTML, status=401, policy=TOKEN_PAGE.policy)
        snapshot = await self._snapshot(request.path_params.get("name"))
        if "page" not in snapshot.texts:
            page = await self._elsewhere(lambda: page_for(snapshot, self._about_server(snapshot)))
            snapshot.texts["page"], snapshot.texts["policy"] = page.content, page.policy.encode()
        return reply(snapshot.texts["page"], HTML, policy=snapshot.texts["policy"].decode())

    def _about_server(self, snapshot: Snapshot) -> JsonObject:
        """Return what the scripts of a page know about their server."""
        api = API if len(self.models) == 1 else f"{API}/models/{snapshot.name}"
        about: JsonObject = {"api": api, "models": list(self.models), "token": self.guard.token is not None}
        return about | {"revision": snapshot.revision, "language": self.language}

    async def session(self, request: Request) -> Response:
        """Give a browser that knows the token a cookie that stands for it."""
        headers: Headers = request.scope["naively"]
        self.guard.check_token(headers)
        check_content(headers, JSON)
        cookie = f"{self.guard.cookie}={self.guard.session}; HttpOnly; SameSite=Strict; Path=/"
        return reply(b"{}", headers={"set-cookie": cookie})


def predicted_json(snapshot: Snapshot, asked: RequestRows) -> bytes:
    """Return the answers to rows."""
    writer = snapshot.writer
    return writer.of_row(asked.rows[0]) if asked.alone else writer.of_rows(asked.rows)


class StreamedAnswers(Response):
    """The answers to a file, which are sent while they are made.

    Parameters
    ----------
    uploads : Uploads
        What receives and answers files.
    snapshot : Snapshot
        The model.
    request : Request
        The request, whose body is the file.
    """

    def __init__(self, uploads: Uploads, snapshot: Snapshot, request: Request) -> None:
        super().__init__()
        self.uploads, self.snapshot, self.request = uploads, snapshot, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the file, and send it back with its answers."""
        query, headers = self.request.query_params, scope["naively"]
        scope["naively.rows"] = await self.uploads.answer(self.snapshot, query, headers, receive, send)
