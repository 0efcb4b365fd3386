"""Starts the server, and ends it: sockets, signals, the log, and what is saved at the end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from ..errors import InvalidInput
from .access_log import AccessLog
from .application import Application
from .guard import LOOPBACK_NAMES, SHORTEST_TOKEN, Guard
from .learning import Learner
from .limits import Limits
from .protocol import SlowClients, protocol_class
from .served_model import ServedModel, open_models
from .write_ahead import WriteAheadFile


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
        Seconds between two times that learned rows are saved in the model's file, beside the end.
    rebase : bool
        Whether rows of another model in the write-ahead file are counted over this one.
    new_classes : bool
        Whether rows of new classes may be learned.
    language : str
        The language of the pages: "en" or "zh".
    log : Path, optional
        The file of the log; by default stderr.
    quiet : bool
        Whether the log leaves out requests that were answered well.
    limits : Limits
        What a request may cost.
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
    limits: Limits = field(default_factory=Limits)


def serve_models(paths: list[Path], settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Serve models until SIGTERM or Ctrl-C; `ready` is told the address once requests are answered."""
    sock = bound_socket(settings)
    log = AccessLog(settings.log, settings.quiet)
    learners: dict[str, Learner] = {}
    try:
        with warnings_in_log(log):
            models = open_models(paths)
            learners = open_learners(models, settings, log)
            port = sock.getsockname()[1]
            guard = guard_of(settings, port)
            more = settings.new_classes, settings.language
            application = Application(models, guard, settings.limits, log, learners, *more)
            server = PatientServer(config_of(application, settings), log, learners, settings)
            server.ready = lambda: ready(address_of(settings.host, port))
            server.run(sockets=[sock])
            for learner in learners.values():
                learner.close()
    finally:
        sock.close()
        log.close()


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bound_socket(settings: ServerSettings) -> socket.socket:
    """Return the socket that the server listens on; others than this machine may only come with a token."""
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


def address_of(host: str, port: int) -> str:
    """Return the address of the page."""
    name = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{name}:{port}/"


def guard_of(settings: ServerSettings, port: int) -> Guard:
    """Return what decides who may ask."""
    names = {*LOOPBACK_NAMES, *(name.lower() for name in settings.allow_hosts)}
    local = is_loopback(settings.host)
    if not local:
        names |= {settings.host.lower(), socket.gethostname().lower()}
    return Guard(tuple(sorted(names)), not local, settings.token, f"naively-{port}")


def config_of(application: Application, settings: ServerSettings) -> uvicorn.Config:
    """Return the settings of uvicorn; it keeps no log of its own."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    # It warns of clients that went away; the log has a line for each of their requests.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    return uvicorn.Config(
        application,
        http=protocol_class(),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=settings.limits.connections,
        timeout_keep_alive=max(int(settings.limits.header_seconds), 1),
        timeout_graceful_shutdown=max(int(settings.limits.shutdown_seconds), 1),
        h11_max_incomplete_event_size=65_536,
    )


def open_learners(models: dict[str, ServedModel], settings: ServerSettings, log: AccessLog) -> dict[str, Learner]:
    """Return what learns rows of each model, with those of the write-ahead files counted; none without --learn."""
    if settings.learn is None:
        return {}
    many, learners = len(models) > 1 or settings.learn.is_dir(), dict[str, Learner]()
    if many:
        settings.learn.mkdir(parents=True, exist_ok=True)
    for name, served in models.items():
        path = settings.learn / f"{name}.wal" if many else settings.learn
        learners[name] = Learner(served, WriteAheadFile(path), log.event)
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
    """Ends at SIGTERM and Ctrl-C when all requests are answered, and looks after slow clients meanwhile.

    Parameters
    ----------
    config : uvicorn.Config
        The settings of uvicorn.
    log : AccessLog
        The log, which is written here.
    learners : dict of str to Learner
        What is saved now and then.
    settings : ServerSettings
        The settings of the server.
    """

    def __init__(
        self, config: uvicorn.Config, log: AccessLog, learners: dict[str, Learner], settings: ServerSettings
    ) -> None:
        super().__init__(config)
        self.log, self.learners, self.settings = log, learners, settings
        self.slow = SlowClients(settings.limits)
        self.ready: Callable[[], None] = lambda: None
        self._saving: asyncio.Task[None] | None = None
        self._save_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.ready()

    async def on_tick(self, counter: int) -> bool:
        """Look after connections and the log; uvicorn calls this ten times a second."""
        if counter % 3 == 0:
            self.log.flush()
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            cut = self.slow.sweep(self.server_state.connections, now)  # type: ignore[arg-type]
            if cut:
                self.log.event("slow clients cut off", connections=cut)
            self._save_if_due(now)
        return await super().on_tick(counter)

    def _save_if_due(self, now: float) -> None:
        """Save learned rows in the files of the models, every so often."""
        every = self.settings.save_every
        if every is None or not self.learners:
            return
        if self._save_at is None:
            self._save_at = now + every
        if now >= self._save_at and (self._saving is None or self._saving.done()):
            self._save_at = now + every
            self._saving = asyncio.create_task(self._save())

    async def _save(self) -> None:
        for learner in self.learners.values():
            await asyncio.to_thread(learner.save)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals; unlike uvicorn, do not raise them again at the end: ending by one is no failure."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)
