"""The skill port of a session.

A skill is a method described in a file. The model finds it in an index in the system prompt; the
user calls it as a slash command. Locations, visibility and file format are hidden behind the port.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from acp_server.session.commands.command import ListedCommand
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink

NO_SKILLS = "There are no skills in this session."

IsBuiltIn = Callable[[str], bool]
"""Returns whether a command name, without the slash, belongs to the session itself."""


@frozen_dataclass
class SkillIndexRequest:
    """Inputs for rendering the skill index."""

    tools: frozenset[str]
    """Names of the available tools."""
    preferred: tuple[str, ...] = ()
    """Names of skills that the project prefers."""


class SkillCallError(Exception):
    """A skill that the user called cannot be loaded; the text says why and how to fix it."""


class SkillsPort(Protocol):
    """The skills of one session."""

    @property
    def loaded(self) -> Sequence[str]:
        """Names of the skills that were delivered to the model, in order."""
        ...

    async def load(self, on_change: Callable[[], None]) -> None:
        """Find the skills; `on_change` is called whenever the commands change from now on."""
        ...

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[ListedCommand]:
        """Return the commands that load a skill; a name that a built-in command has is prefixed."""
        ...

    async def expand_calls(self, text: str, is_built_in: IsBuiltIn, sink: TurnSink) -> str | None:
        """Return the model's text for a prompt that calls skills; None if it calls none.

        The user may be asked about variables that a skill declares.

        Raises:
            SkillCallError: one of them cannot be loaded.
        """
        ...

    async def index(self, request: SkillIndexRequest) -> str:
        """Return the system-prompt section that lists the skills; empty if there are none."""
        ...

    async def untrusted_names(self) -> Sequence[str]:
        """Return names of workspace skills that are unusable only because trust is missing."""
        ...

    async def describe(self) -> str:
        """Describe all skills, their state, and the withheld ones as Markdown."""
        ...

    def close(self) -> None:
        """Stop following changes."""
        ...


class NoSkills:
    """A skill port without skills."""

    @property
    def loaded(self) -> Sequence[str]:
        """No names."""
        return ()

    async def load(self, on_change: Callable[[], None]) -> None:
        """Do nothing: there are no commands."""

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[ListedCommand]:
        """Return no commands."""
        del is_built_in
        return ()

    async def expand_calls(self, text: str, is_built_in: IsBuiltIn, sink: TurnSink) -> None:
        """Return None."""
        del text, is_built_in, sink

    async def index(self, request: SkillIndexRequest) -> str:
        """Return an empty section."""
        del request
        return ""

    async def untrusted_names(self) -> Sequence[str]:
        """Return no names."""
        return ()

    async def describe(self) -> str:
        """Report that there are no skills."""
        return NO_SKILLS

    def close(self) -> None:
        """Do nothing."""
