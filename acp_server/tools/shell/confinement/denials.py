"""Detect in a command's output that the sandbox has probably refused something.

The kernel reports a refusal to the command only, so this is a heuristic over its output. Pipes hide
exit codes (`npm install 2>&1 | tail`), so the output of a command that succeeded is searched, too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_QUOTED_LINES = 3
MAX_QUOTED_CHARACTERS = 200
SCANNED_CHARACTERS = 20_000
"""Counted from the end, because errors come last."""

DenialKind = Literal["files", "network", "localhost", "sockets", "keys"]
_SOCKET_SIGNS = r"address family not supported|EAFNOSUPPORT|listen EPERM"
_NETWORK_SIGNS = (
    r"network is unreachable|name resolution|could ?n.t resolve|could not resolve"
    r"|name or service not known|nodename nor servname|failed to (?:lookup|resolve)|getaddrinfo"
    r"|no matching distribution found|unknownhostexception|no such host"
    r"|tunnel connection failed|connect tunnel failed|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b"
)
_HERE = r"\b(?:localhost|127\.0\.0\.1|::1)\b"
_NOT_CONNECTED = r"(?:failed to connect|connection refused|ECONNREFUSED)"
_LOCALHOST_SIGNS = rf"{_NOT_CONNECTED}.*{_HERE}|{_HERE}.*{_NOT_CONNECTED}"
_KEY_SIGNS = (
    r"gpg failed to sign|gpg: signing failed|failed to write commit object|couldn.t load public key"
    r"|permission denied \(publickey|no secret key|host key verification failed"
)
_FILE_SIGNS = (
    r"permission denied|operation not permitted|read-only file system"
    r"|\b(?:EACCES|EPERM|EROFS)\b|acp-server: this cannot be confined"
)
_SIGNS: Sequence[tuple[DenialKind, re.Pattern[str]]] = (
    ("keys", re.compile(_KEY_SIGNS, re.IGNORECASE)),
    ("sockets", re.compile(_SOCKET_SIGNS, re.IGNORECASE)),
    ("network", re.compile(_NETWORK_SIGNS, re.IGNORECASE)),
    ("localhost", re.compile(_LOCALHOST_SIGNS, re.IGNORECASE)),
    ("files", re.compile(_FILE_SIGNS, re.IGNORECASE)),
)
"""The first that a line shows counts."""
_SYSTEM_MESSAGE = re.compile(
    r"(?:[:\]] |^)(?:Permission denied|Operation not permitted)(?:[.']?$| \(os error|: ['\"/])"
    r"|read-only file system",
    re.IGNORECASE,
)
"""The C library's wording; of refused files, the only sign that counts if the command succeeded."""
_REFUSED = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
"""How a program says that it may not connect to a Unix socket."""

REMARK = "[The sandbox may have refused this: {lines}. {advice}]"
UNREACHABLE = "[This machine cannot connect to {sites}; network=true would not help.]"
REFUSED_SITES = "[The sandbox refused connections to {sites}. {advice}]"
_FILES = (
    "Confined commands write in the workspace and $TMPDIR only, and read no keys. If "
    "it is needed, run it again with unconfined=true: the user is asked."
)
_SOCKETS = (
    "Confined commands have Unix sockets below $TMPDIR at most, and no datagrams over them. If "
    "they are needed, run it again with unconfined=true: the user is asked."
)
_OTHER_SOCKETS = (
    "Confined commands connect to Unix sockets below $TMPDIR only. If another is needed, run it "
    "again with unconfined=true: the user is asked."
)
_KEYS = (
    "Confined commands read no keys for signatures and ssh. If it is needed, run it again with "
    "unconfined=true: the user is asked. Do not turn signatures off instead."
)
_NO_NETWORK = (
    "Confined commands have no network but a localhost of their own, which all of this session "
    "share. If it is needed, run it again with network=true: the user is asked."
)
_HOSTS = (
    "Confined commands reach other hosts only by the proxy in HTTP_PROXY and HTTPS_PROXY, which "
    "asks the user for each. If that cannot be, run it again with network=true: the user is asked."
)
_NO_LOCALHOST = (
    "On this machine confined commands have no network at all, not even localhost: run server and "
    "client with network=true: the user is asked."
)
_LOCALHOST = (
    "The localhost of confined commands is their own: a server must run confined, too, and still "
    "run."
)
_ALLOW_HOST = "Go on without it, or ask the user what to do."


@frozen_dataclass
class DenialContext:
    """What is known of a command besides its output."""

    has_failed: bool
    only_reads: bool = False
    """Whether it only prints what it reads: then words in its output are no errors."""
    has_network: bool = False
    has_hosts: bool = False
    """Whether it reaches other hosts by the proxy."""
    has_localhost: bool = True
    refused_sites: Sequence[str] = ()
    refused_sockets: Sequence[str] = ()
    unreachable_sites: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sites that are allowed, but cannot be reached from this machine either, and why."""


def describe_denial(output: str, context: DenialContext) -> str:
    """Return a remark about refused operations, as far as the output shows them.

    >>> describe_denial("fine", DenialContext(has_failed=True))
    ''
    """
    if context.refused_sites:
        return REFUSED_SITES.format(sites=", ".join(context.refused_sites), advice=_ALLOW_HOST)
    if context.unreachable_sites:
        sites = "; ".join(f"{site} ({why})" for site, why in context.unreachable_sites.items())
        return UNREACHABLE.format(sites=sites)
    is_refused = _REFUSED.search(output[-SCANNED_CHARACTERS:]) is not None
    if context.refused_sockets and (context.has_failed or is_refused):
        sockets = ", ".join(context.refused_sockets[-MAX_QUOTED_LINES:])
        return REFUSED_SITES.format(sites=sockets, advice=_OTHER_SOCKETS)
    distinct_lines = dict.fromkeys(output[-SCANNED_CHARACTERS:].splitlines())
    cleaned_lines = (line.strip().replace("`", "'") for line in distinct_lines)
    found: list[tuple[DenialKind, str]] = [
        (kind, line) for line in cleaned_lines for kind in _kinds_of(line, context)
    ]
    if not found:
        return ""
    quoted = "; ".join(f"`{line[:MAX_QUOTED_CHARACTERS]}`" for _, line in found[-MAX_QUOTED_LINES:])
    advice = " ".join(dict.fromkeys(_advice(kind, context) for kind, _ in found))
    return REMARK.format(lines=quoted, advice=advice)


def _kinds_of(line: str, context: DenialContext) -> Iterator[DenialKind]:
    """Yield the kind of refusal that a line shows, if any."""
    kind: DenialKind | None = next((each for each, sign in _SIGNS if sign.search(line)), None)
    if kind is None or (context.only_reads and not context.has_failed):
        return
    if kind in {"network", "localhost"} and context.has_network:
        return
    if kind == "files" and not context.has_failed and not _SYSTEM_MESSAGE.search(line):
        return
    yield kind


def _advice(kind: DenialKind, context: DenialContext) -> str:
    match kind:
        case "files":
            return _FILES
        case "keys":
            return _KEYS
        case "sockets":
            return _SOCKETS
        case "localhost" if context.has_localhost:
            return _LOCALHOST
        case _ if not context.has_localhost:
            return _NO_LOCALHOST
        case _:
            return _HOSTS if context.has_hosts else _NO_NETWORK
