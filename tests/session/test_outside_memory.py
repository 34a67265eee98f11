"""What a session tells an external memory of a turn, and what it says of one that fails."""

from collections.abc import Callable, Sequence

from acp_server.memory.provider_types import Reply, TurnMessage
from acp_server.session.ports.external_memory import OutsideMemory
from acp_server.session.user_notices import Bulletin
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Text,
    ToolResult,
    UserMessage,
)

FAILED = "It failed."


class Remembering:
    """Recalls always the same, or fails always; knows what it was told."""

    name = "test"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.told: list[TurnMessage] = []

    async def system_block(self) -> Reply:
        return self.reply

    async def prefetch(self, query: str) -> Reply:
        del query
        return self.reply

    def hand_over(self, said: Sequence[TurnMessage], tell: Callable[[str], None]) -> None:
        self.told += said
        if self.reply.notice:
            tell(self.reply.notice)


def prompt(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def test_a_turn_is_told_as_it_was_said_without_what_came_along() -> None:
    memory, conversation = Remembering(Reply("recalled")), Conversation()
    outside = OutsideMemory(memory, Bulletin(), conversation)
    conversation.append(prompt("go on"))
    conversation.append(AssistantMessage((Text("Earlier."),)))
    first, aside = prompt("go on"), prompt("with tabs")
    recalled = await outside.recalled(first)
    conversation.append(UserMessage((*first.parts, *recalled)))
    conversation.append(AssistantMessage((Text("I begin."),)))
    heard = await outside.recalled(aside)
    conversation.append(UserMessage((ToolResult("c", "result"), *aside.parts, *heard)))
    conversation.append(AssistantMessage((Text("Done."),)))
    outside.end_turn()
    assert memory.told == [
        TurnMessage("user", "go on"),
        TurnMessage("assistant", "I begin."),
        TurnMessage("user", "with tabs"),
        TurnMessage("assistant", "Done."),
    ]


async def test_a_turn_that_was_summed_up_on_the_way_is_told_as_far_as_it_is_there() -> None:
    memory, conversation = Remembering(Reply()), Conversation()
    outside = OutsideMemory(memory, Bulletin(), conversation)
    assert await outside.recalled(prompt("sum")) == ()
    conversation.rebuild([prompt("A summary."), AssistantMessage((Text("Done."),))])
    outside.end_turn()
    assert memory.told == [TurnMessage("user", "sum"), TurnMessage("assistant", "Done.")]


async def test_a_failure_is_told_once_and_nothing_is_added() -> None:
    bulletin = Bulletin()
    memory = Remembering(Reply(notice=FAILED))
    outside = OutsideMemory(memory, bulletin, Conversation([prompt("hi")]))
    assert await outside.block() == ""
    assert await outside.recalled(prompt("hi")) == ()
    outside.end_turn()
    assert bulletin.take() == [FAILED]


async def test_without_a_memory_nothing_happens() -> None:
    outside = OutsideMemory(None, Bulletin(), Conversation())
    assert (await outside.block(), await outside.recalled(prompt("hi"))) == ("", ())
    outside.end_turn()


async def test_a_command_is_no_turn() -> None:
    memory = Remembering(Reply("recalled"))
    OutsideMemory(memory, Bulletin(), Conversation([prompt("before")])).end_turn()
    assert memory.told == []
