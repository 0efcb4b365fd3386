"""Starts the server, and ends it: sockets, signals, slow clients, and what is saved at the end.

uvicorn has no time limit for headers, nor for a client that takes no response. Once a second, `SlowClients.sweep`
checks which connections wait for either, and since when.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ..errors import InvalidInput
from .application import AccessLog, Application
from .guard import ServerSettings, is_loopback
from .learning import Learner
from .served_model import ServedModel, open_models

# A `CountingProtocol`. Of what uvicorn adds we read `cycle`, the request and its response, and `flow`.
Connection: TypeAlias = Any

SHORTEST_TOKEN = 16


class CountingProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Counts how often the client took all that was sent."""

    taken = 0

    def resume_writing(self) -> None:
        """Go on, because the client took what waited."""
        self.taken += 1
        super().resume_writing()


class SlowClients:
    """Cuts off connections whose clients send no headers, or take nothing, for too long.

    Parameters
    ----------
    timeout : float
        How many seconds that is.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._waits: dict[Connection, tuple[object, float]] = {}  # how far each is, and since when

    def sweep(self, connections: Iterable[Connection], now: float) -> int:
        """Check all connections, and return how many were cut off."""
        waits, cut = dict[Connection, tuple[object, float]](), 0
        for connection in list(connections):
            cycle, transport = connection.cycle, connection.transport
            is_reader_late = connection.flow.write_paused or transport.is_closing()
            if not is_reader_late and cycle is not None and not cycle.response_complete:
                continue  # the application waits for the body, or works
            place = is_reader_late, id(cycle), connection.taken, transport.get_write_buffer_size()
            before, since = self._waits.get(connection, (place, now))
            since = since if before == place else now
            if now - since > self.timeout:
                transport.abort()
                cut += 1
            else:
                waits[connection] = place, since
        self._waits = waits
        return cut


# -- the server --------------------------------------------------------------------------------------------------------


def serve_models(paths: list[Path], settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Serve models until SIGTERM or Ctrl-C; `ready` is called with the address once requests get a response."""
    sock = bound_socket(settings)
    log = AccessLog(settings)
    try:
        with warnings_in_log(log):
            models = open_models(paths)
            learners = open_learners(models, settings, log)
            port = sock.getsockname()[1]
            application = Application(models, learners, settings, log, port)
            name = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
            server = PatientServer(application, lambda: ready(f"http://{name}:{port}/"))
            for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has ended
                signal.signal(number, lambda number, frame: None)
            server.run(sockets=[sock])
            for learner in learners.values():
                learner.save()
                learner.ahead.close()
    finally:
        sock.close()
        log.close()


def bound_socket(settings: ServerSettings) -> socket.socket:
    """Return the socket that the server listens on; other addresses than those of this machine need a token."""
    host, token = settings.host.strip("[]"), settings.token
    if not is_loopback(host) and token is None:
        raise InvalidInput(
            f"Everybody who reaches {host} could use the model; set a token in the environment variable NAIVELY_TOKEN, "
            "or listen on 127.0.0.1."
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or " " in token):
        raise InvalidInput(
            f"The token must have at least {SHORTEST_TOKEN} characters of ASCII without blanks; make one by "
            "python -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        if sys.platform != "win32":  # there it would let another server listen on the same port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        raise InvalidInput(
            f"Cannot listen on {host}, port {settings.port}: {error.strerror or error}. Choose another port by --port; "
            "0 is any that is free."
        ) from None
    return sock


def open_learners(models: dict[str, ServedModel], settings: ServerSettings, log: AccessLog) -> dict[str, Learner]:
    """Return the learner of each model, with the rows of its write-ahead log counted; none without --learn."""
    if settings.learn is None:
        return {}
    many, learners = len(models) > 1 or settings.learn.is_dir(), dict[str, Learner]()
    if many:
        settings.learn.mkdir(parents=True, exist_ok=True)
    for name, served in models.items():
        learners[name] = Learner(served, settings.learn / f"{name}.wal" if many else settings.learn, log.event)
        learners[name].start(settings.rebase)
    return learners


@contextlib.contextmanager
def warnings_in_log(log: AccessLog) -> Iterator[None]:
    """Note warnings of the library, each once."""

    def note(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
        log.event("warning", kind=category.__name__, reason=str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = note
        yield


class PatientServer(uvicorn.Server):
    """Cuts off slow clients, writes the log and saves learned rows while it serves.

    Parameters
    ----------
    application : Application
        What responds to requests.
    ready : callable
        Called when the server listens.
    """

    def __init__(self, application: Application, ready: Callable[[], None]) -> None:
        settings = application.settings
        # uvicorn keeps no log of its own; asyncio would warn of clients that went away, whose requests are logged.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        super().__init__(
            uvicorn.Config(
                application,
                http=CountingProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=settings.connections,
                timeout_keep_alive=max(int(settings.timeout), 1),
                timeout_graceful_shutdown=max(int(settings.shutdown_seconds), 1),
                h11_max_incomplete_event_size=65_536,
            )
        )
        self.application, self.ready, self.slow = application, ready, SlowClients(settings.timeout)
        self._saving: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.ready()
        if self.application.settings.save_every is not None:
            self._saving = asyncio.create_task(self._save(self.application.settings.save_every))

    async def _save(self, every: float) -> None:
        """Save learned rows in the files of the models, every so many seconds."""
        while not self.should_exit:
            await asyncio.sleep(every)
            for learner in self.application.learners.values():
                await asyncio.to_thread(learner.save)

    async def on_tick(self, counter: int) -> bool:
        """Check connections and write the log; uvicorn calls this ten times a second."""
        log = self.application.log
        if counter % 3 == 0:
            log.flush()
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            cut = self.slow.sweep(self.server_state.connections, now)
            if cut:
                log.event("slow clients cut off", connections=cut)
        return await super().on_tick(counter)
