"""The interface of external memory providers, for this package and for those of others.

A provider complements `MEMORY.md` and `USER.md`; it never replaces them. `docs/memory.md` shows how
to write one. Cheap to import.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class MemoryContext:
    """The session that a provider is opened for. `repr` does not show the keys."""

    session_id: str
    workspace: Path
    """The session's directory."""
    user: str
    """The name of the user on this machine."""
    home: Path
    """HERMES_HOME."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables of the environment and of HERMES_HOME/.env whose names begin with the provider's
    name, such as HONCHO_API_KEY, and those that the setting `memory.provider_keys` names."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The setting `memory.provider_settings`."""


@frozen_dataclass
class TurnMessage:
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@frozen_dataclass
class MemoryWrite:
    """A change of `MEMORY.md` or `USER.md`, by entries."""

    target: Literal["memory", "user"]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


MirrorWrite = Callable[[MemoryWrite], None]
"""Passes a change on to the external memory."""


def ignore_write(write: MemoryWrite) -> None:
    """Do nothing: no external memory follows the built-in one."""
    del write


@frozen_dataclass
class MemoryTool:
    """A tool of a provider for the model."""

    name: str
    description: str
    """Part of every request to the model: keep it short."""
    parameters: Mapping[str, JsonValue]
    """JSON schema of an object."""
    run: Callable[[Mapping[str, JsonValue]], str]
    """Takes the arguments, unchecked, and returns the result for the model."""
    is_read_only: bool = False
    """Whether its calls change nothing. Others are refused in plan mode."""


class MemoryProvider:
    """Base class of providers; every method is optional.

    There is one provider for each session. Methods may block: they run outside the event loop, one
    at a time, and may raise any exception, which the user is told of. All but `tools`, the tools
    themselves and `on_session_end` must return within two seconds.
    """

    def system_block(self) -> str:
        """Return the text for the system prompt, which stays the same for the whole session."""
        return ""

    def prefetch(self, query: str) -> str:
        """Return remembered text that fits a prompt of the user; empty if there is none."""
        del query
        return ""

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Receive the messages of a finished turn."""
        del messages

    def tools(self) -> Sequence[MemoryTool]:
        """Return the provider's tools."""
        return ()

    def before_compaction(self, messages: Sequence[TurnMessage]) -> str:
        """Receive a conversation that is about to be summarized; return what must be kept."""
        del messages
        return ""

    def on_memory_write(self, write: MemoryWrite) -> None:
        """Receive a change of the built-in memory."""
        del write

    def on_session_end(self, messages: Sequence[TurnMessage]) -> None:
        """Receive the whole conversation when its session is closed, and release resources."""
        del messages


class ProviderUnavailableError(Exception):
    """A provider cannot be opened; the text tells the user why, and what to do."""


@frozen_dataclass
class ProviderReply:
    """Result of a provider call: a text, or a notice for the user why there is none."""

    text: str = ""
    notice: str = ""
