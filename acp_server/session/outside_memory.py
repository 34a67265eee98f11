"""One session and the external memory of its server: what it adds, and what it is told.

What it adds stands in the conversation, or in the system prompt, and is kept with these. Who
remembers, and where, is not known here.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from acp_server.memory.replies import Reply, TurnMessage
from acp_server.session.bulletin import Bulletin
from acp_server.turn.conversation import AssistantMessage, Conversation, Message, Text, UserMessage

RECALLED = "[What the memory {name!r} recalls; the user did not say it:\n{text}\n]"


class ExternalMemory(Protocol):
    """A memory that somebody else keeps, for all sessions."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    async def system_block(self) -> Reply:
        """Return what it adds to a system prompt."""
        ...

    async def prefetch(self, query: str) -> Reply:
        """Return what it remembers of a prompt."""
        ...

    def hand_over(self, said: Sequence[TurnMessage], tell: Callable[[str], None]) -> None:
        """Give it a turn that has ended, in the background; `tell` takes a sentence if it fails."""
        ...


class OutsideMemory:
    """The external memory, as one session uses it; without one, nothing happens."""

    def __init__(
        self, memory: ExternalMemory | None, bulletin: Bulletin, conversation: Conversation
    ) -> None:
        self._memory = memory
        self._bulletin = bulletin
        self._conversation = conversation
        self._told: set[str] = set()
        self._heard: list[Text] = []
        """What the user has said in the turn that runs."""

    async def block(self) -> str:
        """Return what the system prompt is to say from it."""
        return "" if self._memory is None else self._text_of(await self._memory.system_block())

    async def recalled(self, message: UserMessage) -> Sequence[Text]:
        """Return what is recalled of something that the user says; it is heard, too."""
        words = [part for part in message.parts if isinstance(part, Text) and part.text.strip()]
        if self._memory is None or not words:
            return ()
        self._heard += words
        query = "\n".join(part.text for part in words)
        text = self._text_of(await self._memory.prefetch(query))
        return (Text(RECALLED.format(name=self._memory.name, text=text)),) if text else ()

    def end_turn(self) -> None:
        """Hand over what was said in the turn that has just ended, if it was one."""
        heard, self._heard = self._heard, []
        if self._memory is not None and heard:
            self._memory.hand_over(list(_said(tuple(self._conversation), heard)), self._tell)

    def _text_of(self, reply: Reply) -> str:
        if reply.notice:
            self._tell(reply.notice)
        return reply.text

    def _tell(self, notice: str) -> None:
        """Tell the user, once."""
        if notice not in self._told:
            self._told.add(notice)
            self._bulletin.say(notice)


def _said(messages: Sequence[Message], heard: Sequence[Text]) -> Iterator[TurnMessage]:
    """Return what was said from the first words on; of these, what a summary left of them."""
    ids = {id(part) for part in heard}  # the same words may have been said before
    begun = [n for n, each in enumerate(messages) if any(id(part) in ids for part in each.parts)]
    if not begun:
        yield TurnMessage("user", "\n".join(part.text for part in heard))
    for message in messages[begun[0] if begun else -1 :]:
        is_reply = isinstance(message, AssistantMessage)
        texts = [
            part.text
            for part in message.parts
            if isinstance(part, Text) and (is_reply or id(part) in ids)
        ]
        if texts:
            yield TurnMessage("assistant" if is_reply else "user", "\n".join(texts))
