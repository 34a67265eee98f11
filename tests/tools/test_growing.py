"""The budget of a diff that grows, at any speed and in pieces of any size."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.growing_diff import (
    BUDGET_CHANGED_FILE,
    BUDGET_NEW_FILE,
    GROWTH_DIVISOR,
    MIN_GROWTH_CHARACTERS,
    MIN_INTERVAL_SECONDS,
    GrowingDiff,
    TextPreview,
    matching_head,
)
from acp_server.turn.events import CallChanged, FileDiff
from tests.turn.fake_sinks import MemorySink

LINE = "a line of 33 characters, ever so é\n"


@dataclass(slots=True)
class Clock:
    """A clock that the test sets."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def size_of(diffs: tuple[FileDiff, ...]) -> int:
    return sum(len((each.old_text or "").encode() + each.new_text.encode()) for each in diffs)


def grow(pieces: list[tuple[int, float]], old: str | None, letter: str) -> list[CallChanged]:
    """Let a text grow by so many characters after so many seconds each; return what was shown."""
    clock, sink, text = Clock(), MemorySink(), ""
    growing = GrowingDiff(CallReporter("call", sink), clock)
    for characters, seconds in pieces:
        clock.seconds += seconds
        text += (letter * 39 + "\n") * (characters // 40) + letter * (characters % 40)
        before = None if old is None else matching_head(old, text)
        diff = FileDiff("/a", before, text)
        growing.show_if_due(len(text), lambda diff=diff: (diff,))
    return [event for event in sink.events if isinstance(event, CallChanged)]


def diffs_of(event: CallChanged) -> tuple[FileDiff, ...]:
    assert event.is_passing
    assert event.status is None
    return tuple(part for part in event.content or () if isinstance(part, FileDiff))


pieces = st.lists(st.tuples(st.integers(1, 5_000), st.floats(0, 3)), min_size=1, max_size=60)
olds = st.none() | st.integers(0, 2_000).map(lambda count: LINE * count)


@given(pieces, olds, st.sampled_from("xé漢😀"))
def test_the_update_budget_holds_at_any_speed(
    pieces: list[tuple[int, float]], old: str | None, letter: str
) -> None:
    shown = [diffs_of(event) for event in grow(pieces, old, letter)]
    spent = 0
    budget = BUDGET_NEW_FILE if old is None else BUDGET_CHANGED_FILE
    for diffs in shown:
        spent += size_of(diffs)
        assert spent <= budget * sum(len(each.new_text.encode()) for each in diffs)
    lengths = [len(diffs[0].new_text) for diffs in shown]
    for before, after in pairwise([0, *lengths]):
        assert after - before >= max(MIN_GROWTH_CHARACTERS, before // GROWTH_DIVISOR)


@given(st.integers(1, 400), st.floats(0.001, 0.5))
def test_a_file_with_both_exact_diffs_costs_less_than_ten_times_its_size(
    characters: int, seconds: float
) -> None:
    """200 lines, from a flood to a trickle."""
    total = 200 * len(LINE)
    steps = [(characters, seconds)] * (total // characters)
    shown = [diffs_of(event) for event in grow(steps, None, "x")]
    assert sum(map(size_of, shown)) + 2 * total < 10 * total
    if seconds / characters * total >= 2 and characters <= MIN_GROWTH_CHARACTERS:
        assert len(shown) >= 10


@given(pieces)
def test_updates_are_at_least_a_tenth_of_a_second_apart(
    pieces: list[tuple[int, float]],
) -> None:
    clock, times = Clock(), list[float]()

    def note() -> tuple[FileDiff, ...]:
        times.append(clock.seconds)
        return (FileDiff("/a", None, "x" * count),)

    growing, count = GrowingDiff(CallReporter("call", MemorySink()), clock), 0
    for characters, seconds in pieces:
        clock.seconds += seconds
        count += characters
        growing.show_if_due(count, note)
    assert all(b - a >= MIN_INTERVAL_SECONDS for a, b in pairwise(times)) or not times


@pytest.mark.parametrize("preview", [None, TextPreview(Path("/a"), None)])
async def test_a_text_is_shown_if_its_file_is_known_and_the_file_is_read_once(
    preview: TextPreview | None,
) -> None:
    sink, loads, text = MemorySink(), list[str](), "x" * MIN_GROWTH_CHARACTERS
    growing = GrowingDiff(CallReporter("call", sink), Clock())

    async def load() -> TextPreview | None:
        loads.append("read")
        return preview

    for shown in ("", text, text):
        await growing.show_text(shown, load)
    assert loads == ["read"]
    shown = [diffs_of(event) for event in sink.events if isinstance(event, CallChanged)]
    assert shown == ([] if preview is None else [(FileDiff("/a", None, text),)])


def test_a_protected_diff_is_not_shown() -> None:
    sink = MemorySink()
    GrowingDiff(CallReporter("call", sink), Clock()).show_if_due(10_000, lambda: ())
    assert sink.events == []


@given(st.text(alphabet="a\n"), st.text(alphabet="b\n"))
def test_the_old_text_grows_in_step_by_whole_lines(old: str, new: str) -> None:
    shown = matching_head(old, new)
    assert old.startswith(shown)
    assert shown == old or shown.count("\n") == new.count("\n") + 1


def test_the_old_text_counts_towards_the_budget() -> None:
    old = f"{'漢' * 60}\n{'漢' * 60}\n"
    shown = [diffs_of(event) for event in grow([(MIN_GROWTH_CHARACTERS, 1.0)] * 12, old, "x")]
    assert len(shown) > 5
    assert all(diff.old_text for diffs in shown for diff in diffs)
    assert sum(map(size_of, shown)) <= BUDGET_CHANGED_FILE * len(shown[-1][0].new_text)
