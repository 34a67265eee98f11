"""The order in which the calls of one reply run."""

from dataclasses import dataclass, field

import anyio
import pytest

from acp_server.turn.call_access import CHANGES, READS, CallAccess, group_calls
from acp_server.turn.conversation import ToolCall, ToolResult, UserMessage
from acp_server.turn.ports import TextDelta
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.turn_harness import (
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    tool_call_events,
)

TASK = CallAccess("independent")
DONE = ModelRound([TextDelta("Done.")])


def edit(*names: str) -> CallAccess:
    """Return the access of an edit of files."""
    return CallAccess("edits", frozenset(names))


@pytest.mark.parametrize(
    ("accesses", "sizes"),
    [
        ([], []),
        ([READS, READS, READS], [3]),
        ([CHANGES, CHANGES], [1, 1]),
        ([READS, CHANGES, READS, READS], [1, 1, 2]),
        ([edit("a"), edit("b"), edit("c")], [3]),
        ([edit("a"), edit("b"), edit("a"), edit("b")], [2, 2]),
        ([edit("a", "b"), edit("c", "b"), edit("a")], [1, 2]),
        ([edit("a"), READS, edit("a")], [1, 1, 1]),
        ([edit("/a/b"), edit("/a/bc"), edit("/a/b/c"), edit("/a")], [2, 1, 1]),
        ([TASK, TASK, READS, TASK], [2, 1, 1]),
        ([CallAccess("reads", is_polling=True), READS], [2]),
    ],
)
def test_a_call_joins_the_calls_before_it_unless_their_order_matters(
    accesses: list[CallAccess], sizes: list[int]
) -> None:
    groups = group_calls(accesses)
    assert [len(group) for group in groups] == sizes
    assert [index for group in groups for index in group] == list(range(len(accesses)))


@dataclass
class MeetingTools:
    """Notes which calls run at the same time; a call ends once its company is complete."""

    company: dict[str, int]
    """How many calls must run at the same time as a call, itself included, before it ends."""
    running: set[str] = field(default_factory=set[str])
    log: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    changed: anyio.Event = field(default_factory=anyio.Event)
    most: dict[str, int] = field(default_factory=dict[str, int])

    async def work(self, call: ToolCall) -> str:
        self.running.add(call.id)
        self.log.append(frozenset(self.running))
        for each in self.running:
            self.most[each] = max(self.most.get(each, 0), len(self.running))
        self.changed.set()
        self.changed = anyio.Event()
        while self.most[call.id] < self.company.get(call.id, 1):
            await self.changed.wait()
        # Lets a call that starts too early show itself.
        await anyio.wait_all_tasks_blocked()
        self.running.remove(call.id)
        return f"{call.id} is done"


async def test_reads_run_together_and_a_change_runs_alone() -> None:
    meeting = MeetingTools({"r1": 2, "r2": 2, "e1": 2, "e2": 2, "r3": 1})
    tools = FunctionTools(
        look=meeting.work, change=meeting.work, edit_a=meeting.work, edit_b=meeting.work
    )
    tools.accesses = {"change": CHANGES, "edit_a": edit("a"), "edit_b": edit("b")}
    names = ("r1", "look"), ("r2", "look"), ("c1", "change"), ("c2", "change")
    names = (*names, ("e1", "edit_a"), ("e2", "edit_b"), ("r3", "look"))
    calls = [ToolCall(call_id, name, "{}") for call_id, name in names]
    harness = TurnHarness(RoundModel(ModelRound(tool_call_events(*calls), "tool_use"), DONE), tools)
    assert await harness.run() == "end_turn"
    expected = ["r1", "r1 r2", "c1", "c2", "e1", "e1 e2", "r3"]
    assert [" ".join(sorted(each)) for each in meeting.log] == expected
    assert harness.history[2] == UserMessage(
        tuple(ToolResult(call.id, f"{call.id} is done") for call in calls)
    )


async def test_a_failed_change_does_not_stop_the_calls_behind_it() -> None:
    async def fail(call: ToolCall) -> str:
        raise OSError(call.id)

    async def work(call: ToolCall) -> str:
        return call.id

    tools = FunctionTools(fail=fail, work=work)
    tools.accesses = {"fail": CHANGES, "work": CHANGES}
    calls = ToolCall("c1", "fail", "{}"), ToolCall("c2", "work", "{}")
    harness = TurnHarness(RoundModel(ModelRound(tool_call_events(*calls), "tool_use"), DONE), tools)
    await harness.run()
    assert harness.history[2] == UserMessage(
        (ToolResult("c1", "OSError: c1", is_error=True), ToolResult("c2", "c2"))
    )


async def test_a_cancel_closes_the_calls_that_wait_and_starts_none_of_them() -> None:
    started = anyio.Event()

    async def hang(call: ToolCall) -> str:
        started.set()
        await anyio.sleep(HANG_TIMEOUT_SECONDS)
        return call.id

    tools = FunctionTools(hang=hang)
    tools.accesses = {"hang": CHANGES}
    calls = [ToolCall(f"c{number}", "hang", "{}") for number in range(3)]
    harness = TurnHarness(RoundModel(ModelRound(tool_call_events(*calls), "tool_use")), tools)
    await harness.run_and_cancel_at(started)
    results = harness.history[2].parts
    assert [part.call_id for part in results if isinstance(part, ToolResult)] == ["c0", "c1", "c2"]
    assert all(part.is_error for part in results if isinstance(part, ToolResult))
    assert tools.started_call_ids == ["c0"]
