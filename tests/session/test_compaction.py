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
class CompactorHarness:
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
        self.totals = UsageTotals(context_tokens=self.used_tokens)
        self.context = TurnContext(
            self.model,
            CharacterMeter(WINDOW),
            FunctionTools(echo=echo_arguments),
            SequentialIds(),
            system="old",
        )
        self.compactor = Compactor(self.totals, self.rebuild, now_seconds=lambda: self.clock)

    async def rebuild(self) -> str:
        """Write the system prompt anew."""
        self.rebuilt += 1
        return "new"

    async def prepare(self) -> TurnContext:
        """Let it do what it wants before a request."""
        return await self.compactor.prepare_request(self.conversation, self.context, self.sink)


async def test_nothing_is_compacted_below_the_threshold() -> None:
    setup = CompactorHarness(RoundModel(SUMMARY), used_tokens=750)
    assert await setup.prepare() is setup.context
    assert (list(setup.conversation), setup.model.requests) == (list(setup.messages), [])


async def test_above_the_threshold_the_middle_is_summarized_and_the_prompt_rebuilt() -> None:
    setup = CompactorHarness(RoundModel(SUMMARY))
    turn_context = await setup.prepare()
    assert (turn_context.system, setup.rebuilt) == ("new", 1)
    assert list(setup.conversation)[:4] == [*setup.messages[:3], AssistantMessage((SUMMARY_TEXT,))]
    assert len(setup.conversation) == 24
    title = "The conversation was summarized: 40 messages became 24"
    assert setup.sink.events == [
        CompactionChanged("m1", "in_progress"),
        SummaryChunk("m1", "So far so good."),
        CompactionChanged("m1", "completed", notice=NoticeRaised("info", title, "m3")),
    ]
    assert setup.totals == UsageTotals(Usage(90, 10), 1, 10.0)


async def test_the_summary_request_is_the_sent_conversation_plus_one_message() -> None:
    setup = CompactorHarness(RoundModel(SUMMARY))
    await setup.prepare()
    [request] = setup.model.requests
    assert list(request.messages)[:-1] == list(setup.messages)
    assert (request.system, request.tools) == ("old", setup.context.toolbox.specs)


@pytest.mark.parametrize(
    "failing",
    [
        ModelRound([TextDelta("So")], ModelFailedError("overloaded")),
        ModelRound([]),
        ModelRound(tool_call_events(ToolCall("c1", "echo", "{}")), "tool_use"),
    ],
    ids=["it fails", "it says nothing", "it wants tools"],
)
async def test_a_failed_summary_changes_nothing_and_is_retried_later(
    failing: ModelRound,
) -> None:
    setup = CompactorHarness(RoundModel(failing, SUMMARY))
    assert await setup.prepare() is setup.context
    assert list(setup.conversation) == list(setup.messages)
    ended = setup.sink.events[-1]
    assert isinstance(ended, CompactionChanged)
    assert ended.notice is not None
    assert (ended.status, ended.notice.severity) == ("failed", "warning")
    assert ended.notice.title == f"The conversation could not be summarized: {ended.error}"
    setup.clock = 599
    assert await setup.prepare() is setup.context
    setup.clock = 600
    assert (await setup.prepare()).system == "new"


async def test_compaction_stops_after_two_passes_that_save_little() -> None:
    """The last messages are what fills the window, and they stay."""
    messages = [*exchanges(12), *exchanges(10, length=5_000)]
    setup = CompactorHarness(RoundModel(SUMMARY), messages)
    for _ in range(2):
        assert (await setup.prepare()).system == "new"
        setup.conversation.rebuild(messages)
        setup.totals.context_tokens = setup.used_tokens
    before = list(setup.conversation)
    assert await setup.prepare() is setup.context
    assert list(setup.conversation) == before


async def test_manual_compaction_ignores_the_threshold_and_passes_its_focus() -> None:
    setup = CompactorHarness(RoundModel(SUMMARY), used_tokens=0)
    await setup.compactor.compact(setup.conversation, setup.context, setup.sink, "the tests")
    [request] = setup.model.requests
    assert _last_text(request).endswith("Pay particular attention to: the tests")
    short = CompactorHarness(RoundModel(SUMMARY), exchanges(3))
    with pytest.raises(TurnError, match=TOO_SHORT):
        await short.compactor.compact(short.conversation, short.context, short.sink)


async def test_a_failed_manual_compaction_is_reported_once() -> None:
    setup = CompactorHarness(RoundModel(ModelRound([], ModelFailedError("overloaded"))))
    with pytest.raises(ModelFailedError):
        await setup.compactor.compact(setup.conversation, setup.context, setup.sink)
    assert setup.sink.events == [
        CompactionChanged("m1", "in_progress"),
        CompactionChanged("m1", "failed", "overloaded"),
    ]


async def test_a_cancelled_summary_ends_as_cancelled() -> None:
    model = RoundModel(ModelRound([TextDelta("So")], None))
    setup = CompactorHarness(model)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setup.prepare)
        await model.is_blocked.wait()
        tasks.cancel_scope.cancel()
    assert setup.sink.events == [
        CompactionChanged("m1", "in_progress"),
        SummaryChunk("m1", "So"),
        CompactionChanged("m1", "cancelled"),
    ]
    assert list(setup.conversation) == list(setup.messages)


def _last_text(request: ModelRequest) -> str:
    part = request.messages[-1].parts[-1]
    assert isinstance(part, Text)
    return part.text
