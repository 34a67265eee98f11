"""The port that compares files with what the model has seen of them."""

from collections.abc import Sequence
from typing import Protocol

from acp_server.turn.conversation import UserPart


class SeenFileChecks(Protocol):
    """Compares the files of a session with what its model has seen of them."""

    async def note_attachments(self, parts: Sequence[UserPart]) -> None:
        """Note which files are attached whole to the prompt that is being written."""
        ...

    async def describe_changes(self) -> str:
        """Describe, once, the files that changed since the model saw them; empty if none did."""
        ...


class NoSeenFileChecks:
    """A port for sessions without files."""

    async def note_attachments(self, parts: Sequence[UserPart]) -> None:
        """Do nothing."""
        del parts

    async def describe_changes(self) -> str:
        """Report no change."""
        return ""
