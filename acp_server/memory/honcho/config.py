"""Settings of Honcho: the files that all its programs share, read as Hermes reads them.

`HERMES_HOME/honcho.json`, else `~/.hermes/honcho.json`, else `~/.honcho/config.json`. The block of
a host in `hosts` comes before the keys of the file, and those before variables.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from pydantic import JsonValue

from acp_server.memory.provider import MemoryContext, ProviderUnavailableError
from acp_server.memory.provider_files import (
    first_bool,
    first_number,
    first_text,
    read_settings_file,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_object, as_text

HOST = "hermes"
"""The host whose settings Hermes uses, so that both programs have the same memory."""
MAX_ID_CHARACTERS, DIGEST_CHARACTERS = 100, 8
TIMEOUT_SECONDS = 30.0
RECALL_MODES = {"hybrid": (True, True), "context": (True, False), "tools": (False, True)}
"""By mode: whether context comes with prompts, and whether there are tools."""


@frozen_dataclass
class HonchoConfig:
    """How to reach Honcho, and as whom."""

    workspace: str
    session: str
    """The id of Honcho's session, by the strategy of the settings."""
    user_peer: str
    ai_peer: str
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    """Address of a server of one's own; empty: the environment's."""
    environment: str = "production"
    timeout_seconds: float = TIMEOUT_SECONDS
    saves_messages: bool = True
    has_context: bool = True
    has_tools: bool = True
    max_message_characters: int = 25_000
    reasoning_level: str = "low"
    context_tokens: int = 0
    """Limit of the recalled context; 0: that of the server."""


def read_honcho_config(context: MemoryContext, user_home: Path) -> HonchoConfig:
    """Return the settings for a session. Blocks.

    Raises:
        ProviderUnavailableError: the file cannot be read, or there is neither key nor address.
    """
    file = read_settings_file(_settings_path(context.home, user_home))
    keys = context.keys
    host = first_text(keys.get("HERMES_HONCHO_HOST"), _profile_host(context.home)) or first_text(
        file.get("defaultHost"), HOST
    )
    block = _host_block(as_object(file.get("hosts", {})), host)
    own = context.settings

    def text(name: str, variable: str = "", default: str = "") -> str:
        values = (own.get(name), block.get(name), file.get(name), keys.get(variable))
        return first_text(*values, default)

    def flag(name: str, *, default: bool) -> bool:
        return first_bool(own.get(name), block.get(name), file.get(name), default=default)

    def number(name: str, default: float) -> float:
        return first_number(own.get(name), block.get(name), file.get(name), default=default)

    api_key = text("apiKey", "HONCHO_API_KEY")
    base_url = text("baseUrl", "HONCHO_BASE_URL") or first_text(file.get("base_url"))
    if not api_key and not base_url:
        message = (
            "it has no key; run `acp-server memory setup honcho`, or set HONCHO_API_KEY in "
            f"{context.home / '.env'}, or baseUrl in honcho.json for a server of your own"
        )
        raise ProviderUnavailableError(message)
    if not flag("enabled", default=True):
        message = "honcho.json has enabled: false for it"
        raise ProviderUnavailableError(message)
    has_context, has_tools = RECALL_MODES.get(text("recallMode"), RECALL_MODES["hybrid"])
    workspace, peer = text("workspace", default=host), text("peerName")
    session = _session_name(
        context,
        _SessionNaming(
            text("sessionStrategy", default="per-directory"),
            as_object(file.get("sessions", {})),
            workspace,
            f"{peer}-" if peer and flag("sessionPeerPrefix", default=False) else "",
        ),
    )
    return HonchoConfig(
        workspace=_as_id(workspace),
        session=session,
        user_peer=_as_id(peer or f"user-default-{session}"),
        ai_peer=_as_id(text("aiPeer", default=host)),
        api_key=api_key,
        base_url=base_url.rstrip("/"),
        environment=text("environment", "HONCHO_ENVIRONMENT", "production"),
        timeout_seconds=first_number(
            own.get("timeout"),
            block.get("timeout"),
            block.get("requestTimeout"),
            file.get("timeout"),
            file.get("requestTimeout"),
            keys.get("HONCHO_TIMEOUT"),
            default=TIMEOUT_SECONDS,
        ),
        saves_messages=flag("saveMessages", default=True),
        has_context=has_context,
        has_tools=has_tools,
        max_message_characters=int(number("messageMaxChars", 25_000)),
        reasoning_level=text("dialecticReasoningLevel", default="low"),
        context_tokens=int(number("contextTokens", 0)),
    )


def _settings_path(home: Path, user_home: Path) -> Path:
    """Return the first settings file that exists, else the one of the home."""
    own = home / "honcho.json"
    others = (user_home / ".hermes" / "honcho.json", user_home / ".honcho" / "config.json")
    return next((path for path in (own, *others) if path.exists()), own)


def _profile_host(home: Path) -> str:
    """Return the host of a Hermes profile, `HERMES_HOME` in `.../profiles/NAME`; else empty.

    >>> _profile_host(Path("/home/me/.hermes/profiles/work.1"))
    'hermes_work_1'
    """
    if home.parent.name != "profiles":
        return ""
    name = re.sub(r"[^\w-]", "_", home.name, flags=re.ASCII).strip("_")
    return f"{HOST}_{name or 'profile'}"


def _host_block(hosts: Object, host: str) -> Object:
    """Return the block of a host; an older form of profiles has a dot."""
    older = host.replace(f"{HOST}_", f"{HOST}.", 1)
    return as_object(hosts.get(host, {})) or as_object(hosts.get(older, {}))


@frozen_dataclass
class _SessionNaming:
    strategy: str
    by_directory: Mapping[str, JsonValue]
    workspace: str
    prefix: str


def _session_name(context: MemoryContext, naming: _SessionNaming) -> str:
    """Return the id of Honcho's session: as Hermes names it in the same directory."""
    directory = context.workspace
    if naming.strategy == "per-session":
        return _as_id(naming.prefix + context.session_id)
    chosen = as_text(naming.by_directory.get(str(directory), ""))
    if chosen:
        return _as_id(chosen)
    if naming.strategy == "per-repo":
        return _as_id(naming.prefix + _repository_name(directory))
    if naming.strategy == "global":
        return _as_id(naming.workspace)
    return _as_id(naming.prefix + directory.name)


def _repository_name(directory: Path) -> str:
    """Return the name of the repository's root, or of the directory if it is in none."""
    parents = (directory, *directory.parents)
    return next((each for each in parents if (each / ".git").exists()), directory).name


def _as_id(text: str) -> str:
    """Return an id that Honcho accepts: letters, digits, `_` and `-`, at most 100 characters.

    >>> _as_id("my project!"), len(_as_id("x" * 300))
    ('my-project-', 100)
    """
    name = re.sub(r"[^a-zA-Z0-9_-]", "-", text) or "default"
    if len(name) <= MAX_ID_CHARACTERS:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
    kept = name[: MAX_ID_CHARACTERS - DIGEST_CHARACTERS - 1].rstrip("-")
    return f"{kept}-{digest}"
