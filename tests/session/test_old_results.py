"""Old tool results: when they are removed to save costs, which stay, and that none is lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from anyio import Path as AsyncPath

from acp_server.models.families import UNKNOWN_FAMILY, Price
from acp_server.models.meters import FamilyMeter, NullMeter
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.old_results import (
    KEPT_REQUESTS,
    MIN_USED_TOKENS,
    REMOVED_HEAD,
    CachePrices,
    CompactionConfig,
    ResultCosts,
    find_old_results,
)
from acp_server.session.saved_outputs import SavedOutputs
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
from acp_server.turn.events import NoticeRaised
from acp_server.turn.ports import ModelRequest
from acp_server.turn.usage_totals import UsageTotals
from tests.support.user_texts import OLD_RESULTS_REMOVED
from tests.turn.fake_sinks import MemorySink, SequentialIds
from tests.turn.turn_harness import FunctionTools, RoundModel, echo_arguments, history_errors

WINDOW = 1_000_000
PROMPT = UserMessage((Text("Go on."),))
ANSWER = AssistantMessage((Text("Done."),))


def exchange(number: int, size: int, tool: str = "terminal") -> list[Message]:
    """Return a call and its result of so many characters."""
    text = f"{'x' * size}\nend of {number}"
    return [
        AssistantMessage((ToolCall(f"c{number}", tool, f'{{"number": {number}}}'),)),
        UserMessage((ToolResult(f"c{number}", text),)),
    ]


def work(count: int, size: int, tool: str = "terminal") -> list[Message]:
    """Return a turn of so many calls."""
    calls = [each for number in range(count) for each in exchange(number, size, tool)]
    return [PROMPT, *calls]


def characters(messages: Sequence[Message]) -> int:
    """Count a token for each character of texts, calls and results."""
    texts = (
        part.arguments if isinstance(part, ToolCall) else part.text
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall | ToolResult | Text)
    )
    return sum(map(len, texts))


def results_of(messages: Sequence[Message]) -> Iterator[ToolResult]:
    """Yield the results."""
    for message in messages:
        yield from (part for part in message.parts if isinstance(part, ToolResult))


def is_removed(result: ToolResult) -> bool:
    """Whether only a line is left of a result."""
    return result.text.startswith(REMOVED_HEAD)


class CharacterMeter(NullMeter):
    """Meter of a large window that counts characters as tokens, without a price."""

    @property
    def window_tokens(self) -> int:
        """Return a size that is never reached."""
        return WINDOW

    def estimate(self, request: ModelRequest) -> int:
        """Return the characters of all messages."""
        return characters(request.messages)


@dataclass
class CostHarness:
    """A conversation that is kept short, and a bill of its requests."""

    outputs: Path
    config: CompactionConfig = field(default_factory=CompactionConfig)
    file_calls: frozenset[str] = frozenset()
    clock: float = 0.0
    billed: float = 0.0
    sink: MemorySink = field(default_factory=MemorySink)
    _sent: Sequence[Message] = ()

    def __post_init__(self) -> None:
        self.conversation = Conversation()
        self.compactor = Compactor(
            UsageTotals(),
            self._system,
            SavedOutputs(self.outputs, "s1"),
            self.config,
            now_seconds=lambda: self.clock,
            shows_file=self.file_calls.__contains__,
        )
        tools = FunctionTools(echo=echo_arguments)
        self.context = TurnContext(RoundModel(), CharacterMeter(), tools, SequentialIds())

    async def send(self, *messages: Message) -> None:
        """Append messages one by one, and bill a request behind each of the user's."""
        for message in messages:
            self.conversation.append(message)
            if isinstance(message, UserMessage):
                await self.compactor.prepare_request(self.conversation, self.context, self.sink)
                self._bill(tuple(self.conversation))

    def _bill(self, messages: Sequence[Message]) -> None:
        same = 0
        while same < min(len(self._sent), len(messages)) and messages[same] == self._sent[same]:
            same += 1
        read, written = characters(messages[:same]), characters(messages[same:])
        self.billed += 0.1 * read + 1.25 * written
        self._sent = messages

    @property
    def removed(self) -> list[bool]:
        """Which results are removed, in order."""
        return [is_removed(result) for result in results_of(tuple(self.conversation))]

    async def _system(self) -> str:
        return "system"


async def test_a_long_turn_costs_less_and_nothing_is_lost(tmp_path: Path) -> None:
    kept = CostHarness(tmp_path / "kept", CompactionConfig(removes_old_results=False))
    saved = CostHarness(tmp_path / "saved")
    for harness in (kept, saved):
        await harness.send(*work(200, 1_500))
    assert saved.billed < 0.5 * kept.billed
    assert not any(kept.removed)
    originals, shorter = results_of(tuple(kept.conversation)), tuple(saved.conversation)
    for original, result in zip(originals, results_of(shorter), strict=True):
        if is_removed(result):
            assert await AsyncPath(result.saved_to).read_text() == original.text
            assert result.saved_to in result.text
        else:
            assert result == original
    assert history_errors(shorter) == []


async def test_results_are_removed_in_few_large_steps(tmp_path: Path) -> None:
    harness = CostHarness(tmp_path)
    await harness.send(*work(200, 1_500))
    assert 4 <= harness.conversation.generation <= 20
    notices = [each for each in harness.sink.events if isinstance(each, NoticeRaised)]
    assert [each.title.startswith(OLD_RESULTS_REMOVED) for each in notices] == [True]


async def test_the_newest_results_stay_however_large_they_are(tmp_path: Path) -> None:
    harness = CostHarness(tmp_path)
    await harness.send(*work(60, 10_000))
    assert any(harness.removed)
    assert not any(harness.removed[-KEPT_REQUESTS:])


async def test_a_short_conversation_keeps_everything(tmp_path: Path) -> None:
    harness = CostHarness(tmp_path)
    size = MIN_USED_TOKENS // 60 - 100
    await harness.send(*work(60, size), ANSWER, PROMPT)
    assert characters(tuple(harness.conversation)) < MIN_USED_TOKENS
    assert harness.conversation.generation == 0


@pytest.mark.parametrize("tool", ["skill_view", "TodoWrite", "clarify", "AskUserQuestion"])
async def test_instructions_and_the_users_answers_stay(tool: str, tmp_path: Path) -> None:
    harness = CostHarness(tmp_path)
    await harness.send(*work(100, 3_000, tool))
    assert not any(harness.removed)


async def test_texts_of_files_are_not_saved_again(tmp_path: Path) -> None:
    names = frozenset(f"c{number}" for number in range(200))
    harness = CostHarness(tmp_path / "outputs", file_calls=names)
    await harness.send(*work(100, 3_000))
    removed = [each for each in results_of(tuple(harness.conversation)) if is_removed(each)]
    assert removed
    text = f"{REMOVED_HEAD} 3,009 characters; call again if needed]"
    assert text in {each.text for each in removed}
    assert {each.text.partition("; ")[2] for each in removed} == {"call again if needed]"}
    assert not await AsyncPath(tmp_path / "outputs").exists()


@pytest.mark.parametrize(("pause_seconds", "is_shortened"), [(290.0, False), (310.0, True)])
async def test_after_a_pause_old_results_are_not_written_to_the_cache_again(
    pause_seconds: float, *, is_shortened: bool, tmp_path: Path
) -> None:
    harness = CostHarness(tmp_path)
    await harness.send(*work(16, 3_000), ANSWER)
    assert harness.conversation.generation == 0
    harness.clock += pause_seconds
    await harness.send(PROMPT)
    assert any(harness.removed) is is_shortened


async def test_a_cache_that_lasts_an_hour_is_still_there_after_a_pause(tmp_path: Path) -> None:
    harness = CostHarness(tmp_path, CompactionConfig(cache_ttl="1h"))
    await harness.send(*work(16, 3_000), ANSWER)
    harness.clock += 310.0
    await harness.send(PROMPT)
    assert not any(harness.removed)


def test_between_turns_results_are_removed_earlier_than_within_one() -> None:
    messages = work(20, 3_000)
    used = characters(messages)

    def requests_until_removal(*end: Message) -> int:
        costs, requests = ResultCosts(CompactionConfig()), 1
        while costs.results_to_remove([*messages, *end], 0, used, NullMeter()) is None:
            requests += 1
        return requests

    within, between = requests_until_removal(), requests_until_removal(ANSWER, PROMPT)
    assert 1 < between < within


def test_what_was_paid_counts_from_the_last_removal_on() -> None:
    messages, costs = work(20, 3_000), ResultCosts(CompactionConfig())
    used = characters(messages)
    while costs.results_to_remove(messages, 0, used, NullMeter()) is None:
        pass
    assert costs.results_to_remove(messages, 0, used, NullMeter()) is not None
    assert costs.results_to_remove(messages, 1, used, NullMeter()) is None


def test_sizes_are_those_of_the_whole_conversation() -> None:
    messages = work(40, 3_000)
    old = find_old_results(messages, characters(messages) // 4)
    total = old.removed_tokens + old.rewritten_tokens
    assert len(old.places) == 40 - 16  # 16 of 750 tokens are the newest 12,000
    assert total == pytest.approx(characters(messages) / 4, rel=0.1)


def test_prices_are_those_of_the_model() -> None:
    price = Price(10, 50, 2, 15, 20)
    meter = FamilyMeter(replace(UNKNOWN_FAMILY, price=price))
    assert CachePrices.of(meter, "5m") == CachePrices(0.2, 1.5)
    assert CachePrices.of(meter, "1h") == CachePrices(0.2, 2.0)
    assert CachePrices.of(NullMeter(), "5m") == CachePrices(0.1, 1.25)
