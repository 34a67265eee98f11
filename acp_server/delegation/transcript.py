"""What a task was told and has said, written down with the session that handed it on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from acp_server.session.records import Journal, TaskMessage
from acp_server.turn.conversation import Message


@dataclass(slots=True)
class Transcript:
    """Keeps the conversation of one task."""

    journal: Journal
    call_id: str
    """The call that delegated."""
    number: int
    _kept: list[Message] = field(default_factory=list[Message], init=False)

    def append(self, message: Message) -> None:
        """Keep a message behind all others."""
        self._kept.append(message)
        self.journal.show(TaskMessage(self.call_id, self.number, message))

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Keep what is new in a conversation that was summed up; what was before stays kept."""
        for message in messages:
            if message not in self._kept:
                self.append(message)
