"""Runs the demo: sends its prompts, measures the turns and collects problems.

Independent of the terminal: every event is passed to a renderer.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio

from acp_server.cli.demo_verification import Verdict
from acp_server.headless.agent import Agent
from acp_server.headless.driver import SpawnedAgent
from acp_server.headless.process import Exit
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

COMMANDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """A prompt of the demo, its caption, and after how many answer chunks to cancel it."""

    prompt: str
    caption: str
    cancel_after_chunks: int | None = None
    failing_calls: int | None = 0
    """How many of its tool calls must fail; None if that is unknown."""

    @property
    def expected(self) -> StopReason:
        """Stop reason that the turn must end with."""
        return "end_turn" if self.cancel_after_chunks is None else "cancelled"


MEND = Step(
    "The test fails. Find out why and mend it.",
    "a task, from the failing test to the passing one",
    failing_calls=1,  # the test run before the fix
)
STEPS = (
    MEND,
    Step("/help", "a slash command, answered without a model"),
    Step("Count as far as you can.", "a turn that is cancelled half-way", cancel_after_chunks=12),
    Step("Are you still there?", "the next prompt works at once"),
)


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pauses of the simulated user, in seconds."""

    before_prompts: float = 0.0
    before_answers: float = 0.0


@dataclass(slots=True)
class Turn:
    """Measurements of one turn; times are from `time.perf_counter`."""

    step: Step
    started: float
    updates: int = 0
    chunks: int = 0
    """Chunks of reasoning and answer."""
    words: int = 0
    """Chunks of the answer."""
    call_ids: set[str] = field(default_factory=set[str])
    """Ids of tool calls; a set, because a call is reported again when it opens a terminal."""
    failed_calls: int = 0
    first_chunk: float | None = None
    cancelled: float | None = None
    ended: float = 0.0
    stop_reason: StopReason = "end_turn"

    def count(self, update: Update) -> None:
        """Count an update of this turn."""
        self.updates += 1
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            self.chunks += 1
            self.words += isinstance(update, AgentMessageChunk)
            self.first_chunk = self.first_chunk or time.perf_counter()
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
        if reason != self.step.expected:
            yield f"{prompt!r} ended with {reason}, not {self.step.expected}"
        must_fail = self.step.failing_calls
        if must_fail is not None and self.failed_calls != must_fail:
            yield f"{prompt!r}: {self.failed_calls} tool calls failed, not {must_fail}"

    @property
    def is_enough(self) -> bool:
        """Whether the turn should be cancelled now."""
        limit = self.step.cancel_after_chunks
        return limit is not None and self.words >= limit and self.cancelled is None


@dataclass(slots=True)
class Summary:
    """Result of the demo."""

    turns: list[Turn] = field(default_factory=list[Turn])
    updates: int = 0
    questions: int = 0
    seconds: float = 0.0
    exit: Exit | None = None
    verdict: Verdict = field(default_factory=Verdict)

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


class Show(Protocol):
    """Renderer that receives the events of the demo in order."""

    def greeted(self, answer: InitializeResponse, seconds: float) -> None:
        """Show the answer to `initialize`, received `seconds` after the process was started."""
        ...

    def opened(self, session: NewSessionResponse, seconds: float) -> None:
        """Show the new session; `session/new` took `seconds`."""
        ...

    def asks(self, step: Step, number: int, total: int) -> None:
        """Show that a prompt is sent."""
        ...

    def update(self, update: Update) -> None:
        """Show an update from the server."""
        ...

    def asked(self, request: RequestPermissionRequest) -> None:
        """Show a permission request."""
        ...

    def decided(self, request: RequestPermissionRequest, answer: PermissionOption | None) -> None:
        """Show the user's answer; None if the request was withdrawn or no option fits."""
        ...

    def wrote(self, path: Path) -> None:
        """Show that the server wrote a file through this client."""
        ...

    def answered(self, turn: Turn) -> None:
        """Show the end of a turn."""
        ...

    def left(self, summary: Summary) -> None:
        """Show the summary after the server exited."""
        ...

    def closed(self) -> None:
        """Clean up at the end of the demo, however it ended."""
        ...


Verify = Callable[[], Awaitable[Verdict]]


async def verify_nothing() -> Verdict:
    """Return an empty verdict, for prompts without an expected result."""
    return Verdict()


class Tour:
    """Plays the user: sends the steps' prompts and answers permission requests."""

    def __init__(
        self,
        steps: Sequence[Step],
        show: Show,
        pauses: Pauses | None = None,
        verify: Verify = verify_nothing,
    ) -> None:
        """Set up the demo; `verify` is called after the last step, while the server still runs."""
        self._steps = steps
        self._show = show
        self._pauses = pauses or Pauses()
        self._verify = verify
        self._summary = Summary()
        self._turn: Turn | None = None
        self._agent: Agent | None = None
        self._has_commands = anyio.Event()
        self._early: list[Update] | None = []
        """Updates that arrived before the session was shown; None afterwards."""
        self._is_over = False

    async def update(self, session_id: str, update: Update) -> None:
        """Handle an update of the session (callback `Editor.show`)."""
        if self._early is not None:
            self._early.append(update)
            return
        self._take(update)
        turn = self._turn
        if turn is not None and turn.is_enough and self._agent is not None:
            await self._agent.cancel(session_id)
            turn.cancelled = time.perf_counter()

    async def decide(self, request: RequestPermissionRequest) -> RequestPermissionOutcome:
        """Answer a permission request after a pause (callback `Editor.decide`)."""
        self._summary.questions += 1
        self._show.asked(request)
        answer: PermissionOption | None = None
        try:
            await anyio.sleep(self._pauses.before_answers)
            answer = choice(request)
        finally:
            if not self._is_over:
                self._show.decided(request, answer)
        if answer is None:
            return CancelledPermissionOutcome()
        return SelectedPermissionOutcome(option_id=answer.option_id)

    def wrote(self, path: Path) -> None:
        """Handle a file written through this client."""
        if not self._is_over:
            self._show.wrote(path)

    async def run(self, child: SpawnedAgent, folder: Path) -> Summary:
        """Run all steps and close the server.

        Raises:
            DriverError: The server failed or broke the protocol.
            WorkspaceError: The project cannot be verified.
        """
        try:
            return await self._go(child, folder)
        finally:
            self._is_over = True  # ignore updates that still arrive while the server exits
            self._show.closed()

    async def _go(self, child: SpawnedAgent, folder: Path) -> Summary:
        self._agent = child.agent
        answer = await child.agent.initialize()
        self._show.greeted(answer, time.perf_counter() - child.started)
        started = time.perf_counter()
        session = await child.agent.new_session(folder)
        self._show.opened(session, time.perf_counter() - started)
        # Updates may arrive before the response to session/new is handled; show them after it.
        early, self._early = self._early or [], None
        for update in early:
            self._take(update)
        with anyio.move_on_after(COMMANDS_SECONDS):
            await self._has_commands.wait()
        for number, step in enumerate(self._steps, start=1):
            await anyio.sleep(self._pauses.before_prompts)
            self._show.asks(step, number, len(self._steps))
            await self._answer(step, child.agent, session.session_id)
        self._summary.verdict = await self._verify()
        self._summary.exit = await child.close()
        self._summary.seconds = time.perf_counter() - child.started
        self._show.left(self._summary)
        return self._summary

    def _take(self, update: Update) -> None:
        if self._is_over:
            return
        self._summary.updates += 1
        if isinstance(update, AvailableCommandsUpdate):
            self._has_commands.set()
        if self._turn is not None:
            self._turn.count(update)
        self._show.update(update)

    async def _answer(self, step: Step, agent: Agent, session_id: str) -> None:
        turn = Turn(step, time.perf_counter())
        self._turn = turn
        answer = await agent.prompt(session_id, step.prompt)
        turn.ended = time.perf_counter()
        turn.stop_reason = answer.stop_reason
        self._turn = None
        self._summary.turns.append(turn)
        self._show.answered(turn)


def choice(request: RequestPermissionRequest) -> PermissionOption | None:
    """Return the simulated user's answer: allow edits for the session, commands once."""
    wanted = "allow_always" if request.tool_call.kind == "edit" else "allow_once"
    allowing = [option for option in request.options if option.kind.startswith("allow")]
    fitting = (option for option in allowing if option.kind == wanted)
    return next(fitting, allowing[0] if allowing else None)
