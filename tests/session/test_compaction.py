"""When a conversation is summed up, and that nothing is lost when it cannot be."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import pytest

from acp_server.session.prompting.compaction import TOO_SHORT, Compactor
from acp_server.turn.compaction import SUMMARY_HEADING
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    ToolCall,
    UserMessage,
)
from acp_server.turn.errors import ModelFailedError, TurnError
from acp_server.turn.events import CompactionChanged, NoticeRaised, SummaryChunk, Usage
from acp_server.turn.loop import TurnContext, UsageTotals
from acp_server.turn.ports import ModelRequest, TextDelta, UsageReported
from tests.turn.fake_sinks import MemorySink, SequentialIds
from tests.turn.turn_harness import (
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    echo_arguments,
    tool_call_events,
)

WINDOW = 1_000
SUMMARY_TEXT = Text(f"{SUMMARY_HEADING}\n\nSo far so good.")
SUMMARY = ModelRound([TextDelta("So far so good."), UsageReported(Usage(90, 10))])


def exchanges(count: int, length: int = 10) -> list[Message]:
    """Questions and answers."""
    return [
        message
        for number in range(count)
        for message in (
            UserMessage((Text(f"question {number} {'x' * length}"),)),
            AssistantMessage((Text(f"answer {number}"),)),
        )
    ]


@dataclass
class Desk:
    """A compactor at work."""

    model: RoundModel
    messages: Sequence[Message] = field(default_factory=lambda: exchanges(20))
    used_tokens: int = 800
    clock: float = 0.0
    rebuilt: int = 0

    def __post_init__(self) -> None:
        self.conversation = Conversation()
        self.conversation.rebuild(self.messages)
        self.sink = MemorySink()
        self.spent = UsageTotals(context_tokens=self.used_tokens)
        self.context = TurnContext(
            self.model,
            CharacterMeter(WINDOW),
            FunctionTools(echo=echo_arguments),
            SequentialIds(),
            system="old",
        )
        self.compactor = Compactor(self.spent, self.rebuild, now_seconds=lambda: self.clock)

    async def rebuild(self) -> str:
        """Write the system prompt anew."""
        self.rebuilt += 1
        return "new"

    async def prepare(self) -> TurnContext:
        """Let it do what it wants before a request."""
        return await self.compactor.prepare_request(self.conversation, self.context, self.sink)


async def test_nothing_happens_below_the_threshold() -> None:
    desk = Desk(RoundModel(SUMMARY), used_tokens=750)
    assert await desk.prepare() is desk.context
    assert (list(desk.conversation), desk.model.requests) == (list(desk.messages), [])


async def test_above_it_the_middle_becomes_a_summary_and_the_system_prompt_is_written_anew() -> (
    None
):
    desk = Desk(RoundModel(SUMMARY))
    kit = await desk.prepare()
    assert (kit.system, desk.rebuilt) == ("new", 1)
    assert list(desk.conversation)[:4] == [*desk.messages[:3], AssistantMessage((SUMMARY_TEXT,))]
    assert len(desk.conversation) == 24
    title = "The conversation was summarized: 40 messages became 24"
    assert desk.sink.events == [
        CompactionChanged("m1", "in_progress"),
        SummaryChunk("m1", "So far so good."),
        CompactionChanged("m1", "completed", notice=NoticeRaised("info", title, "m3")),
    ]
    assert desk.spent == UsageTotals(Usage(90, 10), 1, 10.0)


async def test_the_question_is_the_conversation_as_it_was_sent_with_one_message_behind_it() -> None:
    desk = Desk(RoundModel(SUMMARY))
    await desk.prepare()
    [request] = desk.model.requests
    assert list(request.messages)[:-1] == list(desk.messages)
    assert (request.system, request.tools) == ("old", desk.context.toolbox.specs)


@pytest.mark.parametrize(
    "failing",
    [
        ModelRound([TextDelta("So")], ModelFailedError("overloaded")),
        ModelRound([]),
        ModelRound(tool_call_events(ToolCall("c1", "echo", "{}")), "tool_use"),
    ],
    ids=["it fails", "it says nothing", "it wants tools"],
)
async def test_a_summary_that_fails_leaves_all_as_it_was_and_is_tried_again_later(
    failing: ModelRound,
) -> None:
    desk = Desk(RoundModel(failing, SUMMARY))
    assert await desk.prepare() is desk.context
    assert list(desk.conversation) == list(desk.messages)
    ended = desk.sink.events[-1]
    assert isinstance(ended, CompactionChanged)
    assert ended.notice is not None
    assert (ended.status, ended.notice.severity) == ("failed", "warning")
    assert ended.notice.title == f"The conversation could not be summarized: {ended.error}"
    desk.clock = 599
    assert await desk.prepare() is desk.context
    desk.clock = 600
    assert (await desk.prepare()).system == "new"


async def test_two_passes_in_a_row_that_save_little_are_the_last() -> None:
    """The last messages are what fills the window, and they stay."""
    messages = [*exchanges(12), *exchanges(10, length=5_000)]
    desk = Desk(RoundModel(SUMMARY), messages)
    for _ in range(2):
        assert (await desk.prepare()).system == "new"
        desk.conversation.rebuild(messages)
        desk.spent.context_tokens = desk.used_tokens
    before = list(desk.conversation)
    assert await desk.prepare() is desk.context
    assert list(desk.conversation) == before


async def test_by_hand_it_is_done_at_any_size_with_what_must_not_be_lost() -> None:
    desk = Desk(RoundModel(SUMMARY), used_tokens=0)
    await desk.compactor.compact(desk.conversation, desk.context, desk.sink, "the tests")
    [request] = desk.model.requests
    assert _last_text(request).endswith("Pay particular attention to: the tests")
    short = Desk(RoundModel(SUMMARY), exchanges(3))
    with pytest.raises(TurnError, match=TOO_SHORT):
        await short.compactor.compact(short.conversation, short.context, short.sink)


async def test_a_failure_that_answers_a_request_of_the_users_is_not_told_twice() -> None:
    desk = Desk(RoundModel(ModelRound([], ModelFailedError("overloaded"))))
    with pytest.raises(ModelFailedError):
        await desk.compactor.compact(desk.conversation, desk.context, desk.sink)
    assert desk.sink.events == [
        CompactionChanged("m1", "in_progress"),
        CompactionChanged("m1", "failed", "overloaded"),
    ]


async def test_a_summary_that_is_cancelled_ends_as_cancelled() -> None:
    model = RoundModel(ModelRound([TextDelta("So")], None))
    desk = Desk(model)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.prepare)
        await model.is_blocked.wait()
        tasks.cancel_scope.cancel()
    assert desk.sink.events == [
        CompactionChanged("m1", "in_progress"),
        SummaryChunk("m1", "So"),
        CompactionChanged("m1", "cancelled"),
    ]
    assert list(desk.conversation) == list(desk.messages)


def _last_text(request: ModelRequest) -> str:
    part = request.messages[-1].parts[-1]
    assert isinstance(part, Text)
    return part.text
