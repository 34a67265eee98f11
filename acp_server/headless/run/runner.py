"""Runs one task: the normal ACP server, in this process, with a headless client.

A report is always returned, however the run ends.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio import to_thread

from acp_server.checkpoints.root_snapshot import tree_of
from acp_server.config import settings
from acp_server.headless.agent import AgentClient, ClientProfile
from acp_server.headless.driver import connect_agent
from acp_server.headless.errors import AgentClientError, AgentResponseError, unwrap_single_exception
from acp_server.headless.run.answer_schema import AnswerSchema, correction_prompt
from acp_server.headless.run.budget import BudgetedCatalog, BudgetLedger, PriceUnknownError
from acp_server.headless.run.changes import ChangeTracker
from acp_server.headless.run.denials import Denial, DenialLog
from acp_server.headless.run.digests import request_digests, settings_digest, skills_digest
from acp_server.headless.run.feeds import RunFeed
from acp_server.headless.run.findings import ReviewFindings, is_at_least, resolve_paths
from acp_server.headless.run.outcome import STOP_MESSAGES, outcome_of_error, outcome_of_stop
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.request import LAST_SESSION, RunRequest
from acp_server.headless.updates import Update
from acp_server.headless.wire import RecordLine, ignore_line
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.permissions.gate import AuditRecord
from acp_server.protocol.content import TextContent
from acp_server.protocol.initialize_request import (
    ClientCapabilities,
    ClientSessionCapabilities,
    NoticeCapabilities,
)
from acp_server.protocol.sessions import (
    ListSessionsRequest,
    ListSessionsResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionConfigSelect,
    SessionSetup,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
)
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
)
from acp_server.server import app
from acp_server.server.recording import ModelRecording
from acp_server.session.project.headless_policy import HeadlessPolicy
from acp_server.turn.conversation import ToolCall

SKILL_PREFIX = "/skill:"
CANCEL_SECONDS = 1.0
"""Time for a turn to end after the run's timeout."""


class LastMessage:
    """Text of the last agent message."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._parts: list[str] = []
        self._previous_text = ""

    @property
    def text(self) -> str:
        """The text received so far, stripped."""
        return "".join(self._parts).strip()

    def text_unless(self, reported: str) -> str:
        """Return the text, or the previous message's if the last one is just `reported`."""
        return self._previous_text if self.text == reported else self.text

    def add(self, update: Update) -> None:
        """Add an update; only agent message chunks count."""
        if not isinstance(update, AgentMessageChunk):
            return
        if update.message_id != self._id:
            self._previous_text = self.text
            self._id = update.message_id
            self._parts.clear()
        if isinstance(update.content, TextContent):
            self._parts.append(update.content.text)


class SessionNotFoundError(AgentClientError):
    """There is no session to continue."""


@dataclass(slots=True)
class HeadlessRun:
    """One headless run of a task."""

    request: RunRequest
    feed: RunFeed
    record: RecordLine = ignore_line
    report: RunReport = field(default_factory=RunReport)
    ledger: BudgetLedger = field(init=False)
    recording: ModelRecording = field(init=False)
    _denials: DenialLog = field(init=False)
    _message: LastMessage = field(default_factory=LastMessage, init=False)
    _denial_event: anyio.Event = field(default_factory=anyio.Event, init=False)
    _commands: frozenset[str] = field(default=frozenset(), init=False)
    _unreported_denials: list[Denial] = field(default_factory=list[Denial], init=False)

    def __post_init__(self) -> None:
        """Create the ledger of the run's budget and the log of its denials."""
        self._denials = DenialLog(self.request.workspace)
        self.ledger = BudgetLedger(self.request.budget)
        self.report.is_saved = not self.request.is_ephemeral
        self.recording = self.request.recording or ModelRecording(self.request.configuration)

    async def execute(self) -> RunReport:
        """Run the task and return the report; a failed request becomes its outcome."""
        started = time.monotonic()
        home, seconds = self.request.configuration.home, self.request.timeout_seconds
        # The timeout, plus time to cancel the turn.
        limit = float("inf") if seconds is None else seconds + 2 * CANCEL_SECONDS
        with ChangeTracker(self.request.workspace, home, settings.child_environment({})) as tracker:
            try:
                with anyio.move_on_after(limit) as total_timeout:
                    async with self._start_agent() as agent:
                        await self._converse(agent, tracker)
                if total_timeout.cancelled_caught:
                    self._set_timeout()
            except AgentClientError as error:
                self._set_failure(error)
            finally:
                # Also after a signal: the result must list the changes that were made.
                with anyio.CancelScope(shield=True):
                    is_interrupted = not self.report.stop_reason
                    self.report.changes = await to_thread.run_sync(
                        tracker.compute_changes, is_interrupted
                    )
                self._complete_report(time.monotonic() - started)
        return self.report

    @asynccontextmanager
    async def _start_agent(self) -> AsyncGenerator[AgentClient]:
        """Start the server in this process and connect a client to it."""
        rules = self.request.policy
        policy = HeadlessPolicy(
            rules=rules.rules,
            audit=self._on_effect,
            on_refusal=self._on_blocked_call,
            is_trusted=rules.is_trusted,
            platform=self.request.platform,
            wrap_catalog=partial(BudgetedCatalog, ledger=self.ledger),
            is_ephemeral=self.request.is_ephemeral,
        )
        session = ClientSessionCapabilities(notices=NoticeCapabilities())
        profile = ClientProfile(
            self._show, self._answer_permission, ClientCapabilities(session=session)
        )
        client_end, server_end = create_memory_pair()
        connection = app.build_server(
            server_end, self.recording.configuration, policy=policy, recording=self.recording
        )

        async def serve() -> None:
            async with server_end:
                await connection.run()

        with unwrap_single_exception():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve)
                async with connect_agent(client_end, profile, self.record) as agent:
                    yield agent
                    await agent.finish_sending()

    async def _converse(self, agent: AgentClient, tracker: ChangeTracker) -> None:
        """Open the session, send the prompt and wait for the end of the turn.

        The first snapshot is taken while the session opens: no tool runs before the prompt.
        """
        async with anyio.create_task_group() as setup_tasks:
            take_snapshot = partial(to_thread.run_sync, abandon_on_cancel=True)
            setup_tasks.start_soon(take_snapshot, tracker.take_first_snapshot)
            await agent.initialize()
            await self._open_session(agent)
        await self.feed.begin(self.report)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._report_denials_until_cancelled, agent)
                await self._run_turn(agent)
                tasks.cancel_scope.cancel()
        finally:
            # Also of a cancelled run, the feed has received each denial and the last message.
            await self._report_denials()
            with anyio.CancelScope(shield=True):
                await self.feed.end()

    async def _run_turn(self, agent: AgentClient) -> None:
        request = self.request
        prompt = request.prompt
        if request.answer_schema is not None:
            prompt = request.answer_schema.add_to_prompt(prompt)
        skills = [f"{SKILL_PREFIX}{name}" for name in request.skills]
        with anyio.move_on_after(request.timeout_seconds or float("inf")) as timer:
            await self._send_prompt(agent, " ".join((*skills, prompt)))
            if self.report.outcome == "done" and request.answer_schema is not None:
                await self._check_answer(agent, request.answer_schema)
        if timer.cancelled_caught:  # the work so far is kept
            self._set_timeout()
            with anyio.move_on_after(CANCEL_SECONDS):
                await agent.cancel(self.report.session_id)

    async def _send_prompt(self, agent: AgentClient, prompt: str) -> None:
        """Send a prompt; its stop reason determines the outcome."""
        response = await agent.prompt(self.report.session_id, prompt)
        report = self.report
        report.stop_reason = response.stop_reason
        report.outcome = outcome_of_stop(response.stop_reason)
        report.reason = STOP_MESSAGES.get(response.stop_reason, "")
        loaded = (response.meta or {}).get("hermes")
        report.loaded = loaded if isinstance(loaded, dict) else {}
        if not self.ledger.usage.requests and self._names_unknown_command():
            report.outcome, report.reason = "usage_error", self._message.text

    async def _check_answer(self, agent: AgentClient, schema: AnswerSchema) -> None:
        """Validate the final answer; the model may correct it once."""
        report = self.report
        report.answer, report.answer_problems = schema.parse(self._message.text)
        if report.answer_problems:
            await self._send_prompt(agent, correction_prompt(report.answer_problems))
            report.answer, report.answer_problems = schema.parse(self._message.text)
        if report.outcome == "done" and report.answer_problems:
            report.outcome = "invalid_answer"
            problems = "; ".join(report.answer_problems)
            report.reason = f"the final answer does not fit its schema: {problems}"
        elif not report.answer_problems and self.request.fail_on is not None:
            found = ReviewFindings.model_validate(report.answer).findings
            folder = self.request.workspace
            report.findings = await to_thread.run_sync(
                resolve_paths, found, folder, tree_of(folder)
            )
            if any(is_at_least(each, self.request.fail_on) for each in report.findings):
                report.outcome, report.reason = "findings", "there are findings (--fail-on)"

    async def _open_session(self, agent: AgentClient) -> None:
        """Open a new or an existing session and set its mode.

        Raises:
            AgentClientError: There is no session to continue, or it cannot be opened.
        """
        request = self.request
        if request.session is None:
            opened = await agent.new_session(request.workspace)
            self.report.session_id = opened.session_id
            self.report.model = _model_of(opened)
        else:
            session_id, cwd = request.session, str(request.workspace)
            if session_id == LAST_SESSION:
                listing = ListSessionsRequest(cwd=cwd)
                page = await agent.request("session/list", listing, ListSessionsResponse)
                if not page.sessions:
                    raise SessionNotFoundError(f"there is no saved session for {cwd}")
                session_id = page.sessions[0].session_id
            resume = ResumeSessionRequest(session_id=session_id, cwd=cwd)
            reopened = await agent.request("session/resume", resume, ResumeSessionResponse)
            self.report.session_id, self.report.model = session_id, _model_of(reopened)
        mode = SetSessionModeRequest(session_id=self.report.session_id, mode_id=request.policy.mode)
        await agent.request("session/set_mode", mode, SetSessionModeResponse)

    async def _show(self, session_id: str, update: Update) -> None:
        del session_id
        self._message.add(update)
        if isinstance(update, AvailableCommandsUpdate):
            self._commands = frozenset(each.name for each in update.available_commands)
        if isinstance(update, ConfigOptionUpdate):  # the default, once the endpoint's list is known
            self.report.model = _model_of(update) or self.report.model
        await self.feed.show(update)

    async def _answer_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionOutcome:
        """Reject: effects that the rules allow are never asked about."""
        if self.request.policy.stop_on_question:
            return CancelledPermissionOutcome()
        for option in request.options:
            if option.kind == "reject_once":
                return SelectedPermissionOutcome(option_id=option.option_id)
        return CancelledPermissionOutcome()

    def _on_effect(self, record: AuditRecord) -> None:
        denial = self._denials.record_effect(record)
        if denial is not None:
            self._queue_denial(denial)

    def _on_blocked_call(self, call: ToolCall, reason: str) -> None:
        self._queue_denial(self._denials.record_blocked_call(call, reason))

    def _queue_denial(self, denial: Denial) -> None:
        self._unreported_denials.append(denial)
        self._denial_event.set()

    async def _report_denials_until_cancelled(self, agent: AgentClient) -> None:
        """Report denials to the feed; cancel the run at the first one if the rules say so."""
        while True:
            await self._denial_event.wait()
            # Replaced before reporting: a denial that arrives meanwhile sets the new event.
            self._denial_event = anyio.Event()
            await self._report_denials()
            if self.request.policy.stop_on_denial:
                await agent.cancel(self.report.session_id)

    async def _report_denials(self) -> None:
        # Shielded: the events must name each denial of the result, also of a cancelled run.
        with anyio.CancelScope(shield=True):
            while self._unreported_denials:
                await self.feed.deny(self._unreported_denials.pop(0))

    def _set_timeout(self) -> None:
        self.report.outcome = "timeout"
        seconds = self.request.timeout_seconds
        self.report.reason = f"the run did not finish within {seconds:g} seconds (--timeout)"

    def _names_unknown_command(self) -> bool:
        """Whether the prompt names an unknown skill or command, so that no model was called."""
        name = self.request.prompt.split(maxsplit=1)[0]
        is_known = name.removeprefix("/") in self._commands
        return bool(self.request.skills) or (name.startswith("/") and not is_known)

    def _set_failure(self, error: AgentClientError) -> None:
        is_not_found = isinstance(error, SessionNotFoundError)
        self.report.outcome = "session_not_found" if is_not_found else outcome_of_error(error)
        data = error.data if isinstance(error, AgentResponseError) else None
        details = data.get("details") if isinstance(data, dict) else None
        self.report.reason = details if isinstance(details, str) else str(error)
        if isinstance(data, dict) and "kind" in data:
            self.report.failure = {
                "kind": data["kind"],
                "retry_after_seconds": data.get("retryAfterSeconds"),
            }
        if self.ledger.error is not None:
            is_price_unknown = isinstance(self.ledger.error, PriceUnknownError)
            self.report.outcome = "usage_error" if is_price_unknown else "budget"
            self.report.reason = self.ledger.error.reason

    def _complete_report(self, seconds: float) -> None:
        """Complete the report with usage, duration and denials."""
        report = self.report
        report.duration_seconds, report.usage = seconds, self.ledger.usage
        report.replay = self.recording.report()
        report.answered_by = self.ledger.models
        report.digests = self._digests()
        report.text = self._message.text_unless(report.reason)
        report.denials, report.left_undone = self._denials.denied, self._denials.left_undone
        if report.left_undone and report.outcome in {"done", "findings", "interrupted"}:
            report.outcome = "denied"
            report.reason = "a denial left work undone"

    def _digests(self) -> dict[str, str]:
        digests = {"settings": settings_digest(self.recording.configuration.settings)}
        request, skills = self.ledger.first_request, self.report.loaded.get("skills")
        if request is not None:
            digests |= request_digests(request, self.request.workspace)
        if skills:
            digests["skills"] = skills_digest(skills)
        return digests


def _model_of(setup: SessionSetup | ConfigOptionUpdate) -> str:
    """Return the current model id of a session; empty if unknown."""
    options = [each for each in setup.config_options or () if each.id == "model"]
    values = [each.current_value for each in options if isinstance(each, SessionConfigSelect)]
    return values[0] if values else ""
