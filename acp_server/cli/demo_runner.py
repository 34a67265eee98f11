"""Runs the demo: sends its prompts, measures the turns and collects problems.

Independent of the terminal: every event is passed to a renderer.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio

from acp_server.cli.demo_verification import DemoVerdict
from acp_server.headless.agent import AgentClient
from acp_server.headless.driver import SpawnedAgent
from acp_server.headless.process import AgentExit
from acp_server.headless.updates import Update
from acp_server.protocol.initialize_response import InitializeResponse
from acp_server.protocol.prompt_turn import StopReason
from acp_server.protocol.sessions import NewSessionResponse
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
)
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ToolCallProgress,
    ToolCallStart,
)

COMMANDS_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A prompt of the demo, its caption, and after how many answer chunks to cancel it."""

    prompt: str
    caption: str
    cancel_after_chunks: int | None = None
    failing_calls: int | None = 0
    """How many of its tool calls must fail; None if that is unknown."""

    @property
    def expected_stop_reason(self) -> StopReason:
        """Stop reason that the turn must end with."""
        return "end_turn" if self.cancel_after_chunks is None else "cancelled"


FIX_STEP = DemoStep(
    "The test fails. Find out why and mend it.",
    "a task, from the failing test to the passing one",
    failing_calls=1,  # the test run before the fix
)
DEMO_STEPS = (
    FIX_STEP,
    DemoStep("/help", "a slash command, answered without a model"),
    DemoStep(
        "Count as far as you can.", "a turn that is cancelled half-way", cancel_after_chunks=12
    ),
    DemoStep("Are you still there?", "the next prompt works at once"),
)


@dataclass(frozen=True, slots=True)
class DemoPauses:
    """Pauses of the simulated user, in seconds."""

    before_prompts: float = 0.0
    before_answers: float = 0.0


@dataclass(slots=True)
class DemoTurn:
    """Measurements of one turn; times are from `time.perf_counter`."""

    step: DemoStep
    started_at: float
    updates: int = 0
    chunks: int = 0
    """Chunks of reasoning and answer."""
    answer_chunks: int = 0
    """Chunks of the answer."""
    call_ids: set[str] = field(default_factory=set[str])
    """Ids of tool calls; a set, because a call is reported again when it opens a terminal."""
    failed_calls: int = 0
    first_chunk_at: float | None = None
    cancelled_at: float | None = None
    ended_at: float = 0.0
    stop_reason: StopReason = "end_turn"

    def count_update(self, update: Update) -> None:
        """Count an update of this turn."""
        self.updates += 1
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            self.chunks += 1
            self.answer_chunks += isinstance(update, AgentMessageChunk)
            self.first_chunk_at = self.first_chunk_at or time.perf_counter()
        if isinstance(update, ToolCallStart):
            self.call_ids.add(update.tool_call_id)
        self.failed_calls += isinstance(update, ToolCallProgress) and update.status == "failed"

    @property
    def calls(self) -> int:
        """Number of tool calls."""
        return len(self.call_ids)

    @property
    def problems(self) -> Iterator[str]:
        """Yield deviations from the expected stop reason and failed calls."""
        prompt, reason = self.step.prompt, self.stop_reason
        if reason != self.step.expected_stop_reason:
            yield f"{prompt!r} ended with {reason}, not {self.step.expected_stop_reason}"
        must_fail = self.step.failing_calls
        if must_fail is not None and self.failed_calls != must_fail:
            yield f"{prompt!r}: {self.failed_calls} tool calls failed, not {must_fail}"

    @property
    def should_cancel(self) -> bool:
        """Whether the turn should be cancelled now."""
        limit = self.step.cancel_after_chunks
        return limit is not None and self.answer_chunks >= limit and self.cancelled_at is None


@dataclass(slots=True)
class DemoSummary:
    """Result of the demo."""

    turns: list[DemoTurn] = field(default_factory=list[DemoTurn])
    updates: int = 0
    questions: int = 0
    seconds: float = 0.0
    exit: AgentExit | None = None
    verdict: DemoVerdict = field(default_factory=DemoVerdict)

    @property
    def chunks(self) -> int:
        """Number of reasoning and answer chunks in all turns."""
        return sum(turn.chunks for turn in self.turns)

    @property
    def calls(self) -> int:
        """Number of tool calls in all turns."""
        return sum(turn.calls for turn in self.turns)

    @property
    def problems(self) -> list[str]:
        """Problems of the turns, the verification and the server's exit."""
        found = [problem for turn in self.turns for problem in turn.problems]
        found += self.verdict.problems
        if self.exit is not None and self.exit.code != 0:
            found.append(f"the server ended with exit code {self.exit.code}")
        return found


class DemoRenderer(Protocol):
    """Renderer that receives the events of the demo in order."""

    def show_initialized(self, answer: InitializeResponse, seconds: float) -> None:
        """Show the answer to `initialize`, received `seconds` after the process was started."""
        ...

    def show_session(self, session: NewSessionResponse, seconds: float) -> None:
        """Show the new session; `session/new` took `seconds`."""
        ...

    def show_prompt(self, step: DemoStep, number: int, total: int) -> None:
        """Show that a prompt is sent."""
        ...

    def show_update(self, update: Update) -> None:
        """Show an update from the server."""
        ...

    def show_permission_request(self, request: RequestPermissionRequest) -> None:
        """Show a permission request."""
        ...

    def show_permission_answer(
        self, request: RequestPermissionRequest, answer: PermissionOption | None
    ) -> None:
        """Show the user's answer; None if the request was withdrawn or no option fits."""
        ...

    def show_written_file(self, path: Path) -> None:
        """Show that the server wrote a file through this client."""
        ...

    def show_turn_end(self, turn: DemoTurn) -> None:
        """Show the end of a turn."""
        ...

    def show_summary(self, summary: DemoSummary) -> None:
        """Show the summary after the server exited."""
        ...

    def close(self) -> None:
        """Clean up at the end of the demo, however it ended."""
        ...


DemoVerifier = Callable[[], Awaitable[DemoVerdict]]


async def verify_nothing() -> DemoVerdict:
    """Return an empty verdict, for prompts without an expected result."""
    return DemoVerdict()


class DemoRunner:
    """Plays the user: sends the steps' prompts and answers permission requests."""

    def __init__(
        self,
        steps: Sequence[DemoStep],
        renderer: DemoRenderer,
        pauses: DemoPauses | None = None,
        verify: DemoVerifier = verify_nothing,
    ) -> None:
        """Set up the demo; `verify` is called after the last step, while the server still runs."""
        self._steps = steps
        self._renderer = renderer
        self._pauses = pauses or DemoPauses()
        self._verify = verify
        self._summary = DemoSummary()
        self._turn: DemoTurn | None = None
        self._agent: AgentClient | None = None
        self._has_commands = anyio.Event()
        self._early_updates: list[Update] | None = []
        """Updates that arrived before the session was shown; None afterwards."""
        self._is_finished = False

    async def handle_update(self, session_id: str, update: Update) -> None:
        """Handle an update of the session (callback of `ClientProfile`)."""
        if self._early_updates is not None:
            self._early_updates.append(update)
            return
        self._record_update(update)
        turn = self._turn
        if turn is not None and turn.should_cancel and self._agent is not None:
            await self._agent.cancel(session_id)
            turn.cancelled_at = time.perf_counter()

    async def decide(self, request: RequestPermissionRequest) -> RequestPermissionOutcome:
        """Answer a permission request after a pause (callback of `ClientProfile`)."""
        self._summary.questions += 1
        self._renderer.show_permission_request(request)
        answer: PermissionOption | None = None
        try:
            await anyio.sleep(self._pauses.before_answers)
            answer = choose_option(request)
        finally:
            if not self._is_finished:
                self._renderer.show_permission_answer(request, answer)
        if answer is None:
            return CancelledPermissionOutcome()
        return SelectedPermissionOutcome(option_id=answer.option_id)

    def handle_written_file(self, path: Path) -> None:
        """Handle a file written through this client."""
        if not self._is_finished:
            self._renderer.show_written_file(path)

    async def run(self, child: SpawnedAgent, folder: Path) -> DemoSummary:
        """Run all steps and close the server.

        Raises:
            AgentClientError: The server failed or broke the protocol.
            DemoProjectError: The project cannot be verified.
        """
        try:
            return await self._run_steps(child, folder)
        finally:
            self._is_finished = True  # ignore updates that still arrive while the server exits
            self._renderer.close()

    async def _run_steps(self, child: SpawnedAgent, folder: Path) -> DemoSummary:
        self._agent = child.agent
        answer = await child.agent.initialize()
        self._renderer.show_initialized(answer, time.perf_counter() - child.started)
        started = time.perf_counter()
        session = await child.agent.new_session(folder)
        self._renderer.show_session(session, time.perf_counter() - started)
        # Updates may arrive before the response to session/new is handled; show them after it.
        early, self._early_updates = self._early_updates or [], None
        for update in early:
            self._record_update(update)
        with anyio.move_on_after(COMMANDS_TIMEOUT_SECONDS):
            await self._has_commands.wait()
        for number, step in enumerate(self._steps, start=1):
            await anyio.sleep(self._pauses.before_prompts)
            self._renderer.show_prompt(step, number, len(self._steps))
            await self._run_step(step, child.agent, session.session_id)
        self._summary.verdict = await self._verify()
        self._summary.exit = await child.close()
        self._summary.seconds = time.perf_counter() - child.started
        self._renderer.show_summary(self._summary)
        return self._summary

    def _record_update(self, update: Update) -> None:
        if self._is_finished:
            return
        self._summary.updates += 1
        if isinstance(update, AvailableCommandsUpdate):
            self._has_commands.set()
        if self._turn is not None:
            self._turn.count_update(update)
        self._renderer.show_update(update)

    async def _run_step(self, step: DemoStep, agent: AgentClient, session_id: str) -> None:
        turn = DemoTurn(step, time.perf_counter())
        self._turn = turn
        answer = await agent.prompt(session_id, step.prompt)
        turn.ended_at = time.perf_counter()
        turn.stop_reason = answer.stop_reason
        self._turn = None
        self._summary.turns.append(turn)
        self._renderer.show_turn_end(turn)


def choose_option(request: RequestPermissionRequest) -> PermissionOption | None:
    """Return the simulated user's answer: allow edits for the session, commands once."""
    preferred_kind = "allow_always" if request.tool_call.kind == "edit" else "allow_once"
    allowing = [option for option in request.options if option.kind.startswith("allow")]
    matching = (option for option in allowing if option.kind == preferred_kind)
    return next(matching, allowing[0] if allowing else None)
