"""Transcript of a task, stored with the session that delegated it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from acp_server.session.ports.archive import Journal, TaskMessage
from acp_server.turn.conversation import Message


@dataclass(slots=True)
class TaskTranscript:
    """Stores the conversation of one task."""

    journal: Journal
    call_id: str
    """The delegating call."""
    number: int
    _messages: list[Message] = field(default_factory=list[Message], init=False)

    def append(self, message: Message) -> None:
        """Store a message at the end."""
        self._messages.append(message)
        self.journal.show(TaskMessage(self.call_id, self.number, message))

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Store the new messages of a compacted conversation; earlier ones stay stored."""
        for message in messages:
            if message not in self._messages:
                self.append(message)
