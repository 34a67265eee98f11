"""Digests of all that decides a run besides its task: prompt, tools, skills and settings.

Two runs with equal digests differ by their task and by chance alone. Facts of the machine and paths
of the workspace do not count, so that runs in different clones are comparable.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import cast

from pydantic import JsonValue, SecretStr

from acp_server.config.settings import Settings
from acp_server.config.table import setting_values
from acp_server.turn.ports import ModelRequest
from prompt_engine.machine_facts import mask_machine_facts

WORKSPACE = "(workspace)"
_UNCOUNTED = frozenset({"record", "replay", "strict", "log_file", "log_level"})
"""Settings that change no request."""


def request_digests(request: ModelRequest, workspace: Path) -> dict[str, str]:
    """Return the digests of a request's system prompt and tools."""
    prompt = mask_machine_facts(request.system).replace(str(workspace), WORKSPACE)
    tools = [[each.name, each.description, dict(each.schema)] for each in request.tools]
    return {"prompt": _digest(prompt), "tools": _digest(json.dumps(tools, sort_keys=True))}


def settings_digest(settings: Settings) -> str:
    """Return the digest of all settings but secrets."""
    values = {
        name: _plain(value)
        for name, value in setting_values(settings).items()
        if name not in _UNCOUNTED
    }
    return _digest(json.dumps(values, sort_keys=True))


def skills_digest(skills: JsonValue) -> str:
    """Return the digest of the skills that were loaded, as the server has reported them."""
    return _digest(json.dumps(skills, sort_keys=True))


def _plain(value: object) -> JsonValue:
    """Return a value that is the same in every process: sets have no order there."""
    match value:
        case SecretStr():
            return None
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return {str(name): _plain(each) for name, each in pairs}
        case frozenset() | set():
            return [*sorted(map(repr, cast("frozenset[object]", value)))]
        case tuple() | list():
            return [_plain(each) for each in cast("Sequence[object]", value)]
        case _:
            return repr(value)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
