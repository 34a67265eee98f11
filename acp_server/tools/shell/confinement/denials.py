"""Detect in a command's output that the sandbox has probably refused something.

The kernel reports a refusal to the command only, so this is a heuristic over its output.
"""

import re

MAX_QUOTED_LINES = 3
MAX_QUOTED_CHARACTERS = 200
SCANNED_CHARACTERS = 20_000
"""Counted from the end, because errors come last."""

_ANY_REFUSAL = re.compile(
    r"permission denied|operation not permitted|read-only file system|network is unreachable"
    r"|name resolution|could ?n.t resolve|could not resolve|name or service not known"
    r"|nodename nor servname|failed to (?:connect|lookup|resolve)|\b(?:EACCES|EPERM|EROFS)\b"
    r"|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b|acp-server: this cannot be confined",
    re.IGNORECASE,
)
_SYSTEM_REFUSAL = re.compile(
    r": (?:Permission denied|Operation not permitted|Read-only file system"
    r"|Network is unreachable)[.']?$"
)
"""The C library's wording; the only sign that counts if the command succeeded."""

REMARK = (
    "[The sandbox may have refused this: {lines}. Confined commands write in the workspace and "
    "the temporary folders only{network}, and read no keys. If it is needed, run it again with "
    "unconfined=true: the user is asked.]"
)
NO_NETWORK = ", have no network but their own localhost"


def describe_denial(output: str, *, has_failed: bool, has_network: bool) -> str:
    """Return a remark about refused operations, as far as the output shows them.

    >>> describe_denial("fine", has_failed=True, has_network=False)
    ''
    """
    pattern = _ANY_REFUSAL if has_failed else _SYSTEM_REFUSAL
    distinct_lines = dict.fromkeys(output[-SCANNED_CHARACTERS:].splitlines())
    cleaned_lines = (line.strip().replace("`", "'") for line in distinct_lines)
    lines = [line for line in cleaned_lines if pattern.search(line)]
    if not lines:
        return ""
    quoted = "; ".join(f"`{line[:MAX_QUOTED_CHARACTERS]}`" for line in lines[-MAX_QUOTED_LINES:])
    return REMARK.format(lines=quoted, network="" if has_network else NO_NETWORK)
