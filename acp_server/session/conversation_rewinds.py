"""Rewinds of one session's conversation: the points to go back to, and what was removed."""

from collections.abc import Mapping, Sequence

from acp_server.session.ports.archive import Journal, RemovedMessages
from acp_server.session.recorder import make_title
from acp_server.session.steering import prompt_parts
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation, Message, UserMessage


@frozen_dataclass
class Rewinding:
    """The conversation as it is to become: its first messages, and messages that come back."""

    kept: tuple[Message, ...]
    restored: tuple[Message, ...] = ()


class ConversationRewinds:
    """Rewinds the conversation; removed messages are stored, so that a rewind can be undone."""

    def __init__(
        self,
        conversation: Conversation,
        journal: Journal,
        removed: Mapping[str, tuple[Message, ...]],
    ) -> None:
        """Continue with the messages that were removed before, by checkpoint."""
        self._conversation = conversation
        self._journal = journal
        self._removed = dict(removed)

    def find(self, checkpoint: str) -> Rewinding | None:
        """Return how to go back to a prompt or an undo; None if its messages are not known."""
        messages = tuple(self._conversation)
        removed = self._removed.get(checkpoint)
        if removed is not None:
            return Rewinding(messages, removed)
        ids = _checkpoints(messages)
        return Rewinding(messages[: ids.index(checkpoint)]) if checkpoint in ids else None

    def find_next(self, checkpoint: str) -> Rewinding | None:
        """Return how to go back to a command, which has no message of its own, or to a prompt.

        The first later message counts, unless a summary may have replaced it.
        """
        found = self.find(checkpoint)
        if found is not None:
            return found
        messages = tuple(self._conversation)
        ids = _checkpoints(messages)
        later = [index for index, each in enumerate(ids) if each > checkpoint]
        if any(each and each < checkpoint for each in ids) or later[:1] == [0]:
            return Rewinding(messages[: later[0]] if later else messages)
        return None

    def find_titled(self, title: str) -> Rewinding | None:
        """Return how to go back to the only prompt with a title that names no checkpoint.

        Prompts of earlier versions do not name their checkpoints.
        """
        messages = tuple(self._conversation)
        found = [index for index, each in enumerate(messages) if _has_title(each, title)]
        return Rewinding(messages[: found[0]]) if len(found) == 1 else None

    def apply(self, rewinding: Rewinding, target: str, undo: str, added: Sequence[Message]) -> None:
        """Rewind to `target`, and append messages; going back to `undo` reverses it."""
        removed = tuple(self._conversation)[len(rewinding.kept) :]
        if target in self._removed:
            del self._removed[target]
            self._journal.show(RemovedMessages(target))
        self._removed[undo] = removed
        # Before the rebuild: a process that is killed in between has lost nothing.
        self._journal.show(RemovedMessages(undo, removed, target))
        self._conversation.rebuild((*rewinding.kept, *rewinding.restored, *added))


def _checkpoints(messages: Sequence[Message]) -> Sequence[str]:
    return [each.checkpoint if isinstance(each, UserMessage) else "" for each in messages]


def _has_title(message: Message, title: str) -> bool:
    if not isinstance(message, UserMessage) or message.checkpoint:
        return False
    parts = prompt_parts(message)
    return bool(parts) and make_title(parts) == title
