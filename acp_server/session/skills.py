"""What a session knows of skills: a port, and no skills at all as one way to provide it.

A skill is a method, kept in a file. The model finds it in an index in its system prompt; the user
calls it with a slash. Where skills are, who may see which and how they are written is not known
here.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from acp_server.frozen import frozen
from acp_server.session.commands import Command, CommandRegistry, Offer
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import Sink

SHOW_SKILLS = "List the skills, their state, and what is kept back"
NONE = "There are no skills in this session."

IsBuiltIn = Callable[[str], bool]
"""Whether a command of a name, without the slash, is the session's own."""


@frozen
class Want:
    """Whom an index is written for."""

    tools: frozenset[str]
    """The names of the tools that are there."""
    preferred: tuple[str, ...] = ()
    """The names of skills that the project prefers."""


class SkillCallError(Exception):
    """The skill that the user called cannot be loaded; the text says why and what to do."""


class Skills(Protocol):
    """The skills of one session."""

    @property
    def loaded(self) -> Sequence[str]:
        """The names of the skills that the model was given, in their order."""
        ...

    def listen(self, on_change: Callable[[], None]) -> None:
        """Have a function called whenever the commands are others than before."""
        ...

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[Offer]:
        """Return the commands that load a skill, by name; one of a built-in name is prefixed."""
        ...

    async def called(self, text: str, is_built_in: IsBuiltIn) -> str | None:
        """Return what the model is told when a prompt calls skills; None if it calls none.

        Raises:
            SkillCallError: one of them cannot be loaded.
        """
        ...

    async def index(self, want: Want) -> str:
        """Return the section of the system prompt that lists the skills; empty without any."""
        ...

    async def waiting(self) -> Sequence[str]:
        """Return the names of the workspace's own skills that only wait for the user's trust."""
        ...

    async def description(self) -> str:
        """Return which skills there are, in what state, and what is kept back, as Markdown."""
        ...

    def close(self) -> None:
        """Follow no changes any more."""
        ...


class NoSkills:
    """There are none."""

    @property
    def loaded(self) -> Sequence[str]:
        """There is none that could have been."""
        return ()

    def listen(self, on_change: Callable[[], None]) -> None:
        """Nothing changes."""

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[Offer]:
        """There are none."""
        del is_built_in
        return ()

    async def called(self, text: str, is_built_in: IsBuiltIn) -> str | None:
        """There are none to call."""
        del text, is_built_in

    async def index(self, want: Want) -> str:
        """There is nothing to list."""
        del want
        return ""

    async def waiting(self) -> Sequence[str]:
        """There are none."""
        return ()

    async def description(self) -> str:
        """Say so."""
        return NONE

    def close(self) -> None:
        """There is nothing to follow."""


class SkillDesk:
    """One session's skills, from when they are there, and their commands beside its own."""

    def __init__(self, commands: CommandRegistry) -> None:
        self.on_offer: Callable[[], None] = _nobody
        """Called when the commands are others than before."""
        self._registry = commands
        self._skills: Skills = NoSkills()
        self._is_closed = False

    @property
    def loaded(self) -> Sequence[str]:
        """The names of the skills that the model was given, in their order."""
        return self._skills.loaded

    def take(self, skills: Skills) -> None:
        """Use these from now on."""
        self._skills = skills
        skills.listen(self._offer)
        if self._is_closed:  # they were still being looked for
            skills.close()
        self._offer()

    async def expanded(self, message: UserMessage) -> UserMessage | None:
        """Return a prompt that calls skills with what they say in it; None if it calls none.

        Raises:
            SkillCallError: a skill that it calls cannot be loaded.
        """
        for at, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip():
                told = await self._skills.called(part.text, self._registry.is_known)
                before, after = message.parts[:at], message.parts[at + 1 :]
                return UserMessage((*before, Text(told), *after)) if told else None
        return None

    async def index(self, want: Want) -> str:
        """Return the section of the system prompt that lists the skills."""
        return await self._skills.index(want)

    async def waiting(self) -> Sequence[str]:
        """Return the names of the workspace's own skills that only wait for the user's trust."""
        return await self._skills.waiting()

    def command(self, prepare: Callable[[], Awaitable[object]]) -> Command:
        """Return `/skills`; `prepare` has the skills found."""

        async def show(arguments: str, sink: Sink) -> str:
            del arguments, sink
            await prepare()
            return await self._skills.description()

        return Command("skills", SHOW_SKILLS, show)

    def close(self) -> None:
        """Follow no changes any more."""
        self._is_closed = True
        self._skills.close()

    def _offer(self) -> None:
        self._registry.offer(self._skills.commands(self._registry.is_known))
        self.on_offer()


def _nobody() -> None: ...
