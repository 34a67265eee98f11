"""Room in the context window: when it is made, how, and that nothing is lost when it cannot be."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from anyio import Path as AsyncPath

from acp_server.session.prompting.compaction import NOTHING_TO_SUMMARIZE, Compactor
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.compaction import OWN_WORDS_HEADING, SUMMARY_HEADING, UNSUMMARIZED
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import ModelFailedError, TurnError
from acp_server.turn.events import (
    CompactionChanged,
    ContextMeasured,
    NoticeRaised,
    SummaryChunk,
    Usage,
)
from acp_server.turn.ports import ModelRequest, TextDelta, UsageReported
from acp_server.turn.usage_totals import UsageTotals
from tests.support.user_texts import CONVERSATION_SUMMARIZED, OLD_RESULTS_REMOVED
from tests.turn.fake_sinks import MemorySink, SequentialIds
from tests.turn.turn_harness import (
    FunctionTools,
    ModelRound,
    RoundModel,
    echo_arguments,
    history_errors,
    tool_call_events,
)

WINDOW = 10_000
SUMMARY_TEXT = Text(f"{SUMMARY_HEADING}\n\nSo far so good.")
SUMMARY = ModelRound([TextDelta("So far so good."), UsageReported(Usage(90, 10))])


class CharactersAsTokens:
    """Meter that counts each character of a message as a token; charges a dollar per output."""

    window_tokens = WINDOW
    answer_tokens = 0

    def estimate(self, request: ModelRequest) -> int:
        """Return the length of all texts."""
        parts = [part for message in request.messages for part in message.parts]
        return sum(len(p.text) for p in parts if isinstance(p, Text | ToolResult))

    def estimate_message(self, message: Message) -> int:
        """Return the length of its texts."""
        return self.estimate(ModelRequest((message,)))

    def cost_usd(self, usage: Usage) -> float | None:
        """Return one dollar per output token."""
        return float(usage.output_tokens)


@dataclass
class FixedPartMeter(CharactersAsTokens):
    """Meter of a model whose system prompt and tools take part of the window."""

    fixed: int

    def estimate(self, request: ModelRequest) -> int:
        """Return the length of all texts; a request without a system prompt is none."""
        return super().estimate(request) + (self.fixed if request.system else 0)


def exchanges(count: int, length: int) -> list[Message]:
    """Return questions and answers of some length."""
    return [
        message
        for number in range(count)
        for message in (
            UserMessage((Text(f"question {number}"),)),
            AssistantMessage((Text(f"answer {number} {'x' * length}"),)),
        )
    ]


def reads(count: int, length: int) -> list[Message]:
    """Return a prompt and calls with results of some length."""
    messages: list[Message] = [UserMessage((Text("look around"),))]
    for number in range(count):
        messages += [
            AssistantMessage((ToolCall(f"c{number}", "echo", f'{{"n": {number}}}'),)),
            UserMessage((ToolResult(f"c{number}", "y" * length),)),
        ]
    return messages


@dataclass
class CompactorHarness:
    """A context window at work."""

    model: RoundModel
    messages: Sequence[Message]
    outputs: Path = Path("/nonexistent/outputs")
    clock: float = 0.0
    rebuilt: int = 0
    sink: MemorySink = field(default_factory=MemorySink)

    def __post_init__(self) -> None:
        self.conversation = Conversation()
        self.conversation.rebuild(self.messages)
        self.totals = UsageTotals()
        self.context = TurnContext(
            self.model,
            CharactersAsTokens(),
            FunctionTools(echo=echo_arguments),
            SequentialIds(),
            system="old",
        )
        self.compactor = Compactor(
            self.totals,
            self.rebuild,
            SavedOutputs(self.outputs, "s1"),
            now_seconds=lambda: self.clock,
        )

    async def rebuild(self) -> str:
        """Write the system prompt anew."""
        self.rebuilt += 1
        return "new"

    async def prepare(self) -> TurnContext:
        """Let it make room before a request if it wants to."""
        return await self.compactor.prepare_request(self.conversation, self.context, self.sink)

    @property
    def size(self) -> int:
        """The size of the conversation, in tokens."""
        assert history_errors(tuple(self.conversation)) == []
        return CharactersAsTokens().estimate(ModelRequest(tuple(self.conversation)))


async def test_nothing_changes_below_the_threshold() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), exchanges(7, 1_000))
    assert harness.size < 0.75 * WINDOW
    assert await harness.prepare() is harness.context
    assert (list(harness.conversation), harness.model.requests) == (harness.messages, [])


async def test_above_it_old_results_are_removed_and_no_summary_is_needed() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), reads(8, 1_000))
    before = harness.size
    assert await harness.prepare() is harness.context
    assert harness.model.requests == []
    assert harness.size < 0.5 * before
    results = [
        part.text.startswith("y")
        for message in harness.conversation
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    assert results == [False] * 6 + [True] * 2
    notice, measured = harness.sink.events
    assert isinstance(notice, NoticeRaised)
    assert notice.title == (
        f"{OLD_RESULTS_REMOVED} to make room: about 8,011 tokens became {harness.size:,}"
    )
    assert measured == ContextMeasured(harness.totals.context_tokens, WINDOW, None)
    assert abs(harness.totals.context_tokens - harness.size) < 200


async def test_the_notice_about_a_summary_names_only_what_became_less() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), exchanges(1, 0))
    await harness.compactor.compact(harness.conversation, harness.context, harness.sink)
    ended = harness.sink.events[-2]
    assert isinstance(ended, CompactionChanged)
    assert ended.notice is not None
    assert ended.notice.title == CONVERSATION_SUMMARIZED


async def test_what_the_user_and_the_model_said_is_summarized() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), exchanges(8, 1_000))
    context = await harness.prepare()
    assert (context.system, harness.rebuilt) == ("new", 1)
    first, *rest = harness.conversation
    words = [Text(f"question {number}") for number in range(7)]
    assert first == UserMessage((Text(OWN_WORDS_HEADING), *words, SUMMARY_TEXT, Text("question 7")))
    assert rest == harness.messages[-1:]
    [request] = harness.model.requests
    assert list(request.messages)[:-1] == harness.messages
    assert (request.system, request.tools) == ("old", harness.context.toolbox.specs)
    started, chunk, ended, measured = harness.sink.events
    assert started == CompactionChanged("m1", "in_progress")
    assert chunk == SummaryChunk("m1", "So far so good.")
    assert isinstance(ended, CompactionChanged)
    assert ended.notice is not None
    assert ended.notice.title.startswith(f"{CONVERSATION_SUMMARIZED}: 16 messages became 2")
    assert isinstance(measured, ContextMeasured)
    assert (harness.totals.usage, harness.totals.requests) == (Usage(90, 10), 1)


@pytest.mark.parametrize(
    "failing",
    [
        ModelRound([TextDelta("So")], ModelFailedError("overloaded")),
        ModelRound([]),
        ModelRound(tool_call_events(ToolCall("c1", "echo", "{}")), "tool_use"),
        ModelRound([TextDelta("I cannot do that.")], "refusal"),
    ],
    ids=["it fails", "it says nothing", "it wants tools", "it refuses"],
)
async def test_a_failed_summary_changes_nothing_and_is_retried_later(failing: ModelRound) -> None:
    harness = CompactorHarness(RoundModel(failing, SUMMARY), exchanges(8, 1_000))
    assert await harness.prepare() is harness.context
    assert list(harness.conversation) == harness.messages
    ended = harness.sink.events[-1]
    assert isinstance(ended, CompactionChanged)
    assert ended.notice is not None
    assert (ended.status, ended.notice.severity) == ("failed", "warning")
    assert ended.notice.title == f"The conversation could not be summarized: {ended.error}"
    harness.clock = 599
    assert await harness.prepare() is harness.context
    harness.clock = 600
    harness.conversation.append(UserMessage((Text("x" * 1_000),)))
    assert (await harness.prepare()).system == "new"


async def test_without_a_summary_a_conversation_that_does_not_fit_is_cut_until_it_does() -> None:
    failing = ModelRound([], ModelFailedError("overloaded"))
    harness = CompactorHarness(RoundModel(failing), exchanges(60, 3_000))
    await harness.prepare()
    assert harness.size <= WINDOW
    assert harness.conversation.generation == 2
    many = CompactorHarness(RoundModel(failing), exchanges(600, 3_000))
    await many.prepare()
    assert many.size <= WINDOW
    assert UNSUMMARIZED in repr(tuple(many.conversation))


async def test_a_window_that_cannot_get_emptier_is_not_summarized_at_each_step() -> None:
    """The user's own words fill it, and they stay."""
    prompts = [UserMessage((Text("w" * 2_900),)), AssistantMessage((Text("Yes."),))] * 2
    harness = CompactorHarness(RoundModel(SUMMARY), [*prompts, *exchanges(1, 2_400)])
    for _ in range(5):
        await harness.prepare()
    assert len(harness.model.requests) <= 1


async def test_the_user_can_compact_at_any_time_and_name_what_must_not_be_lost() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), exchanges(1, 10))
    await harness.compactor.compact(
        harness.conversation, harness.context, harness.sink, "the tests"
    )
    [request] = harness.model.requests
    last = request.messages[-1].parts[-1]
    assert isinstance(last, Text)
    assert last.text.endswith("Pay particular attention to: the tests")
    assert list(harness.conversation)[1:] == harness.messages[-1:]
    for count in (0, 1):
        empty = CompactorHarness(RoundModel(SUMMARY), harness.messages[:count])
        with pytest.raises(TurnError, match=NOTHING_TO_SUMMARIZE):
            await empty.compactor.compact(empty.conversation, empty.context, empty.sink)


async def test_the_request_for_a_summary_fits_the_window_too() -> None:
    harness = CompactorHarness(RoundModel(SUMMARY), exchanges(40, 1_000))
    await harness.prepare()
    [request] = harness.model.requests
    assert CharactersAsTokens().estimate(request) <= WINDOW


async def test_a_failed_manual_summary_is_reported_once() -> None:
    failing = ModelRound([], ModelFailedError("overloaded"))
    harness = CompactorHarness(RoundModel(failing), exchanges(2, 10))
    with pytest.raises(ModelFailedError):
        await harness.compactor.compact(harness.conversation, harness.context, harness.sink)
    assert harness.sink.events == [
        CompactionChanged("m1", "in_progress"),
        CompactionChanged("m1", "failed", "overloaded"),
    ]
    assert list(harness.conversation) == harness.messages


async def test_a_cancelled_summary_ends_as_cancelled() -> None:
    model = RoundModel(ModelRound([TextDelta("So")], None))
    harness = CompactorHarness(model, exchanges(8, 1_000))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.prepare)
        await model.is_blocked.wait()
        tasks.cancel_scope.cancel()
    assert harness.sink.events[-1] == CompactionChanged("m1", "cancelled")
    assert list(harness.conversation) == harness.messages


# Results of a batch.


async def bounded(harness: CompactorHarness, *sizes: int) -> Sequence[ToolResult]:
    """Return the results of calls with so many characters, as the model gets them."""
    results = [ToolResult(f"r{number}", "z" * size) for number, size in enumerate(sizes)]
    return await harness.compactor.bound_results(harness.conversation, harness.context, results)


async def test_one_result_takes_a_quarter_of_the_window_and_a_batch_half(tmp_path: Path) -> None:
    harness = CompactorHarness(RoundModel(), exchanges(1, 10), tmp_path)
    [large] = await bounded(harness, 9_000)
    assert 2_300 < len(large.text) <= 2_500
    batch = await bounded(harness, 100, 9_000, 9_000, 9_000)
    assert len(batch[0].text) == 100
    assert sum(len(result.text) for result in batch) <= 5_000
    assert all(len(result.text) > 1_500 for result in batch[1:])


async def test_what_is_cut_off_is_in_a_private_file_that_the_result_names(tmp_path: Path) -> None:
    harness = CompactorHarness(RoundModel(), exchanges(1, 10), tmp_path)
    small, large = await bounded(harness, 100, 9_000)
    assert (small.text, small.saved_to) == ("z" * 100, "")
    saved = AsyncPath(large.saved_to)
    assert await saved.read_text() == "z" * 9_000
    assert f"are shown; read {saved} (" in large.text
    assert saved.is_relative_to(tmp_path)
    assert [(await path.stat()).st_mode & 0o777 for path in (saved, saved.parent)] == [0o600, 0o700]


async def test_a_nearly_full_window_still_shows_an_eighth_of_its_size(tmp_path: Path) -> None:
    harness = CompactorHarness(RoundModel(), exchanges(9, 1_050), tmp_path)
    [large] = await bounded(harness, 9_000)
    assert 1_000 < len(large.text) <= 1_250


@pytest.mark.parametrize("system", [0, 3_000, 6_000, 7_000])
async def test_results_are_not_cut_again_before_the_model_has_seen_them(
    system: int, tmp_path: Path
) -> None:
    harness = CompactorHarness(RoundModel(), reads(1, 10), tmp_path)
    fixed = replace(harness.context, meter=FixedPartMeter(system))
    harness.context = fixed
    for number in range(2):
        calls = tuple(ToolCall(f"{number}r{i}", "echo", "{}") for i in range(3))
        harness.conversation.append(AssistantMessage(calls))
        results = [ToolResult(call.id, "z" * 9_000) for call in calls]
        bounded = await harness.compactor.bound_results(harness.conversation, fixed, results)
        harness.conversation.append(UserMessage(tuple(bounded)))
        await harness.prepare()
        assert tuple(harness.conversation)[-1].parts == tuple(bounded)
        assert all(len(result.text) > 200 for result in bounded)


async def test_a_user_is_told_once_a_turn_that_results_were_removed(tmp_path: Path) -> None:
    harness = CompactorHarness(RoundModel(), reads(8, 1_000), tmp_path)
    turns = harness.sink, MemorySink()
    for harness.sink in turns:
        for _ in range(2):
            harness.conversation.rebuild(reads(8, 1_000))
            await harness.prepare()
    shown = [[type(event) for event in sink.events] for sink in turns]
    assert shown == [[NoticeRaised, ContextMeasured, ContextMeasured]] * 2


async def test_the_first_results_of_a_conversation_are_bounded_too(tmp_path: Path) -> None:
    harness = CompactorHarness(RoundModel(), exchanges(1, 10), tmp_path)
    harness.context = replace(harness.context, system="s" * 3_000)
    metered = harness.context.metered_request(harness.conversation)
    counted = int(metered.meter.estimate(metered.request) * 0.8)
    harness.context.counter.record_usage(metered, Usage(input_tokens=counted))
    [large] = await bounded(harness, 9_000)
    assert 2_300 < len(large.text) <= 2_500 / 0.8
