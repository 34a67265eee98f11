"""What a session tells its model beside the conversation: the port, and a plain way to provide it.

The system prompt is written from facts that are read once and frozen; instructions that lie in
folders come along with the results of the calls which touched them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.turn.conversation import Conversation


@frozen
class Subject:
    """Whom a system prompt is written for."""

    model_id: str
    window_tokens: int | None
    """The model's window, if it is known and not assumed."""
    tools: frozenset[str]
    """The names of the tools that are sent along."""
    skills_index: str = ""
    """The section that lists the skills."""
    external_memory: str = ""
    """The section of the external memory."""


@frozen
class Delivery:
    """Instructions for the model, and which they are, for the user."""

    text: str
    labels: tuple[str, ...]
    notices: tuple[str, ...] = ()


@frozen
class LoadedFile:
    """A file of instructions that the model was given."""

    path: str
    """As the model is told it: relative to the session's folder, or absolute."""
    sha256: str
    """Of the text that was given, in UTF-8."""
    characters: int
    is_truncated: bool = False


class Briefing(Protocol):
    """What one session tells its model."""

    async def gather(self) -> None:
        """Read the facts while nobody waits for them."""
        ...

    async def write(self, subject: Subject) -> str:
        """Return the system prompt; written again, it is made of what the facts are then."""
        ...

    def notices(self) -> Sequence[str]:
        """Return what the user is to know of the prompt that was written last, once."""
        ...

    def description(self) -> str:
        """Return what the prompt holds, as Markdown."""
        ...

    def loaded(self) -> Sequence[LoadedFile]:
        """Return the files of instructions that the model was given, here and on the way."""
        ...

    async def findings(self) -> str:
        """Return what the workspace turned out to be, as a list in Markdown."""
        ...

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return what the project asks for in its files of instructions; the nearest counts."""
        ...

    def remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return what the model is to be told with the next prompt, and does not know yet."""
        ...

    def state(self) -> Mapping[str, JsonValue]:
        """Return what another process needs to go on from the prompt that was written last."""
        ...

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Go on from a prompt of a former process; return whether it is still as files say."""
        ...

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """Return what is new for touched paths (absolute), under the same keys, in that order."""
        ...

    def listen(self, show: Callable[[str], bool]) -> None:
        """Have the user told when something of it changes on the disk, a sentence at a time.

        `show` returns whether the user sees it at once; what he does not is among the notices.
        """
        ...

    def close(self) -> None:
        """Tell nothing any more."""
        ...


class PlainBriefing:
    """A system prompt that is given, and nothing else."""

    def __init__(self, system: str = "") -> None:
        self.system = system

    async def gather(self) -> None:
        """There is nothing to read."""

    async def write(self, subject: Subject) -> str:
        """Return what was given."""
        del subject
        return self.system

    def notices(self) -> Sequence[str]:
        """There are none."""
        return ()

    def description(self) -> str:
        """Say how long it is."""
        return f"The system prompt has {len(self.system):,} characters."

    def loaded(self) -> Sequence[LoadedFile]:
        """There are none."""
        return ()

    async def findings(self) -> str:
        """Nothing was looked for."""
        return ""

    def project_settings(self) -> Mapping[str, JsonValue]:
        """There are none."""
        return {}

    def remarks(self, conversation: Conversation) -> Sequence[str]:
        """There are none."""
        del conversation
        return ()

    def state(self) -> Mapping[str, JsonValue]:
        """There is nothing to go on from."""
        return {}

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Say whether it is the prompt that was given."""
        del state
        return text == self.system

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """There are none."""
        del conversation, touched
        return {}

    def listen(self, show: Callable[[str], bool]) -> None:
        """Nothing changes."""

    def close(self) -> None:
        """There is nothing to end."""
