"""The ids of tool calls: every endpoint has its own idea of them, and a conversation has all.

An id stays as its endpoint gave it, for some models read it, and is made to fit on the way to
another that would refuse it: the same id always in the same way.
"""

import re
from hashlib import sha256

MOST_CHARACTERS = 40
"""The least that an endpoint allows: that of chat completions."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARACTERS = 8


def fitting_call_id(call_id: str) -> str:
    """Return an id as every endpoint takes it; one that fits stays as it is.

    >>> fitting_call_id("toolu_01A")
    'toolu_01A'
    >>> fitting_call_id("functions.look:0")
    'functions_look_0-73c5b1a2'
    """
    if call_id and len(call_id) <= MOST_CHARACTERS and not _UNFIT.search(call_id):
        return call_id
    digest = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    kept = _UNFIT.sub("_", call_id)[: MOST_CHARACTERS - _DIGEST_CHARACTERS - 1]
    return f"{kept}-{digest}"
