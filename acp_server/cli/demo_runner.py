"""Runs the demo: plays the user of an editor, and shows the session, measurements and a summary."""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from rich.rule import Rule
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS
from acp_server.cli.demo_project import DemoCheckResult, DemoScript, DemoStep, verify_demo
from acp_server.cli.screen import TerminalScreen, printable
from acp_server.cli.session_view import SessionView
from acp_server.cli.transcript import TextEntry, Transcript, option_texts
from acp_server.config.settings import child_environment
from acp_server.headless.agent import AgentClient
from acp_server.headless.driver import SpawnedAgent
from acp_server.headless.process import AgentExit
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.headless.updates import Update
from acp_server.protocol.initialize_request import Implementation
from acp_server.protocol.prompt_turn import StopReason
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
)
from acp_server.protocol.updates import AvailableCommandsUpdate
from acp_server.text.quantities import count, duration

UNNAMED_AGENT = Implementation(name="unnamed agent", version="")
INTRODUCTION = "A real server over stdio with a scripted model; this terminal is the editor."
PROGRAM = "acp-server"
NEXT_STEPS = {
    "doctor": "check the installation",
    "demo --json": "see the protocol messages of this demo",
    "setup --editor NAME": "add it to your editor",
}
COMMANDS_TIMEOUT_SECONDS = 10.0
PROMPT_PAUSE_SECONDS = 0.35
ANSWER_PAUSE_SECONDS = 1.2


def program_as_started(environment: Mapping[str, str]) -> str:
    """Return how to start this program again: it is not on PATH after `uv run`.

    >>> program_as_started({"UV_RUN_RECURSION_DEPTH": "1"})
    'uv run acp-server'
    """
    if "UV_RUN_RECURSION_DEPTH" in environment:
        return f"uv run {PROGRAM}"
    if shutil.which(PROGRAM, path=environment.get("PATH")) is not None:
        return PROGRAM
    started = Path(sys.argv[0])
    is_script = started.name == PROGRAM
    words = [str(started)] if is_script else [sys.executable, "-m", "acp_server"]
    return shlex.join(words)


@dataclass(slots=True)
class DemoTurn:
    """One turn, with the entries of the transcript that it has added.

    Times are from `time.perf_counter`.
    """

    step: DemoStep
    transcript: Transcript
    first_entry: int
    started_at: float
    last_entry: int | None = None
    cancelled_at: float | None = None
    ended_at: float = 0.0
    stop_reason: StopReason = "end_turn"

    @property
    def calls(self) -> list[ToolCallState]:
        """Its tool calls."""
        entries = self.transcript.entries[self.first_entry : self.last_entry]
        return [each for each in entries if isinstance(each, ToolCallState)]

    @property
    def texts(self) -> list[TextEntry]:
        """Its thoughts and answers."""
        entries = self.transcript.entries[self.first_entry : self.last_entry]
        return [each for each in entries if isinstance(each, TextEntry)]

    @property
    def chunks(self) -> int:
        """The number of chunks of thoughts and answers."""
        return sum(text.chunks for text in self.texts)

    @property
    def should_cancel(self) -> bool:
        """Whether the user has seen enough of the answer."""
        limit = self.step.cancel_after_chunks
        answers = (text.chunks for text in self.texts if text.kind == "message")
        return limit is not None and self.cancelled_at is None and sum(answers) >= limit

    @property
    def problems(self) -> Iterator[str]:
        """Yield deviations from the expected stop reason and failed calls."""
        prompt, must_fail = self.step.prompt, self.step.failing_calls
        expected = "end_turn" if self.step.cancel_after_chunks is None else "cancelled"
        if self.stop_reason != expected:
            yield f"{prompt!r} ended with {self.stop_reason}, not {expected}"
        failed = sum(call.status == "failed" for call in self.calls)
        if must_fail is not None and failed != must_fail:
            yield f"{prompt!r}: {failed} tool calls failed, not {must_fail}"


class DemoRunner:
    """Plays the user: sends the prompts and answers permission requests."""

    def __init__(self, screen: TerminalScreen, *, has_pauses: bool) -> None:
        """Show the demo on a screen; the user may pause before prompts and answers."""
        self.problems: list[str] = []
        self._screen = screen
        self._has_pauses = has_pauses
        self._view = SessionView(screen)
        self._agent: AgentClient | None = None
        self._turns: list[DemoTurn] = []
        self._turn: DemoTurn | None = None
        self._updates = 0
        self._questions = 0
        self._seconds = 0.0
        self._has_commands = anyio.Event()
        self._early_updates: list[Update] | None = []
        """Updates that arrived before the session was shown; None afterwards."""
        self._is_finished = False

    @property
    def counts(self) -> Sequence[str]:
        """The counts and the duration as texts."""
        return (
            count(len(self._turns), "prompt"),
            count(self._updates, "update"),
            count(sum(turn.chunks for turn in self._turns), "chunk"),
            count(sum(len(turn.calls) for turn in self._turns), "call"),
            count(self._questions, "question"),
            duration(self._seconds),
        )

    async def handle_update(self, session_id: str, update: Update) -> None:
        """Handle an update of the session (callback `ClientProfile.show`)."""
        if self._early_updates is not None:
            self._early_updates.append(update)
            return
        if self._is_finished:
            return
        self._updates += 1
        if isinstance(update, AvailableCommandsUpdate):
            self._has_commands.set()
        self._view.show(update)
        turn = self._turn
        if turn is not None and self._agent is not None and turn.should_cancel:
            await self._agent.cancel(session_id)
            turn.cancelled_at = time.perf_counter()

    async def answer_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionOutcome:
        """Allow edits for the session and commands once (`ClientProfile.answer_permission`)."""
        self._questions += 1
        self._view.transcript.ask(request)
        self._view.redraw()
        answer: PermissionOption | None = None
        try:
            await self._pause(ANSWER_PAUSE_SECONDS)
            preferred_kind = "allow_always" if request.tool_call.kind == "edit" else "allow_once"
            allowing = [option for option in request.options if option.kind.startswith("allow")]
            matching = (option for option in allowing if option.kind == preferred_kind)
            answer = next(matching, allowing[0] if allowing else None)
        finally:
            if not self._is_finished:
                self._view.transcript.answer(request, answer)
                self._view.redraw()
        if answer is None:
            return CancelledPermissionOutcome()
        return SelectedPermissionOutcome(option_id=answer.option_id)

    def handle_written_file(self, path: Path) -> None:
        """Handle a file written through this client."""
        if not self._is_finished:
            self._view.transcript.add_written_file(path)
            self._view.redraw()

    async def run(
        self, child: SpawnedAgent, folder: Path, script: DemoScript, prompts: Sequence[str]
    ) -> None:
        """Play the script and verify it, or the user's prompts instead; close the server.

        Raises:
            AgentClientError: The server failed or broke the protocol.
            DemoProjectError: The project cannot be verified.
        """
        self._agent = child.agent
        # No expected result is known for the user's prompts.
        own = [DemoStep(prompt=each, caption="your prompt", failing_calls=None) for each in prompts]
        steps = own or script.steps
        try:
            session_id = await self._open_session(child, folder, len(script.files))
            for number, step in enumerate(steps, start=1):
                await self._pause(PROMPT_PAUSE_SECONDS)
                self._show_prompt(step, f"{number} of {len(steps)}")
                transcript = self._view.transcript
                turn = DemoTurn(step, transcript, len(transcript.entries), time.perf_counter())
                self._turn = turn
                self._turns.append(turn)
                answer = await child.agent.prompt(session_id, step.prompt)
                turn.ended_at, turn.stop_reason = time.perf_counter(), answer.stop_reason
                turn.last_entry = len(transcript.entries)
                self._turn = None
                self._show_turn_end(turn)
            checks = () if prompts else await verify_demo(folder, script.changes)
            agent_exit = await child.close()
            self._seconds = time.perf_counter() - child.started
            self._show_summary(checks, agent_exit)
        finally:
            self._is_finished = True  # ignore updates that still arrive while the server exits
            self._view.settle()

    async def _open_session(self, child: SpawnedAgent, folder: Path, file_count: int) -> str:
        """Open the session, show it and wait for its commands; return its id."""
        screen, transcript = self._screen, self._view.transcript
        answer = await child.agent.initialize()
        seconds = time.perf_counter() - child.started
        agent = answer.agent_info or UNNAMED_AGENT
        program = f"{agent.name} {agent.version}"
        version = screen.join(program, f"ACP version {answer.protocol_version}")
        screen.print()
        screen.print_parts((agent.title or agent.name, "title"), "   ", (version, "quiet"))
        screen.print_parts((INTRODUCTION, "quiet"))
        screen.print()
        after = f"answered {duration(seconds)} after the process was started"
        self._show_result("initialize", after)
        started = time.perf_counter()
        session = await child.agent.new_session(folder)
        self._show_result(
            "session/new", f"answered after {duration(time.perf_counter() - started)}"
        )
        transcript.add_fact("project", f"{folder} ({count(file_count, 'file')}, one commit)")
        if session.modes is not None:
            transcript.add_fact("modes", *(mode.name for mode in session.modes.available_modes))
        if session.config_options:
            transcript.add_fact("options", *option_texts(session.config_options))
        self._view.redraw()
        # Updates may arrive before the response to session/new is handled; show them after it.
        early, self._early_updates = self._early_updates or [], None
        for update in early:
            await self.handle_update(session.session_id, update)
        with anyio.move_on_after(COMMANDS_TIMEOUT_SECONDS):
            await self._has_commands.wait()
        return session.session_id

    async def _pause(self, seconds: float) -> None:
        await anyio.sleep(seconds if self._has_pauses else 0)

    def _show_prompt(self, step: DemoStep, position: str) -> None:
        """Show the prompt below a heading."""
        self._view.settle()
        self._show_rule(self._screen.join(position, step.caption))
        sign = Text.styled(f"  {self._screen.symbols.prompt} ", "accent")
        self._screen.print_parts((printable(step.prompt), "prompt"), first_prefix=sign)

    def _show_turn_end(self, turn: DemoTurn) -> None:
        """Show how the turn ended and how long it took."""
        self._view.settle()
        self._screen.print()
        if turn.cancelled_at is not None:
            sent = f"sent after {turn.step.cancel_after_chunks} words"
            self._show_result("session/cancel", sent, "warning")
            delay = duration(turn.ended_at - turn.cancelled_at)
            self._show_result(turn.stop_reason, f"answered {delay} later")
            return
        calls = f"{count(len(turn.calls), 'call')} and " if turn.calls else ""
        timing = duration(turn.ended_at - turn.started_at)
        if turn.chunks > 1:
            timing += f", the first after {duration(turn.texts[0].started - turn.started_at)}"
        self._show_result(turn.stop_reason, f"{calls}{count(turn.chunks, 'chunk')} in {timing}")

    def _show_summary(self, checks: Sequence[DemoCheckResult], agent_exit: AgentExit) -> None:
        """Show the verification, the problems, the summary and the next steps."""
        screen = self._screen
        self.problems = [problem for turn in self._turns for problem in turn.problems]
        self.problems += [check.problem for check in checks if check.problem]
        if agent_exit.code != 0:
            self.problems.append(f"the server ended with exit code {agent_exit.code}")
        self._show_rule()
        for check in checks:
            self._show_result(check.name, check.result, "problem" if check.problem else "ok")
        ended = f"the server exited after {duration(agent_exit.seconds)}"
        self._show_result("stdin closed", f"{ended} with exit code {agent_exit.code}")
        for problem in self.problems:
            self._show_result("problem", problem, "problem")
        screen.print()
        screen.print_parts((screen.join(*self.counts), "title"))
        screen.print()
        program = program_as_started(child_environment({}))
        steps = {f"{program} {command}": reason for command, reason in NEXT_STEPS.items()}
        width = max(map(len, steps))
        for command, reason in steps.items():
            label = Text.styled(f"  {command.ljust(width)}   ", "accent")
            screen.print_parts((reason, "quiet"), first_prefix=label)
        screen.print()

    def _show_rule(self, heading: str = "") -> None:
        rule = Text(heading, style="quiet")
        signs = self._screen.symbols
        self._screen.print()
        self._screen.print(Rule(rule, align="left", style="quiet", characters=signs.rule))
        self._screen.print()

    def _show_result(self, subject: str, result: str, style: str = "ok") -> None:
        signs = self._screen.symbols
        sign = {"ok": signs.ok, "warning": signs.stopped, "problem": signs.problem}[style]
        label = Text.assemble((f"  {sign} ", style), subject.ljust(LABEL_COLUMNS))
        self._screen.print_parts((printable(result), "quiet"), first_prefix=label)
