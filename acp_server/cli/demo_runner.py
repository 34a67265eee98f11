"""Runs the demo: sends its prompts, answers permission requests and measures the turns."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from acp_server.cli.demo_project import verify_demo
from acp_server.cli.demo_renderer import DemoRenderer
from acp_server.cli.demo_results import DemoStep, DemoSummary, DemoTurn
from acp_server.headless.agent import AgentClient
from acp_server.headless.driver import SpawnedAgent
from acp_server.headless.updates import Update
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
)
from acp_server.protocol.updates import AvailableCommandsUpdate

COMMANDS_TIMEOUT_SECONDS = 1.0
PROMPT_PAUSE_SECONDS = 0.35
ANSWER_PAUSE_SECONDS = 1.2


@dataclass(slots=True)
class DemoRunner:
    """Plays the user: sends the prompts and answers permission requests."""

    renderer: DemoRenderer
    has_pauses: bool
    """Whether the simulated user pauses before prompts and answers."""
    summary: DemoSummary = field(default_factory=DemoSummary)
    _turn: DemoTurn | None = None
    _agent: AgentClient | None = None
    _has_commands: anyio.Event = field(default_factory=anyio.Event)
    _early_updates: list[Update] | None = field(default_factory=list[Update])
    """Updates that arrived before the session was shown; None afterwards."""
    _is_finished: bool = False

    async def handle_update(self, session_id: str, update: Update) -> None:
        """Handle an update of the session (callback `ClientProfile.show`)."""
        if self._early_updates is not None:
            self._early_updates.append(update)
            return
        self._record_update(update)
        turn = self._turn
        if turn is not None and turn.should_cancel and self._agent is not None:
            await self._agent.cancel(session_id)
            turn.cancelled_at = time.perf_counter()

    async def answer_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionOutcome:
        """Allow edits for the session and commands once (`ClientProfile.answer_permission`)."""
        self.summary.questions += 1
        self.renderer.view.show_permission_request(request)
        answer: PermissionOption | None = None
        try:
            await self._pause(ANSWER_PAUSE_SECONDS)
            preferred_kind = "allow_always" if request.tool_call.kind == "edit" else "allow_once"
            allowing = [option for option in request.options if option.kind.startswith("allow")]
            matching = (option for option in allowing if option.kind == preferred_kind)
            answer = next(matching, allowing[0] if allowing else None)
        finally:
            if not self._is_finished:
                self.renderer.view.show_permission_answer(request, answer)
        if answer is None:
            return CancelledPermissionOutcome()
        return SelectedPermissionOutcome(option_id=answer.option_id)

    def handle_written_file(self, path: Path) -> None:
        """Handle a file written through this client."""
        if not self._is_finished:
            self.renderer.view.show_written_file(path)

    async def run(
        self,
        child: SpawnedAgent,
        folder: Path,
        steps: Sequence[DemoStep],
        expected: Mapping[str, str] | None,
    ) -> None:
        """Run all steps, verify the expected changes of the project, if any; close the server.

        Raises:
            AgentClientError: The server failed or broke the protocol.
            DemoProjectError: The project cannot be verified.
        """
        self._agent = child.agent
        try:
            session_id = await self._open_session(child, folder)
            for number, step in enumerate(steps, start=1):
                await self._pause(PROMPT_PAUSE_SECONDS)
                self.renderer.show_prompt(step, number, len(steps))
                turn = self._turn = DemoTurn(step, time.perf_counter())
                answer = await child.agent.prompt(session_id, step.prompt)
                turn.ended_at, turn.stop_reason = time.perf_counter(), answer.stop_reason
                self._turn = None
                self.summary.turns.append(turn)
                self.renderer.show_turn_end(turn)
            if expected is not None:
                self.summary.findings = await verify_demo(folder, expected)
            self.summary.exit = await child.close()
            self.summary.seconds = time.perf_counter() - child.started
            self.renderer.show_summary(self.summary)
        finally:
            self._is_finished = True  # ignore updates that still arrive while the server exits
            self.renderer.view.settle()

    async def _open_session(self, child: SpawnedAgent, folder: Path) -> str:
        """Open the session, show it and wait for its commands; return its id."""
        answer = await child.agent.initialize()
        self.renderer.show_initialized(answer, time.perf_counter() - child.started)
        started = time.perf_counter()
        session = await child.agent.new_session(folder)
        self.renderer.show_session(session, time.perf_counter() - started)
        # Updates may arrive before the response to session/new is handled; show them after it.
        early, self._early_updates = self._early_updates or [], None
        for update in early:
            self._record_update(update)
        with anyio.move_on_after(COMMANDS_TIMEOUT_SECONDS):
            await self._has_commands.wait()
        return session.session_id

    async def _pause(self, seconds: float) -> None:
        await anyio.sleep(seconds if self.has_pauses else 0)

    def _record_update(self, update: Update) -> None:
        if self._is_finished:
            return
        self.summary.updates += 1
        if isinstance(update, AvailableCommandsUpdate):
            self._has_commands.set()
        if self._turn is not None:
            self._turn.count_update(update)
        self.renderer.view.show(update)
