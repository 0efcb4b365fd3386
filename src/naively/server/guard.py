"""Who may send requests: their Host and Origin, and the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket

from .exchange import Problem, Request
from .settings import ServerSettings


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
