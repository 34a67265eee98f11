"""The kinds of values that settings have, each understood from what a person would write.

Knows no setting by name and reads nothing: neither files nor the environment.
"""

import re
import shlex
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PositiveFloat,
    SecretStr,
    Tag,
)

MOST_HOOK_SECONDS = 600.0
LogLevel = Literal["debug", "info", "warning", "error"]
DefaultMode = Literal["ask", "accept_edits", "plan", "bypass"]
ApiMode = Literal["", "chat_completions", "codex_responses", "responses", "anthropic_messages"]
"""The forms of API that a provider may speak, as a Hermes home calls them."""


def expanded(path: Path) -> Path:
    """Return a path with its `~` expanded, or as it stands where nobody has such a home."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _words(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _off(value: object) -> object:
    """Return the word for what YAML makes of a bare `off`."""
    return "off" if value is False else value


def _private_place(place: str) -> str:
    """Return a place as it was written; one with a slash in it must be a network."""
    if "/" in place:
        ip_network(place, strict=False)
    elif not re.fullmatch(r"[\w.:-]+", place):
        raise ValueError("is no host, no address and no network; write none with https://")
    return place


def _number_as_text(value: object) -> object:
    """Return a port or the like as a variable holds it."""
    return str(value) if type(value) in (int, float) else value


UserPath: TypeAlias = Annotated[Path, AfterValidator(expanded)]
Names: TypeAlias = Annotated[
    tuple[str, ...], BeforeValidator(_one_or_more, json_schema_input_type=str | tuple[str, ...])
]
"""Several names, or one by itself."""
Paths: TypeAlias = Annotated[
    tuple[UserPath, ...],
    BeforeValidator(_one_or_more, json_schema_input_type=str | tuple[str, ...]),
]
"""Several paths, or one by itself."""
PrivatePlaces: TypeAlias = Annotated[
    tuple[Annotated[str, AfterValidator(_private_place)], ...],
    BeforeValidator(_one_or_more, json_schema_input_type=str | tuple[str, ...]),
]
"""Hosts by name, addresses, or networks such as `10.0.0.0/8`; or one by itself."""
CommandWords: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Field(min_length=1)],
    BeforeValidator(_words, json_schema_input_type=str | tuple[str, ...]),
]
"""A program and its arguments, or a line that is split as a shell splits words."""
SecretText: TypeAlias = Annotated[
    SecretStr, BeforeValidator(_number_as_text, json_schema_input_type=str | float)
]
ReviewWrites: TypeAlias = Annotated[Literal["apply", "propose", "off"], BeforeValidator(_off)]
WebSearch: TypeAlias = Annotated[Literal["off", "auto"], BeforeValidator(_off)]
SandboxMode: TypeAlias = Annotated[Literal["off", "workspace", "strict"], BeforeValidator(_off)]
CuratorMode: TypeAlias = Annotated[Literal["off", "auto"], BeforeValidator(_off)]


class PlatformHint(BaseModel):
    """How the hint of a surface is changed: replaced, or added to."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    replace: str = ""
    append: str = ""


class TurnHook(BaseModel):
    """A command that is run after each turn. It is told of it in JSON, on stdin."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    command: Annotated[str, Field(min_length=1, description="A line for the shell")]
    timeout_seconds: Annotated[
        float, Field(gt=0, le=MOST_HOOK_SECONDS, description="When it is ended")
    ] = 10.0


class ToolHook(TurnHook):
    """A command that is run before or after calls of tools."""

    match: Annotated[
        str, Field(min_length=1, description="Names of tools: `write_file|patch`, `github__*`")
    ] = "*"


class _McpServer(BaseModel):
    """What every server of the Model Context Protocol may be told. What else is there is let be."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    enabled: bool = True
    timeout: Annotated[PositiveFloat, Field(description="The most seconds of a call")] = 120.0
    connect_timeout: Annotated[
        PositiveFloat, Field(description="The most seconds until it answers at first")
    ] = 60.0


class StdioServer(_McpServer):
    """A server that is a program of ours, spoken to over its stdin and stdout."""

    type: Literal["stdio"] = "stdio"
    command: Annotated[str, Field(min_length=1)]
    args: tuple[str, ...] = ()
    env: Mapping[str, SecretText] = {}
    cwd: UserPath | None = None


class HttpServer(_McpServer):
    """A server at an address, spoken to over streamable HTTP."""

    type: Literal["http"] = "http"
    url: Annotated[str, Field(pattern="^https?://")]
    headers: Mapping[str, SecretText] = {}


class SseServer(_McpServer):
    """A server at an address, spoken to over server-sent events."""

    type: Annotated[Literal["sse"], Field(validation_alias=AliasChoices("type", "transport"))]
    url: Annotated[str, Field(pattern="^https?://")]
    headers: Mapping[str, SecretText] = {}


def _server_type(value: object) -> str:
    """Return how a server is spoken to: as it says, else by whether it has an address."""
    if isinstance(value, StdioServer | HttpServer | SseServer):
        return value.type
    given = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    said = given.get("type") or given.get("transport")
    if said in ("stdio", "http", "sse"):
        return str(said)
    return "http" if "url" in given and "command" not in given else "stdio"


McpServer: TypeAlias = Annotated[
    Annotated[StdioServer, Tag("stdio")]
    | Annotated[HttpServer, Tag("http")]
    | Annotated[SseServer, Tag("sse")],
    Discriminator(_server_type),
]
