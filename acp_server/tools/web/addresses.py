"""Addresses of pages: which there are at all, and how each is written in one way only.

Pure. What the user is asked about, what is connected to and what is sent are the same parts, taken
apart once: no other parser reads an address again and finds another host in it.
"""

import ipaddress
import re
from typing import Literal
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna

from acp_server.frozen import frozen
from acp_server.tools.web.errors import AddressError

MOST_CHARACTERS = 4_000
MOST_HOST_CHARACTERS = 253
USUAL_PORTS = {"http": 80, "https": 443}
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_KEPT_IN_TARGETS = "/?:@!$&'()*+,;=~%[]|^`{}\"<>-._"

NO_ADDRESS = "{text} is no web address; give one that begins with https:// or http://"
NO_SCHEME = "only https:// and http:// addresses can be fetched, not {scheme}:"
NO_LOGIN = "an address with a name or password in it is not fetched"
ODD_NUMBER = "{host} is an odd way to write a number; give the host by name"


@frozen
class WebAddress:
    """An address, taken apart."""

    scheme: Literal["http", "https"]
    host: str
    """A name in lower case and ASCII, or an IP address; an IPv6 one without brackets."""
    port: int
    target: str
    """The path with what is asked for behind it, as it is sent."""

    @property
    def site(self) -> str:
        """The host, with the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in USUAL_PORTS.values() else f"{host}:{self.port}"

    @property
    def authority(self) -> str:
        """The host, with the port where it is not the one of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def read_address(text: str) -> WebAddress:
    """Take an address apart.

    >>> str(read_address("HTTPS://Example.COM:443/a b".replace(" ", "%20")))
    'https://example.com/a%20b'

    Raises:
        AddressError: it is none that may be fetched.
    """
    text = text.strip()
    shown = ascii(text[:100])
    if len(text) > MOST_CHARACTERS or _FORBIDDEN.search(text):
        raise AddressError(NO_ADDRESS.format(text=shown))
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise AddressError(NO_ADDRESS.format(text=shown)) from None
    scheme = _scheme(parts, shown)
    if "@" in parts.netloc:
        raise AddressError(NO_LOGIN)
    host = _host(parts.hostname or "", shown)
    port = USUAL_PORTS[scheme] if port is None else port
    if port == 0:
        raise AddressError(NO_ADDRESS.format(text=shown))
    return WebAddress(scheme, host, port, _target(parts))


def next_address(address: WebAddress, location: str) -> WebAddress:
    """Return where a redirect leads.

    Raises:
        AddressError: nowhere that may be fetched.
    """
    try:
        joined = urljoin(str(address), location.strip())
    except ValueError:
        raise AddressError(NO_ADDRESS.format(text=ascii(location[:100]))) from None
    following = read_address(joined)
    if address.scheme == "https" and following.scheme == "http":
        raise AddressError("it leads from https to http, where anybody may change what is read")
    return following


def _scheme(parts: SplitResult, shown: str) -> Literal["http", "https"]:
    match parts.scheme:
        case "http" | "https":
            return parts.scheme
        case "":
            raise AddressError(NO_ADDRESS.format(text=shown))
        case scheme:
            raise AddressError(NO_SCHEME.format(scheme=scheme[:20]))


def _host(host: str, shown: str) -> str:
    """Return a host as it is looked up.

    Raises:
        AddressError: it is none, or written so that it could be taken for another.
    """
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host if "%" not in host else "").compressed
        except ValueError:
            raise AddressError(NO_ADDRESS.format(text=shown)) from None
    name = _ascii_name(host, shown)
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise AddressError(ODD_NUMBER.format(host=ascii(host[:100]))) from None
    if len(name) > MOST_HOST_CHARACTERS or not all(map(_LABEL.fullmatch, name.split("."))):
        raise AddressError(NO_ADDRESS.format(text=shown))
    return name


def _ascii_name(host: str, shown: str) -> str:
    """Return a name in the letters in which it is looked up."""
    if len(host) > MOST_HOST_CHARACTERS:
        raise AddressError(NO_ADDRESS.format(text=shown))
    if host.isascii():
        return host.lower().removesuffix(".")
    try:
        return idna.encode(host, uts46=True).decode("ascii").lower().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        raise AddressError(NO_ADDRESS.format(text=shown)) from None


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_KEPT_IN_TARGETS, errors="replace")
    query = quote(parts.query, safe=_KEPT_IN_TARGETS, errors="replace")
    return f"{path}?{query}" if query else path
