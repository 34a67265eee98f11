"""What a session tells an external memory of a turn, and what it says of one that fails."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from acp_server.memory.provider import MemoryTool, MemoryWrite, ProviderReply, TurnMessage
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.user_notices import UserNotices
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Text,
    ToolResult,
    UserMessage,
)

FAILED = "It failed."


class FakeMemoryProvider:
    """Recalls always the same, or fails always; knows what it was told."""

    name = "test"

    def __init__(self, reply: ProviderReply) -> None:
        self.reply = reply
        self.recorded: list[TurnMessage] = []
        self.ended: list[TurnMessage] = []
        self.writes: list[MemoryWrite] = []
        self.tools: Sequence[MemoryTool] = ()

    def open(self) -> None:
        return

    async def wait_ready(self) -> None:
        return

    async def before_compaction(self, messages: Sequence[TurnMessage]) -> ProviderReply:
        del messages
        return self.reply

    async def call_tool(
        self, tool: MemoryTool, arguments: Mapping[str, JsonValue]
    ) -> ProviderReply:
        return ProviderReply(tool.run(arguments))

    def mirror(self, write: MemoryWrite, warn: Callable[[str], None]) -> None:
        del warn
        self.writes.append(write)

    async def close(self, messages: Sequence[TurnMessage]) -> None:
        self.ended += messages

    async def system_block(self) -> ProviderReply:
        return self.reply

    async def prefetch(self, query: str) -> ProviderReply:
        del query
        return self.reply

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        self.recorded += messages
        if self.reply.notice:
            warn(self.reply.notice)


def prompt(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def test_a_turn_is_stored_without_added_context() -> None:
    memory, conversation = FakeMemoryProvider(ProviderReply("recalled")), Conversation()
    session = ExternalMemorySession(memory, UserNotices(), conversation)
    conversation.append(prompt("go on"))
    conversation.append(AssistantMessage((Text("Earlier."),)))
    first, aside = prompt("go on"), prompt("with tabs")
    recalled = await session.recall(first)
    conversation.append(UserMessage((*first.parts, *recalled)))
    conversation.append(AssistantMessage((Text("I begin."),)))
    aside_context = await session.recall(aside)
    conversation.append(UserMessage((ToolResult("c", "result"), *aside.parts, *aside_context)))
    conversation.append(AssistantMessage((Text("Done."),)))
    session.end_turn()
    assert memory.recorded == [
        TurnMessage("user", "go on"),
        TurnMessage("assistant", "I begin."),
        TurnMessage("user", "with tabs"),
        TurnMessage("assistant", "Done."),
    ]


async def test_a_turn_that_was_compacted_is_stored_as_far_as_it_remains() -> None:
    memory, conversation = FakeMemoryProvider(ProviderReply()), Conversation()
    session = ExternalMemorySession(memory, UserNotices(), conversation)
    assert await session.recall(prompt("sum")) == ()
    conversation.rebuild([prompt("A summary."), AssistantMessage((Text("Done."),))])
    session.end_turn()
    assert memory.recorded == [TurnMessage("user", "sum"), TurnMessage("assistant", "Done.")]


async def test_a_failure_is_reported_once_and_nothing_is_added() -> None:
    notices = UserNotices()
    memory = FakeMemoryProvider(ProviderReply(notice=FAILED))
    session = ExternalMemorySession(memory, notices, Conversation([prompt("hi")]))
    assert await session.system_block() == ""
    assert await session.recall(prompt("hi")) == ()
    session.end_turn()
    assert notices.take() == [FAILED]


async def test_without_a_memory_nothing_happens() -> None:
    session = ExternalMemorySession(None, UserNotices(), Conversation())
    assert (await session.system_block(), await session.recall(prompt("hi"))) == ("", ())
    session.end_turn()


async def test_a_command_is_not_stored_as_a_turn() -> None:
    memory = FakeMemoryProvider(ProviderReply("recalled"))
    ExternalMemorySession(memory, UserNotices(), Conversation([prompt("before")])).end_turn()
    assert memory.recorded == []


async def test_the_end_of_a_session_hands_over_what_was_said_without_remarks() -> None:
    memory = FakeMemoryProvider(ProviderReply())
    said = UserMessage((Text("go on"), Text("[a remark]", is_remark=True), ToolResult("c", "r")))
    conversation = Conversation([said, AssistantMessage((Text("Done."),))])
    await ExternalMemorySession(memory, UserNotices(), conversation).close()
    assert memory.ended == [TurnMessage("user", "go on"), TurnMessage("assistant", "Done.")]


async def test_tools_stay_the_same_until_the_prompt_is_written_again() -> None:
    memory = FakeMemoryProvider(ProviderReply())
    session = ExternalMemorySession(memory, UserNotices(), Conversation())
    await session.wait_ready()
    memory.tools = (MemoryTool("late", "", {"type": "object"}, lambda _: ""),)
    await session.wait_ready()
    assert session.tools == ()
    session.refresh_tools()
    assert [tool.name for tool in session.tools] == ["late"]
