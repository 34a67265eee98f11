"""Web addresses: parsing, validation and one canonical form.

Pure. Security: an address is parsed once, and the permission question, the connection and the
request use the same parts. So no second parser can find another host in it.
"""

import ipaddress
import re
from typing import Literal
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.web.errors import AddressError

MAX_URL_CHARACTERS = 4_000
MAX_HOST_CHARACTERS = 253
DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SAFE_IN_TARGETS = "/?:@!$&'()*+,;=~%[]|^`{}\"<>-._"

NOT_AN_ADDRESS = "{text} is not a web address; give one that begins with https:// or http://"
UNSUPPORTED_SCHEME = "only https:// and http:// addresses can be fetched, not {scheme}:"
CREDENTIALS_IN_ADDRESS = "an address with a name or password in it is not fetched"
AMBIGUOUS_HOST = "{host} is an odd way to write a number; give the host by name"


@frozen_dataclass
class WebAddress:
    """A parsed URL."""

    scheme: Literal["http", "https"]
    host: str
    """A lower-case ASCII name or an IP address; an IPv6 address has no brackets."""
    port: int
    target: str
    """Path and query, as sent in the request."""

    @property
    def site(self) -> str:
        """The host, with the port unless it is 80 or 443."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in DEFAULT_PORTS.values() else f"{host}:{self.port}"

    @property
    def authority(self) -> str:
        """The host, with the port unless it is the default of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_address(text: str) -> WebAddress:
    """Parse an address.

    >>> str(parse_address("HTTPS://Example.COM:443/a b".replace(" ", "%20")))
    'https://example.com/a%20b'

    Raises:
        AddressError: It is no address that may be fetched.
    """
    text = text.strip()
    shown = ascii(text[:100])
    if len(text) > MAX_URL_CHARACTERS or _FORBIDDEN.search(text):
        raise AddressError(NOT_AN_ADDRESS.format(text=shown))
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise AddressError(NOT_AN_ADDRESS.format(text=shown)) from None
    scheme = _check_scheme(parts, shown)
    # Security: `https://trusted.example@evil.example/` shows one host and connects to another.
    if "@" in parts.netloc:
        raise AddressError(CREDENTIALS_IN_ADDRESS)
    host = _canonical_host(parts.hostname or "", shown)
    port = DEFAULT_PORTS[scheme] if port is None else port
    if port == 0:
        raise AddressError(NOT_AN_ADDRESS.format(text=shown))
    path = quote(parts.path or "/", safe=_SAFE_IN_TARGETS, errors="replace")
    query = quote(parts.query, safe=_SAFE_IN_TARGETS, errors="replace")
    return WebAddress(scheme, host, port, f"{path}?{query}" if query else path)


def resolve_redirect(address: WebAddress, location: str) -> WebAddress:
    """Return the target of a redirect.

    Raises:
        AddressError: The target may not be fetched.
    """
    try:
        joined = urljoin(str(address), location.strip())
    except ValueError:
        raise AddressError(NOT_AN_ADDRESS.format(text=ascii(location[:100]))) from None
    redirected = parse_address(joined)
    # Security: no downgrade from an authenticated to an unauthenticated connection.
    if address.scheme == "https" and redirected.scheme == "http":
        raise AddressError("it redirects from https to http, where anybody can change the page")
    return redirected


def _check_scheme(parts: SplitResult, shown: str) -> Literal["http", "https"]:
    match parts.scheme:
        case "http" | "https":
            return parts.scheme
        case "":
            raise AddressError(NOT_AN_ADDRESS.format(text=shown))
        case scheme:
            raise AddressError(UNSUPPORTED_SCHEME.format(scheme=scheme[:20]))


def _canonical_host(host: str, shown: str) -> str:
    """Return a host in the form for DNS lookup.

    Raises:
        AddressError: It is no host, or is ambiguous.
    """
    if ":" in host:
        try:
            # A zone id (`%eth0`) is rejected: it selects a local interface.
            return ipaddress.IPv6Address(host if "%" not in host else "").compressed
        except ValueError:
            raise AddressError(NOT_AN_ADDRESS.format(text=shown)) from None
    name = _ascii_name(host, shown)
    # Security: resolvers also accept octal, hexadecimal and short forms (0x7f.1 is 127.0.0.1), so a
    # host that ends in a number must be a plain IPv4 address.
    if _NUMERIC_LABEL.fullmatch(name.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise AddressError(AMBIGUOUS_HOST.format(host=ascii(host[:100]))) from None
    if len(name) > MAX_HOST_CHARACTERS or not all(map(_LABEL.fullmatch, name.split("."))):
        raise AddressError(NOT_AN_ADDRESS.format(text=shown))
    return name


def _ascii_name(host: str, shown: str) -> str:
    """Return a host name in its ASCII form (IDNA)."""
    if len(host) > MAX_HOST_CHARACTERS:
        raise AddressError(NOT_AN_ADDRESS.format(text=shown))
    if host.isascii():
        return host.lower().removesuffix(".")
    try:
        return idna.encode(host, uts46=True).decode("ascii").lower().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        raise AddressError(NOT_AN_ADDRESS.format(text=shown)) from None
