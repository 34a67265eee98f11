"""Names of servers' tools for the model: `server__tool`.

Pure. Names depend on the set of servers and tools, not on their order. A server's part never
contains two consecutive underscores and never ends in one, so the first `__` ends it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence

MAX_CHARACTERS = 64
MAX_SERVER_CHARACTERS = 30
DIGEST_CHARACTERS = 8
SEPARATOR = "__"
RESOURCE_TOOL = "read_mcp_resource"
"""Our own tool for the resources of servers."""
SAMPLING = "mcp_sampling"
"""The name of requests to the model in permission rules."""

_INVALID_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_UNDERSCORE_RUN = re.compile(r"_{2,}")


def server_name_parts(names: Sequence[str]) -> dict[str, str]:
    """Return the name part of each server, unique among the servers."""
    parts = {name: _server_part(name) for name in names}
    return {name: _unique_part(name, part, parts) for name, part in parts.items()}


def _server_part(name: str) -> str:
    part = _UNDERSCORE_RUN.sub("_", _INVALID_CHARACTER.sub("_", name)).strip("_") or "server"
    if len(part) <= MAX_SERVER_CHARACTERS:
        return part
    return _with_digest(part, name, MAX_SERVER_CHARACTERS)


def _unique_part(name: str, part: str, parts: dict[str, str]) -> str:
    """Return a unique name part; a server with exactly this name keeps it without a digest."""
    is_shared = sum(each == part for each in parts.values()) > 1
    return _with_digest(part, name, MAX_SERVER_CHARACTERS) if is_shared and part != name else part


def tool_names(
    server: str, tools: Collection[str], reserved: Collection[str] = ()
) -> dict[str, str]:
    """Return the full names of a server's tools by their own; `server` is its name part.

    Names that are too long, in `reserved` or not unique get a digest.
    """
    full_names = {
        tool: server + SEPARATOR + _INVALID_CHARACTER.sub("_", tool)
        for tool in dict.fromkeys(tools)
    }
    counts = Counter(full_names.values())
    return {
        tool: name
        if len(name) <= MAX_CHARACTERS
        and name not in reserved
        and (counts[name] == 1 or name == server + SEPARATOR + tool)
        else _with_digest(name, tool, MAX_CHARACTERS)
        for tool, name in full_names.items()
    }


def _with_digest(text: str, source: str, max_characters: int) -> str:
    digest = hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    return f"{text[: max_characters - DIGEST_CHARACTERS - 1].rstrip('_')}_{digest}"
