"""Value types of settings, with lenient parsing of the forms that users write.

Knows no setting by name; reads neither files nor the environment.
"""

import os
import re
import shlex
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    Tag,
)

from acp_server.startup.late_models import LateModel
from acp_server.text.validation_errors import WEB_URL_PATTERN

MAX_HOOK_SECONDS = 600.0
HERMES_HOOK_SECONDS = 60
MAX_HERMES_HOOK_SECONDS = 300
HERMES_TOOL_NAMES = {"web_fetch": "web_extract"}
"""Hermes' names of our tools where they differ."""
_OWN_ENDPOINT_KEYS = ("base_url", "key_env", "api_key_env", "api_key", "api_mode", "context_length")
"""Keys of a fallback that cannot be written as `PROVIDER:MODEL`."""
LogLevel = Literal["debug", "info", "warning", "error"]
DefaultMode = Literal["ask", "accept_edits", "plan", "bypass"]
ApiMode = Literal["", "chat_completions", "codex_responses", "responses", "anthropic_messages"]
"""The APIs that a provider may speak, by their names in Hermes configs."""


def expand_user(path: Path) -> Path:
    """Return a path with `~` expanded, or unchanged if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _join_lines(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    texts = (str(each).strip() for each in cast("list[object]", value))
    return "\n".join(filter(None, texts))


def _split_words(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _normalize_off(value: object) -> object:
    """Return "off" for false: YAML parses a bare `off` as a boolean."""
    return "off" if value is False else value


def _normalize_network(value: object) -> object:
    """Return "off" and "on" for booleans: YAML parses bare words so, and the setting was one."""
    return {"false": "off", "true": "on"}.get(str(value).lower(), value)


def _normalize_fast_mode(value: object) -> object:
    """Return whether fast mode is on for the words that Hermes has for a speed.

    `auto` and `cold` are fast for a part of a session there. They are off here: each change of the
    speed costs a prompt cache.
    """
    word = str(value).strip().lower()
    if word in {"fast", "priority", "ultrafast"}:
        return True
    is_off = word in {"", "none", "normal", "default", "standard", "auto", "cold"}
    return False if is_off else value


def _normalize_word(value: object) -> object:
    """Return a word in lower case without spaces around it; nothing (YAML's null) as empty."""
    return value.strip().lower() if isinstance(value, str) else value or ""


def _validate_private_host(host: str) -> str:
    """Validate a host, an address or, if it has a slash, a network; return it unchanged."""
    if "/" in host:
        ip_network(host, strict=False)
    elif not re.fullmatch(r"[\w.:-]+", host):
        raise ValueError("is not a host, address or network; write it without https://")
    return host


def _validate_words(command: str) -> str:
    """Validate that a command can be split into words; return it unchanged."""
    if not shlex.split(command):
        raise ValueError("must not be empty")
    return command


def _hermes_timeout(value: object) -> object:
    """Return the seconds that Hermes would wait: it clamps them, and mends what is no number."""
    try:
        seconds = int(str(value))
    except ValueError:
        return HERMES_HOOK_SECONDS
    return min(seconds, MAX_HERMES_HOOK_SECONDS) if seconds >= 1 else HERMES_HOOK_SECONDS


def _validate_time_zone(name: str) -> str:
    """Validate the name of a time zone; return it unchanged."""
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is not a time zone; write it as `Europe/Paris`") from None
    return name


def _number_as_text(value: object) -> object:
    """Return a number, such as a port, as text: environment variables are texts."""
    return str(value) if type(value) in (int, float) else value


def _as_fallbacks(value: object) -> object:
    """Return models as a list; one that is only named, as `{provider, model}`, as text.

    An entry without both is ignored, as Hermes ignores it.
    """
    entries = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    fallbacks: list[object] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            fallbacks.append(entry)
            continue
        found = cast("Mapping[str, object]", entry)
        given = {key for key, each in found.items() if each}
        if not {"provider", "model"} <= given:
            continue
        is_plain = given.isdisjoint(_OWN_ENDPOINT_KEYS)
        fallbacks.append(f"{found['provider']}:{found['model']}" if is_plain else found)
    return fallbacks


Paragraphs: TypeAlias = Annotated[
    str, BeforeValidator(_join_lines, json_schema_input_type=str | tuple[str, ...])
]
"""A text, or a list of texts that are lines of it."""
TimeZone: TypeAlias = Annotated[str, AfterValidator(_validate_time_zone)]
UserPath: TypeAlias = Annotated[Path, AfterValidator(expand_user)]
Names: TypeAlias = Annotated[
    tuple[str, ...], BeforeValidator(_as_list, json_schema_input_type=str | tuple[str, ...])
]
"""A list of names, or a single name."""
Paths: TypeAlias = Annotated[
    tuple[UserPath, ...],
    BeforeValidator(_as_list, json_schema_input_type=str | tuple[str, ...]),
]
"""A list of paths, or a single path."""
PrivateHosts: TypeAlias = Annotated[
    tuple[Annotated[str, AfterValidator(_validate_private_host)], ...],
    BeforeValidator(_as_list, json_schema_input_type=str | tuple[str, ...]),
]
"""A list of host names, addresses or networks such as `10.0.0.0/8`, or a single one."""
CommandWords: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Field(min_length=1)],
    BeforeValidator(_split_words, json_schema_input_type=str | tuple[str, ...]),
]
"""A program and its arguments, or one line that is split like a shell command."""
SecretText: TypeAlias = Annotated[
    SecretStr, BeforeValidator(_number_as_text, json_schema_input_type=str | float)
]
ReviewWrites: TypeAlias = Annotated[
    Literal["apply", "propose", "off"], BeforeValidator(_normalize_off)
]
WebSearch: TypeAlias = Annotated[Literal["off", "auto"], BeforeValidator(_normalize_off)]
FastModeSetting: TypeAlias = Annotated[
    bool, BeforeValidator(_normalize_fast_mode, json_schema_input_type=bool)
]
SandboxMode: TypeAlias = Annotated[
    Literal["off", "workspace", "strict"], BeforeValidator(_normalize_off)
]
NetworkSetting: TypeAlias = Annotated[
    Literal["off", "hosts", "on"],
    BeforeValidator(
        _normalize_network, json_schema_input_type=Literal["off", "hosts", "on"] | bool
    ),
]
PortSetting: TypeAlias = Annotated[
    Literal["off", "ask", "on"],
    BeforeValidator(_normalize_network, json_schema_input_type=Literal["off", "ask", "on"] | bool),
]
ApprovalMode: TypeAlias = Annotated[
    Literal["manual", "smart", "off"], BeforeValidator(_normalize_off)
]
CuratorMode: TypeAlias = Annotated[Literal["off", "auto"], BeforeValidator(_normalize_off)]


class FallbackEndpoint(LateModel):
    """A fallback model with settings of its own, as Hermes writes it. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    provider: Annotated[str, Field(min_length=1, description="A provider, or `custom`")]
    model: Annotated[str, Field(min_length=1)]
    base_url: Annotated[
        str | None, Field(pattern=WEB_URL_PATTERN, description="Its address, if not the provider's")
    ] = None
    key_env: Annotated[
        str,
        Field(
            validation_alias=AliasChoices("key_env", "api_key_env"),
            description="The environment variable with its API key",
        ),
    ] = ""
    api_key: SecretText | None = None
    api_mode: ApiMode = ""
    context_length: PositiveInt | None = None


Fallbacks: TypeAlias = Annotated[
    tuple[str | FallbackEndpoint, ...],
    BeforeValidator(
        _as_fallbacks,
        json_schema_input_type=str | FallbackEndpoint | tuple[str | FallbackEndpoint, ...],
    ),
]
"""A list of models, or a single one: each `MODEL`, `PROVIDER:MODEL`, or a mapping with the
provider, the model and perhaps an endpoint of its own."""


class PlatformHint(LateModel):
    """A change to a surface's hint: a replacement or an addition."""

    model_config = ConfigDict(frozen=True)

    replace: str = ""
    append: str = ""


class TurnHook(LateModel):
    """A command that runs after each turn and receives its details as JSON on stdin."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Annotated[str, Field(min_length=1, description="A shell command line")]
    timeout_seconds: Annotated[
        float, Field(gt=0, le=MAX_HOOK_SECONDS, description="The timeout of the command")
    ] = 10.0


class ToolHook(TurnHook):
    """A command that runs before or after tool calls."""

    match: Annotated[
        str, Field(min_length=1, description="Tool names: `write_file|patch`, `github__*`")
    ] = "*"


class HermesHook(LateModel):
    """A command before or after tool calls as Hermes writes it. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    command: Annotated[
        str,
        Field(min_length=1, description="A program and its arguments; no shell reads them"),
        AfterValidator(_validate_words),
    ]
    matcher: Annotated[
        str | None, Field(description="Regular expression for whole tool names: `write_file|patch`")
    ] = None
    timeout: Annotated[
        float,
        BeforeValidator(_hermes_timeout, json_schema_input_type=float),
        Field(description="Seconds, at most 300"),
    ] = HERMES_HOOK_SECONDS

    def matches(self, tool: str) -> bool:
        """Return whether the hook is for a tool; an invalid expression is compared literally."""
        if not self.matcher:
            return True
        names = (tool, HERMES_TOOL_NAMES.get(tool, tool))
        try:
            pattern = re.compile(self.matcher)
        except re.error:
            return self.matcher in names
        return any(pattern.fullmatch(name) for name in names)

    def as_line(self) -> TurnHook:
        """Return the same command as a line for the shell."""
        words = shlex.split(os.path.expanduser(self.command))  # noqa: PTH111  more than a path
        return TurnHook(command=shlex.join(words), timeout_seconds=self.timeout)


class SamplingSetting(LateModel):
    """How an MCP server may ask the model, as Hermes writes it. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    enabled: bool = True
    max_tokens_cap: Annotated[PositiveInt, Field(description="The longest answer")] = 4096
    max_rpm: Annotated[PositiveInt, Field(description="Requests per minute")] = 10


class FeatureFilterSetting(LateModel):
    """Which features of an MCP server are used, as Hermes writes it. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    include: Annotated[Names, Field(description="The tools that are used; all if empty")] = ()
    exclude: Annotated[Names, Field(description="Tools that are not used")] = ()
    prompts: bool = True
    resources: bool = True


class _McpServerBase(LateModel):
    """Settings that all MCP servers have. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    enabled: bool = True
    timeout: Annotated[PositiveFloat, Field(description="Timeout of a tool call")] = 120.0
    connect_timeout: Annotated[
        PositiveFloat, Field(description="Timeout for starting and initializing")
    ] = 60.0
    sampling: SamplingSetting | None = None
    tools: FeatureFilterSetting | None = None


class StdioServer(_McpServerBase):
    """An MCP server that this server starts and reaches over stdin and stdout."""

    type: Literal["stdio"] = "stdio"
    command: Annotated[str, Field(min_length=1)]
    args: tuple[str, ...] = ()
    env: Mapping[str, SecretText] = {}
    cwd: UserPath | None = None


class OAuthSetting(LateModel):
    """How to sign in to an MCP server, as Hermes writes it. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    client_id: Annotated[str, Field(description="A client registered there; else one is made")] = ""
    client_secret: SecretText | None = None
    issuer: Annotated[
        str, Field(description="The sign-in server of the secret; else that of the first sign-in")
    ] = ""
    client_name: Annotated[str, Field(description="The name that this program registers with")] = ""
    scope: Annotated[str, Field(description="Scopes to ask for, separated by spaces")] = ""
    redirect_host: Annotated[
        Literal["127.0.0.1", "localhost"], Field(description="This machine's name in the redirect")
    ] = "127.0.0.1"
    redirect_port: Annotated[
        int, Field(ge=0, le=65_535, description="The port of the redirect; 0 for any free one")
    ] = 0
    timeout: Annotated[PositiveFloat, Field(description="How long a sign-in may take")] = 300.0


class _RemoteServer(_McpServerBase):
    """Settings of the MCP servers that are reached by a URL."""

    url: Annotated[str, Field(pattern=WEB_URL_PATTERN)]
    headers: Mapping[str, SecretText] = {}
    auth: Annotated[
        Annotated[
            Literal["", "oauth", "header", "none"],
            Field(description="`oauth` for a server with sign-in; `none` never signs in"),
        ],
        BeforeValidator(_normalize_word),
    ] = ""
    oauth: OAuthSetting | None = None


class HttpServer(_RemoteServer):
    """An MCP server reached over streamable HTTP."""

    type: Literal["http"] = "http"


class SseServer(_RemoteServer):
    """An MCP server reached over HTTP with server-sent events (deprecated in MCP)."""

    type: Annotated[Literal["sse"], Field(validation_alias=AliasChoices("type", "transport"))]


def _server_type(value: object) -> str:
    """Return the transport of a server: `type` or `transport` if given, else by `url`."""
    if isinstance(value, StdioServer | HttpServer | SseServer):
        return value.type
    entry = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    transport = entry.get("type") or entry.get("transport")
    if transport in ("stdio", "http", "sse"):
        return str(transport)
    return "http" if "url" in entry and "command" not in entry else "stdio"


def mcp_server_keys() -> tuple[str, ...]:
    """Return the keys that an MCP server may have, whatever its transport."""
    fields = (*StdioServer.model_fields, *HttpServer.model_fields)
    return tuple(dict.fromkeys((*fields, "transport")))


McpServerSetting: TypeAlias = Annotated[
    Annotated[StdioServer, Tag("stdio")]
    | Annotated[HttpServer, Tag("http")]
    | Annotated[SseServer, Tag("sse")],
    Discriminator(_server_type),
]
