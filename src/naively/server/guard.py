"""The settings of a server, and who may send it requests: their Host and Origin, and the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from .exchange import Problem, Request

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


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("Example.org")
    ('localhost', '[::1]', 'example.org')
    """
    name, bracket, rest = host.rpartition("]") if host.startswith("[") else ("", "", host)
    return f"{name}]".lower() if bracket else rest.partition(":")[0].lower().removesuffix(".")


def ip_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an IP address; None for other names."""
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    address = ip_address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


class Guard:
    """Decides which requests get a response at all.

    Parameters
    ----------
    settings : ServerSettings
        The settings of the server.
    port : int
        The port that the server listens on; browsers share cookies between ports, so that of this one names it.
    """

    def __init__(self, settings: ServerSettings, port: int) -> None:
        self.local = is_loopback(settings.host)
        self.hosts = {"localhost", "127.0.0.1", "[::1]", *(name.lower() for name in settings.allow_hosts)}
        if not self.local:
            self.hosts |= {settings.host.lower(), socket.gethostname().lower()}
        self.token, self.cookie, self.session = settings.token, f"naively-{port}", secrets.token_urlsafe(32)

    def check_place(self, request: Request) -> None:
        """Refuse a request for another host (DNS rebinding), or that another site made in somebody's browser."""
        host = request.header(b"host")
        if request.repeated:
            raise Problem(400, "A header that may occur once, such as Host, is there twice.")
        if not host:
            raise Problem(400, "The request has no Host header.")
        name = host_name(host)
        # No name server can point an IP address elsewhere.
        if name not in self.hosts and (self.local or ip_address(name) is None):
            raise Problem(
                421, f"This server is not {name[:100]!r}. If that is one of its names, start it with --allow-host NAME."
            )
        if request.method in ("GET", "HEAD"):  # they change nothing, and links of other sites may use them
            return
        origin = request.headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2].lower() != host.lower():
            raise Problem(403, "Another site made this request: its Origin is not this server.")
        if request.headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Problem(403, "Another site made this request: its Sec-Fetch-Site is not same-origin.")

    def knows_token(self, request: Request) -> bool:
        """Tell whether a request has the token, or the cookie that stands for it; both in constant time."""
        if self.token is None:
            return True
        kind, _, given = request.headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"bearer":
            return hmac.compare_digest(given.strip(), self.token.encode())
        cookies = (pair.partition(b"=") for pair in request.headers.get(b"cookie", b"").split(b";"))
        values = [value.strip() for name, _, value in cookies if name.strip() == self.cookie.encode()]
        return len(values) == 1 and hmac.compare_digest(values[0], self.session.encode())

    def check_token(self, request: Request) -> None:
        """Refuse a request without the token."""
        if not self.knows_token(request):
            challenge = {"www-authenticate": 'Bearer realm="naively"'}
            raise Problem(401, "This server needs its token: send the header 'Authorization: Bearer TOKEN'.", challenge)
