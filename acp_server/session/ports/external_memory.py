"""External memory as one session uses it: text it adds to prompts, and the turns it receives.

The added text becomes part of the conversation or the system prompt and is stored with them. The
memory provider itself is behind the port.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from acp_server.memory.provider_types import ProviderReply, TurnMessage
from acp_server.session.user_notices import UserNotices
from acp_server.turn.conversation import AssistantMessage, Conversation, Message, Text, UserMessage

RECALLED = "[What the memory {name!r} recalls; the user did not say it:\n{text}\n]"


class ExternalMemoryPort(Protocol):
    """A memory kept by an external provider for all sessions."""

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    async def system_block(self) -> ProviderReply:
        """Return the text to add to a system prompt."""
        ...

    async def prefetch(self, query: str) -> ProviderReply:
        """Return memories that match a prompt."""
        ...

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        """Pass on a completed turn in the background; `warn` receives a sentence if that fails."""
        ...


class ExternalMemorySession:
    """The external memory of one session; does nothing if none is configured."""

    def __init__(
        self, memory: ExternalMemoryPort | None, notices: UserNotices, conversation: Conversation
    ) -> None:
        self._memory = memory
        self._notices = notices
        self._conversation = conversation
        self._shown_notices: set[str] = set()
        self._turn_texts: list[Text] = []
        """The user's texts in the running turn."""

    async def system_block(self) -> str:
        """Return the text for the system prompt."""
        return "" if self._memory is None else self._text_of(await self._memory.system_block())

    async def recall(self, message: UserMessage) -> Sequence[Text]:
        """Return memories that match a user message, and note the message for `end_turn`."""
        texts = [part for part in message.parts if isinstance(part, Text) and part.text.strip()]
        if self._memory is None or not texts:
            return ()
        self._turn_texts += texts  # before the await: a cancelled prompt was said all the same
        query = "\n".join(part.text for part in texts)
        text = self._text_of(await self._memory.prefetch(query))
        recalled = RECALLED.format(name=self._memory.name, text=text)
        return (Text(recalled, is_remark=True),) if text else ()

    def end_turn(self) -> None:
        """Hand over the turn that has just ended, if the user said anything in it."""
        # Cleared first, also without a memory: the next turn must not hand these over again.
        inputs, self._turn_texts = self._turn_texts, []
        if self._memory is not None and inputs:
            self._memory.record_turn(
                list(_turn_messages(tuple(self._conversation), inputs)), self._notify_once
            )

    def _text_of(self, reply: ProviderReply) -> str:
        if reply.notice:
            self._notify_once(reply.notice)
        return reply.text

    def _notify_once(self, notice: str) -> None:
        """Show a notice to the user, once."""
        if notice not in self._shown_notices:
            self._shown_notices.add(notice)
            self._notices.add(notice)


def _turn_messages(messages: Sequence[Message], inputs: Sequence[Text]) -> Iterator[TurnMessage]:
    """Yield the turn's messages.

    If a compaction has removed the user's texts, they come first, followed by the last message.
    """
    # Compared by identity: the user may have sent the same words in an earlier turn.
    ids = {id(part) for part in inputs}
    indexes = [n for n, each in enumerate(messages) if any(id(part) in ids for part in each.parts)]
    if not indexes:
        yield TurnMessage("user", "\n".join(part.text for part in inputs))
    for message in messages[indexes[0] if indexes else -1 :]:
        is_reply = isinstance(message, AssistantMessage)
        texts = [
            part.text
            for part in message.parts
            if isinstance(part, Text) and (is_reply or id(part) in ids)
        ]
        if texts:
            yield TurnMessage("assistant" if is_reply else "user", "\n".join(texts))
