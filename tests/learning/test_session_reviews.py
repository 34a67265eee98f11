"""When a session is reviewed, what the model is asked then, and what it may do."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from anyio import lowlevel

from acp_server.learning.background_gate import BackgroundGate
from acp_server.learning.review import MAX_CALLS, run_review
from acp_server.learning.review_counters import ReviewIntervals
from acp_server.learning.review_scheduler import ReviewConfig, ReviewContext, ReviewScheduler
from acp_server.permissions.modes import Mode
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.session.user_notices import UserNotices
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
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Usage
from acp_server.turn.ports import StopReason, TextDelta, ToolOutcome, UsageReported
from acp_server.turn.usage_totals import UsageTotals
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.fake_sinks import SequentialIds
from tests.turn.turn_harness import (
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    echo_arguments,
    tool_call_events,
)

BY_SKILLS = ReviewIntervals(steps=2, prompts=0)
SAVED = ModelRound([UsageReported(Usage(input_tokens=5, output_tokens=2))])


@dataclass
class FakeReviewTools:
    """The tools of a review, which count."""

    toolbox: FunctionTools = field(
        default_factory=lambda: FunctionTools(
            memory=echo_arguments,
            skills_list=echo_arguments,
            skill_view=echo_arguments,
            skill_manage=echo_arguments,
        )
    )
    noted: list[ToolCall] = field(default_factory=list[ToolCall])
    overlaps: list[str] = field(default_factory=list[str])

    def record_outcome(self, call: ToolCall, outcome: ToolOutcome) -> None:
        del outcome
        self.noted.append(call)

    def save_overlaps(self, overlaps: Sequence[str]) -> None:
        self.overlaps += overlaps

    def describe_changes(self) -> Sequence[str]:
        return [f"{len(self.noted)} calls"] if self.noted else []


class ReviewSetup:
    """One session and its reviews; what they spawn is run when the test says so."""

    def __init__(self, model: RoundModel, config: ReviewConfig | None = None) -> None:
        self.build_tools = FakeReviewTools()
        self.gates: list[BackgroundGate] = []
        self.tasks: list[TaskFunction] = []
        self.waited: list[float] = []
        self.waits, self.is_quiet = anyio.Event(), anyio.Event()
        self.is_quiet.set()
        self.mode: Mode = "ask"
        self.conversation = Conversation()
        self.totals = UsageTotals(Usage(input_tokens=1), 1, 1.0, context_tokens=7)
        self.user_notices = UserNotices()
        self.expected_sessions = 0
        tools = FunctionTools(
            terminal=echo_arguments,
            memory=echo_arguments,
            skills_list=echo_arguments,
            skill_view=echo_arguments,
            skill_manage=echo_arguments,
        )
        self.context = TurnContext(
            model, CharacterMeter(), tools, SequentialIds(), "You are.", "high"
        )
        config = config or self.make_config()
        self.reviews = ReviewScheduler(config, self.make_context())

    def make_config(self) -> ReviewConfig:
        return ReviewConfig(
            skills_directory=Path("/home/skills"),
            proposals_directory=Path("/home/acp/proposals"),
            spawn=self.tasks.append,
            build_tools=self.open_tools,
            review=run_review,
            intervals=BY_SKILLS,
            sleep=self.wait,
        )

    def make_context(self) -> ReviewContext:
        return ReviewContext(
            "sess_1",
            Path("/code"),
            self.conversation,
            self.totals,
            self.user_notices,
            lambda: self.mode,
            self.get_turn_context,
            self.expect_session,
        )

    async def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.waits.set()
        await lowlevel.checkpoint()
        await self.is_quiet.wait()

    async def open_tools(self, workspace: Path, gate: BackgroundGate) -> FakeReviewTools:
        assert workspace == Path("/code")
        self.gates.append(gate)
        return self.build_tools

    async def get_turn_context(self) -> TurnContext:
        return self.context

    def expect_session(self) -> None:
        self.expected_sessions += 1

    def end_turn(self, *messages: Message, reason: StopReason = "end_turn") -> None:
        for message in messages:
            self.conversation.append(message)
        self.reviews.on_turn_end(reason)

    async def run(self) -> None:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while self.tasks:
                await self.tasks.pop(0)()


async def cancel_review(setup: ReviewSetup, until: Callable[[], Awaitable[object]]) -> None:
    """Cancel a review as the next prompt does, when it has come so far."""
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(setup.run)
            await until()
            setup.reviews.cancel()
            await setup.reviews.wait_until_closed()


def work(*names: str) -> tuple[Message, ...]:
    """A prompt, and a step for each tool."""
    messages: list[Message] = [UserMessage((Text("go on"),))]
    for number, name in enumerate(names):
        messages.append(AssistantMessage((ToolCall(f"c{number}", name, "{}"),)))
        messages.append(UserMessage((ToolResult(f"c{number}", "ok"),)))
    return (*messages, AssistantMessage((Text("done"),)))


def modified(setup: ReviewSetup, **changes: object) -> ReviewSetup:
    """Give a room's reviews other rules."""
    setup.reviews = ReviewScheduler(replace(setup.make_config(), **changes), setup.make_context())
    return setup


async def test_the_request_is_the_conversation_plus_one_message() -> None:
    model = RoundModel(SAVED)
    setup = ReviewSetup(model)
    setup.end_turn(*work("terminal", "terminal"))
    before = tuple(setup.conversation)
    await setup.run()
    (request,) = model.requests
    assert tuple(request.messages)[:-1] == before
    assert (request.system, request.thought_level) == ("You are.", "high")
    assert tuple(request.tools) == setup.context.toolbox.specs
    assert tuple(setup.conversation) == before


async def test_a_review_counts_toward_session_usage_but_not_context_window_use() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.end_turn(*work("terminal", "terminal"))
    counter, request = setup.context.counter, setup.context.metered_request(setup.conversation)
    size = counter.count(request)
    await setup.run()
    assert counter.count(request) == size
    assert setup.totals == UsageTotals(Usage(input_tokens=6, output_tokens=2), 2, 3.0)
    assert setup.totals.context_tokens == 7
    assert setup.expected_sessions == 1


def skill_call(number: int, name: str = "skill_view") -> ModelRound:
    return ModelRound(tool_call_events(ToolCall(f"r{number}", name, "{}")), "tool_use")


async def test_only_the_tools_for_memory_and_skills_work() -> None:
    model = RoundModel(skill_call(1, "terminal"), skill_call(2, "memory"), SAVED)
    setup = ReviewSetup(model)
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert [call.name for call in setup.build_tools.noted] == ["memory"]
    refused = model.requests[1].messages[-1].parts[0]
    assert isinstance(refused, ToolResult)
    assert refused.is_error
    assert setup.user_notices.take() == ["Reviewed the conversation: 1 calls."]


async def test_the_number_of_tool_calls_is_limited() -> None:
    many = [ToolCall(f"r{number}", "skill_view", "{}") for number in range(MAX_CALLS + 5)]
    setup = ReviewSetup(RoundModel(ModelRound(tool_call_events(*many), "tool_use"), SAVED))
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert len(setup.build_tools.noted) == MAX_CALLS


async def test_the_number_of_model_requests_is_limited() -> None:
    model = RoundModel(*(skill_call(number, f"tool_{number}") for number in range(MAX_CALLS)))
    setup = ReviewSetup(model)
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert len(model.requests) == MAX_CALLS


async def test_a_cancelled_review_makes_no_more_changes_and_reports_those_made() -> None:
    model = RoundModel(skill_call(1), ModelRound(end=None))
    setup = ReviewSetup(model)
    setup.end_turn(*work("terminal", "terminal"))
    await cancel_review(setup, model.is_blocked.wait)
    (gate,) = setup.gates
    assert gate.has_ended()
    assert setup.user_notices.take() == ["Reviewed the conversation: 1 calls."]


async def test_a_cancelled_review_is_repeated_after_the_next_turn() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.end_turn(*work("terminal", "terminal"))
    setup.reviews.cancel()
    await setup.run()
    setup.end_turn(*work())
    assert len(setup.tasks) == 1
    await setup.run()
    setup.end_turn(*work())
    assert setup.tasks == []


async def test_a_prompt_before_the_idle_delay_costs_no_request() -> None:
    model = RoundModel(SAVED)
    setup = ReviewSetup(model)
    setup.is_quiet = anyio.Event()
    for _ in range(3):
        setup.waits = anyio.Event()
        setup.end_turn(*work("terminal", "terminal"))
        await cancel_review(setup, setup.waits.wait)
    assert (model.requests, setup.totals.requests) == ([], 1)
    setup.is_quiet.set()
    setup.end_turn(*work())
    await setup.run()
    assert [tuple(request.messages)[:-1] for request in model.requests] == [
        tuple(setup.conversation)
    ]
    assert setup.waited == [5.0] * 4


async def test_the_delay_doubles_when_a_review_is_cancelled_during_a_model_request() -> None:
    model = RoundModel(*(ModelRound(end=None) for _ in range(6)), SAVED)
    setup = ReviewSetup(model)
    for _ in range(6):
        model.is_blocked = anyio.Event()
        setup.end_turn(*work("terminal", "terminal"))
        await cancel_review(setup, model.is_blocked.wait)
    setup.end_turn(*work())
    await setup.run()
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert setup.waited == [5.0, 10.0, 20.0, 40.0, 80.0, 80.0, 80.0, 5.0]


async def test_a_session_switched_to_plan_mode_meanwhile_is_not_reviewed() -> None:
    model = RoundModel(SAVED)
    setup = ReviewSetup(model)
    setup.end_turn(*work("terminal", "terminal"))
    setup.mode = "plan"
    await setup.run()
    assert model.requests == []
    setup.mode = "ask"
    setup.end_turn(*work())
    await setup.run()
    assert len(model.requests) == 1


async def test_overlaps_are_recorded_for_the_curator() -> None:
    text = "Nothing to save.\n\nOverlap: `pdf-read`, `docs/pdf-write`\nOverlap: only-one\n"
    setup = ReviewSetup(RoundModel(ModelRound([TextDelta(text)])))
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert setup.build_tools.overlaps == ["pdf-read, docs/pdf-write"]


async def test_a_model_failure_does_not_fail_the_session() -> None:
    setup = ReviewSetup(RoundModel(ModelRound(end=ModelFailedError("no"))))
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert setup.user_notices.take() == []


NOT_DUE: dict[str, dict[str, object]] = {
    "too little work": {"intervals": ReviewIntervals(3, 0)},
    "too little talk": {"intervals": ReviewIntervals(0, 2)},
    "switched off": {"intervals": ReviewIntervals(0, 0)},
    "no writes": {"writes": "off"},
    "nobody there": {"is_attended": lambda: False},
}


@pytest.mark.parametrize("changes", NOT_DUE.values(), ids=NOT_DUE.keys())
async def test_when_no_review_is_due(changes: dict[str, object]) -> None:
    setup = modified(ReviewSetup(RoundModel(SAVED)), **changes)
    setup.end_turn(*work("terminal", "terminal"))
    assert setup.tasks == []


@pytest.mark.parametrize("reason", ["cancelled", "max_tokens", "refusal", "max_turn_requests"])
async def test_an_incomplete_turn_is_not_reviewed(reason: StopReason) -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.end_turn(*work("terminal", "terminal"), reason=reason)
    assert setup.tasks == []


async def test_plan_mode_disables_reviews() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.mode = "plan"
    setup.end_turn(*work("terminal", "terminal"))
    assert setup.tasks == []


async def test_a_changed_skill_postpones_the_review() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.end_turn(*work("terminal", "skill_manage", "terminal"))
    assert setup.tasks == []
    setup.end_turn(*work("terminal"))
    assert len(setup.tasks) == 1


async def test_prompts_alone_make_a_review_due_and_memory_use_postpones_it() -> None:
    setup = modified(ReviewSetup(RoundModel(SAVED)), intervals=ReviewIntervals(steps=0, prompts=2))
    setup.end_turn(*work())
    setup.end_turn(*work("memory"))
    setup.end_turn(*work())
    assert setup.tasks == []
    setup.end_turn(*work())
    assert len(setup.tasks) == 1


@pytest.mark.parametrize(
    ("intervals", "memory", "skills"),
    [
        (ReviewIntervals(2, 0), False, True),
        (ReviewIntervals(0, 1), True, False),
        (ReviewIntervals(2, 1), True, True),
    ],
    ids=["skills", "memory", "both in one"],
)
async def test_one_review_covers_every_due_subject(
    intervals: ReviewIntervals, *, memory: bool, skills: bool
) -> None:
    model = RoundModel(SAVED)
    setup = modified(ReviewSetup(model), intervals=intervals)
    setup.end_turn(*work("terminal", "terminal"))
    await setup.run()
    assert len(model.requests) == 1
    question = str(model.requests[0].messages[-1])
    assert ("## Memory" in question, "## Skills" in question) == (memory, skills)


async def test_counting_continues_after_compaction() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    setup.end_turn(*work("terminal"))
    setup.conversation.rebuild([UserMessage((Text("a summary"),)), *work("terminal")])
    setup.end_turn()
    assert len(setup.tasks) == 1


async def test_messages_of_an_earlier_process_do_not_count() -> None:
    setup = ReviewSetup(RoundModel(SAVED))
    for message in work("terminal", "terminal"):
        setup.conversation.append(message)
    modified(setup)
    setup.end_turn()
    assert setup.tasks == []
