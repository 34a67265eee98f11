"""External memory as one session uses it: text it adds to prompts, and the turns it receives.

The added text becomes part of the conversation or the system prompt and is stored with them. The
memory provider itself is behind the port.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from acp_server.memory.provider import MemoryTool, MemoryWrite, ProviderReply, TurnMessage
from acp_server.session.user_notices import UserNotices
from acp_server.turn.conversation import AssistantMessage, Conversation, Message, Text, UserMessage

RECALLED = "[What the memory {name!r} recalls; the user did not say it:\n{text}\n]"


class ExternalMemoryPort(Protocol):
    """The memory that an external provider keeps for one session."""

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    def open(self) -> None:
        """Start to load the provider in the background."""
        ...

    async def wait_ready(self) -> None:
        """Wait until the provider is loaded, in all at most as long as is configured."""
        ...

    @property
    def tools(self) -> Sequence[MemoryTool]:
        """The provider's tools; none before it is loaded."""
        ...

    async def system_block(self) -> ProviderReply:
        """Return the text to add to a system prompt."""
        ...

    async def prefetch(self, query: str) -> ProviderReply:
        """Return memories that match a prompt."""
        ...

    async def before_compaction(self, messages: Sequence[TurnMessage]) -> ProviderReply:
        """Return what a summary of these messages must keep."""
        ...

    async def call_tool(
        self, tool: MemoryTool, arguments: Mapping[str, JsonValue]
    ) -> ProviderReply:
        """Return the result of a tool; the notice is the error if it failed."""
        ...

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        """Pass on a completed turn in the background; `warn` receives a sentence if that fails."""
        ...

    def mirror(self, write: MemoryWrite, warn: Callable[[str], None]) -> None:
        """Pass on a change of the built-in memory in the background."""
        ...

    async def close(self, messages: Sequence[TurnMessage]) -> None:
        """Pass on the end of the session; waits for a moment."""
        ...


OpenExternalMemory = Callable[[str, Path], ExternalMemoryPort | None]
"""Returns the memory of a session, by its id and directory; None if none is configured."""


def no_external_memory(session_id: str, workspace: Path) -> None:
    """Return none."""
    del session_id, workspace


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
        self._tools: tuple[MemoryTool, ...] | None = None

    def open(self) -> None:
        """Start to load the provider in the background."""
        if self._memory is not None:
            self._memory.open()

    async def wait_ready(self) -> None:
        """Wait briefly for a provider that is still starting, then freeze its tools; only once."""
        if self._memory is not None and self._tools is None:
            await self._memory.wait_ready()
            self.refresh_tools()

    def refresh_tools(self) -> None:
        """Freeze the tools again, for a system prompt that is written again."""
        if self._memory is not None:
            self._tools = tuple(self._memory.tools)

    @property
    def tools(self) -> Sequence[MemoryTool]:
        """The provider's tools; they change only when the system prompt is written again."""
        return self._tools or ()

    async def call_tool(
        self, tool: MemoryTool, arguments: Mapping[str, JsonValue]
    ) -> ProviderReply:
        """Return the result of one of the tools; the notice is the error if it failed."""
        if self._memory is None:
            return ProviderReply()
        return await self._memory.call_tool(tool, arguments)

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

    async def before_compaction(self) -> str:
        """Return what a summary of the conversation must keep, besides what it would keep."""
        if self._memory is None:
            return ""
        return self._text_of(await self._memory.before_compaction(self._all_messages()))

    def mirror(self, write: MemoryWrite) -> None:
        """Pass on a change of the built-in memory."""
        if self._memory is not None:
            self._memory.mirror(write, self._notify_once)

    def end_turn(self) -> None:
        """Hand over the turn that has just ended, if the user said anything in it."""
        # Cleared first, also without a memory: the next turn must not hand these over again.
        inputs, self._turn_texts = self._turn_texts, []
        if self._memory is not None and inputs:
            self._memory.record_turn(
                list(_turn_messages(tuple(self._conversation), inputs)), self._notify_once
            )

    async def close(self) -> None:
        """Hand over the end of the session."""
        if self._memory is not None:
            await self._memory.close(self._all_messages())

    def _all_messages(self) -> Sequence[TurnMessage]:
        """Return the conversation without remarks, attachments and tool calls."""
        messages: list[TurnMessage] = []
        for message in self._conversation:
            parts = message.parts
            texts = [each.text for each in parts if isinstance(each, Text) and not each.is_remark]
            if texts:
                role = "assistant" if isinstance(message, AssistantMessage) else "user"
                messages.append(TurnMessage(role, "\n".join(texts)))
        return messages

    def _text_of(self, reply: ProviderReply) -> str:
        self._notify_once(reply.notice)
        return reply.text

    def _notify_once(self, notice: str) -> None:
        """Show a notice to the user, once."""
        if notice and notice not in self._shown_notices:
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
