"""The skill port of a session, and its commands.

A skill is a method described in a file. The model finds it in an index in the system prompt; the
user calls it as a slash command. Locations, visibility and file format are hidden behind the port.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from acp_server.session.commands.registry import CommandRegistry, ListedCommand, SlashCommand
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import TurnSink

SHOW_SKILLS = "List the skills, their state, and the withheld ones"
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

    def on_change(self, on_change: Callable[[], None]) -> None:
        """Register a function to call whenever the commands change."""
        ...

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[ListedCommand]:
        """Return the commands that load a skill; a name that a built-in command has is prefixed."""
        ...

    async def expand_calls(self, text: str, is_built_in: IsBuiltIn) -> str | None:
        """Return the model's text for a prompt that calls skills; None if it calls none.

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

    def on_change(self, on_change: Callable[[], None]) -> None:
        """Do nothing: the commands never change."""

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[ListedCommand]:
        """Return no commands."""
        del is_built_in
        return ()

    async def expand_calls(self, text: str, is_built_in: IsBuiltIn) -> str | None:
        """Return None."""
        del text, is_built_in

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


class SkillCommands:
    """Skills for one session: forwards to the skill port, once set, and lists their commands."""

    def __init__(self, commands: CommandRegistry) -> None:
        self.on_change: Callable[[], None] = _ignore_change
        """Called when the commands change."""
        self._registry = commands
        self._skills: SkillsPort = NoSkills()
        self._is_closed = False

    @property
    def loaded(self) -> Sequence[str]:
        """Names of the skills that were delivered to the model, in order."""
        return self._skills.loaded

    def set_skills(self, skills: SkillsPort) -> None:
        """Use these skills from now on."""
        self._skills = skills
        skills.on_change(self._list_commands)
        if self._is_closed:  # the session was closed while they were being loaded
            skills.close()
        self._list_commands()

    async def expand(self, message: UserMessage) -> UserMessage | None:
        """Return a prompt with the called skills' texts inserted; None if it calls none.

        Raises:
            SkillCallError: a called skill cannot be loaded.
        """
        for position, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip():
                # Only the first text counts: a command is recognised at the start of a prompt.
                expanded = await self._skills.expand_calls(part.text, self._registry.is_known)
                before, after = message.parts[:position], message.parts[position + 1 :]
                return UserMessage((*before, Text(expanded), *after)) if expanded else None
        return None

    async def index(self, request: SkillIndexRequest) -> str:
        """Return the system-prompt section that lists the skills."""
        return await self._skills.index(request)

    async def untrusted_names(self) -> Sequence[str]:
        """Return names of workspace skills that are unusable only because trust is missing."""
        return await self._skills.untrusted_names()

    def command(self, prepare: Callable[[], Awaitable[object]]) -> SlashCommand:
        """Return `/skills`; `prepare` loads the skills first."""

        async def show(arguments: str, sink: TurnSink) -> str:
            del arguments, sink
            await prepare()
            return await self._skills.describe()

        return SlashCommand("skills", SHOW_SKILLS, show)

    def close(self) -> None:
        """Stop following changes."""
        self._is_closed = True
        self._skills.close()

    def _list_commands(self) -> None:
        self._registry.set_listed(self._skills.commands(self._registry.is_known))
        self.on_change()


def _ignore_change() -> None: ...
