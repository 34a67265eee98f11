"""Names of servers' tools for the model: `server__tool`.

Pure. Names depend on the set of servers and tools, not on their order. A server's part never
contains two consecutive underscores and never ends in one, so the first `__` ends it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence

MOST_CHARACTERS = 64
MOST_SERVER_CHARACTERS = 30
DIGEST_CHARACTERS = 8
SEPARATOR = "__"

_OTHERS = re.compile(r"[^a-zA-Z0-9_-]")
_RUNS = re.compile(r"_{2,}")


def server_names(names: Sequence[str]) -> dict[str, str]:
    """Return the name part of each server, unique among the servers."""
    plain = {name: _server_part(name) for name in names}
    return {name: _unique(name, part, plain) for name, part in plain.items()}


def _server_part(name: str) -> str:
    part = _RUNS.sub("_", _OTHERS.sub("_", name)).strip("_") or "server"
    if len(part) <= MOST_SERVER_CHARACTERS:
        return part
    return _digested(part, name, MOST_SERVER_CHARACTERS)


def _unique(name: str, part: str, parts: dict[str, str]) -> str:
    """Return a unique name part; a server with exactly this name keeps it without a digest."""
    is_shared = sum(each == part for each in parts.values()) > 1
    return _digested(part, name, MOST_SERVER_CHARACTERS) if is_shared and part != name else part


def tool_names(server: str, tools: Collection[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return the full names of a server's tools by their own; `server` is its name part.

    Names that are too long, in `reserved` or not unique get a digest.
    """
    plain = {tool: server + SEPARATOR + _OTHERS.sub("_", tool) for tool in dict.fromkeys(tools)}
    times = Counter(plain.values())
    return {
        tool: name
        if len(name) <= MOST_CHARACTERS
        and name not in taken
        and (times[name] == 1 or name == server + SEPARATOR + tool)
        else _digested(name, tool, MOST_CHARACTERS)
        for tool, name in plain.items()
    }


def _digested(text: str, of: str, most: int) -> str:
    digest = hashlib.sha256(of.encode(errors="surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    return f"{text[: most - DIGEST_CHARACTERS - 1].rstrip('_')}_{digest}"
