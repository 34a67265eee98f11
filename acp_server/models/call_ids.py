"""Tool call ids that every endpoint accepts.

Endpoints have different rules for call ids, and one conversation can contain ids from several of
them. An id is stored as its endpoint sent it, because some models read it, and is sanitized only
when it is sent to an endpoint. The mapping is deterministic, so that prompt caches stay valid.
"""

import re
from hashlib import sha256

MAX_CHARACTERS = 40
"""The strictest length limit of all endpoints: that of chat completions."""
_INVALID_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARACTERS = 8


def sanitize_call_id(call_id: str) -> str:
    """Return a form of the id that every endpoint accepts; a valid id is returned unchanged.

    >>> sanitize_call_id("toolu_01A")
    'toolu_01A'
    >>> sanitize_call_id("functions.look:0")
    'functions_look_0-73c5b1a2'
    """
    if call_id and len(call_id) <= MAX_CHARACTERS and not _INVALID_CHARACTER.search(call_id):
        return call_id
    # The digest keeps ids apart that become equal by replacing and cutting.
    digest = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    prefix = _INVALID_CHARACTER.sub("_", call_id)[: MAX_CHARACTERS - _DIGEST_CHARACTERS - 1]
    return f"{prefix}-{digest}"
