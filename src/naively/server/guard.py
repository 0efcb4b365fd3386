"""Who may ask: the Host and the Origin of a request, its token, and what it says its body is."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from .problems import Problem

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
# Methods that change nothing, which links of other sites may use.
SAFE = ("GET", "HEAD")
SHORTEST_TOKEN = 16
# The headers that are looked at. Each may be there once.
WATCHED = frozenset(
    b"host origin authorization content-type content-length content-encoding cookie sec-fetch-site".split()
)
Headers = dict[bytes, bytes]


def watched_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers that decide about a request; one that is there twice is refused."""
    found: Headers = {}
    for name, value in raw:
        if name in WATCHED:
            if name in found:
                raise Problem(400, f"The header {name.decode()} is there twice.")
            found[name] = value
    return found


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("Example.org")
    ('localhost', '[::1]', 'example.org')
    """
    name, _, rest = host.rpartition("]") if host.startswith("[") else ("", "", host)
    name = f"{name}]" if name else rest.partition(":")[0]
    return name.lower().removesuffix(".")


def is_address(name: str) -> bool:
    """Tell whether a name is an IP address, which no foreign name server can point elsewhere."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Guard:
    """Decides which requests are answered at all.

    Parameters
    ----------
    hosts : tuple of str
        Names that the Host header may have; more than these are refused, because a foreign name may point here.
    any_address : bool
        Whether the Host header may also be any IP address: the server listens on others than 127.0.0.1.
    token : str, optional
        What requests have to know.
    cookie : str
        The name of the cookie that stands for the token in a browser.
    """

    hosts: tuple[str, ...] = LOOPBACK_NAMES
    any_address: bool = False
    token: str | None = None
    cookie: str = "naively"
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def check_place(self, method: str, headers: Headers) -> None:
        """Refuse a request for another host, or that another site made in somebody's browser."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not host:
            raise Problem(400, "The request has no Host header.")
        name = host_name(host)
        if name not in self.hosts and not (self.any_address and is_address(name)):
            raise Problem(
                421, f"This server is not {name[:100]!r}. If that is one of its names, start it with --allow-host NAME."
            )
        if method in SAFE:
            return
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2].lower() != host.lower():
            raise Problem(403, "Another site made this request: its Origin is not this server.")
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Problem(403, "Another site made this request: its Sec-Fetch-Site is not same-origin.")

    def knows_token(self, headers: Headers) -> bool:
        """Tell whether a request knows the token, or has the cookie that stands for it; both in constant time."""
        if self.token is None:
            return True
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"bearer":
            return hmac.compare_digest(given.strip(), self.token.encode())
        cookies = (part.partition(b"=") for part in headers.get(b"cookie", b"").split(b";"))
        mine = [value.strip() for name, _, value in cookies if name.strip() == self.cookie.encode()]
        return len(mine) == 1 and hmac.compare_digest(mine[0], self.session.encode())

    def check_token(self, headers: Headers) -> None:
        """Refuse a request that does not know the token."""
        if not self.knows_token(headers):
            raise Problem(
                401,
                "This server needs its token: send the header 'Authorization: Bearer TOKEN'.",
                {"www-authenticate": 'Bearer realm="naively"'},
            )


def check_content(headers: Headers, wanted: str) -> None:
    """Refuse a body of another type, or one that is packed."""
    given = headers.get(b"content-type", b"").decode("latin-1")
    kind, _, parameters = given.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if kind.strip().lower() != wanted:
        found = f"is {kind.strip()[:100]!r}" if given else "has no Content-Type"
        raise Problem(415, f"The body {found}; send {wanted}.", {"accept": wanted})
    if charset not in ("", "charset=utf-8", "header=present", "header=present; charset=utf-8"):
        raise Problem(415, f"The body is {charset[:100]!r}; send {wanted} in UTF-8.", {"accept": wanted})
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Problem(415, "The body is packed; send it as it is.", {"accept-encoding": "identity"})
