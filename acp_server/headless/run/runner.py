"""Runs one task: the normal ACP server, in this process, with a headless client.

A report is always returned, however the run ends.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import anyio
from anyio import to_thread

from acp_server.checkpoints.root_snapshot import tree_of
from acp_server.config import settings
from acp_server.headless.agent import Agent, Editor
from acp_server.headless.driver import drive
from acp_server.headless.errors import AgentRefusedError, DriverError, ungrouped
from acp_server.headless.run.answer_schema import AnswerShape, mending
from acp_server.headless.run.budget import CountedCatalog, Ledger, PriceUnknownError
from acp_server.headless.run.changes import ChangeWatch
from acp_server.headless.run.denials import Denial, Denials
from acp_server.headless.run.findings import Findings, placed, weighs
from acp_server.headless.run.last_message import LastMessage
from acp_server.headless.run.outcome import WHY_STOPPED, outcome_of_error, outcome_of_stop
from acp_server.headless.run.report import Report
from acp_server.headless.run.request import LAST, RunRequest
from acp_server.headless.updates import Update
from acp_server.headless.wire import Record, record_nothing
from acp_server.jsonrpc.memory import memory_pair
from acp_server.permissions.gate import Passage
from acp_server.protocol.initialize_request import (
    ClientCapabilities,
    ClientSessionCapabilities,
    NoticeCapabilities,
)
from acp_server.protocol.prompt_turn import PromptResponse
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
from acp_server.protocol.updates import AvailableCommandsUpdate, ConfigOptionUpdate
from acp_server.server import app
from acp_server.session.project.headless_policy import Terms
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import ModelRequest

SKILL = "/skill:"
CANCEL_SECONDS = 1.0
"""Time for a turn to end after the run's timeout."""


class NoSessionError(DriverError):
    """There is no session to continue."""


class Feed(Protocol):
    """Receives the events of a run."""

    async def begin(self, report: Report) -> None:
        """Handle that the session is open; the report has its id and model."""
        ...

    async def show(self, update: Update) -> None:
        """Handle a session update."""
        ...

    async def deny(self, denial: Denial) -> None:
        """Handle a denial."""
        ...

    async def end(self) -> None:
        """Handle the end of the turn."""
        ...


@dataclass(slots=True)
class Run:
    """One headless run of a task."""

    request: RunRequest
    feed: Feed
    record: Record = record_nothing
    report: Report = field(default_factory=Report)
    _ledger: Ledger = field(init=False)
    _denials: Denials = field(default_factory=Denials, init=False)
    _message: LastMessage = field(default_factory=LastMessage, init=False)
    _is_denied: anyio.Event = field(default_factory=anyio.Event, init=False)
    _commands: frozenset[str] = field(default=frozenset(), init=False)
    _untold: list[Denial] = field(default_factory=list[Denial], init=False)

    def __post_init__(self) -> None:
        """Create the ledger for the run's budget."""
        self._ledger = Ledger(self.request.budget)

    @property
    def unasked(self) -> ModelRequest | None:
        """The model request that was not sent because of the budget, if any."""
        return self._ledger.unasked

    async def execute(self) -> Report:
        """Run the task and return the report; a failed request becomes its outcome."""
        started = time.monotonic()
        home = self.request.configuration.home
        with ChangeWatch(self.request.folder, home, settings.child_environment({})) as watch:
            try:
                with anyio.move_on_after(self._longest()) as last_resort:
                    async with self._agent() as agent:
                        await self._converse(agent, watch)
                if last_resort.cancelled_caught:
                    self._run_out_of_time()
            except DriverError as error:
                self._fail(error)
            finally:
                # Also after a signal: the result must list the changes that were made.
                with anyio.CancelScope(shield=True):
                    is_hurried = not self.report.stop_reason
                    self.report.changes = await to_thread.run_sync(watch.changes, is_hurried)
                self._settle(time.monotonic() - started)
        return self.report

    def _longest(self) -> float:
        """Return the total time limit in seconds: the timeout plus time to cancel the turn."""
        seconds = self.request.timeout_seconds
        return float("inf") if seconds is None else seconds + 2 * CANCEL_SECONDS

    @asynccontextmanager
    async def _agent(self) -> AsyncGenerator[Agent]:
        """Start the server in this process and connect a client to it."""
        ours, theirs = memory_pair()
        connection = app.build(theirs, self.request.configuration, terms=self._terms())

        async def serve() -> None:
            async with theirs:
                await connection.run()

        with ungrouped():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve)
                async with drive(ours, self._editor(), self.record) as agent:
                    yield agent
                    await agent.hang_up()

    def _terms(self) -> Terms:
        rules = self.request.rules
        return Terms(
            orders=rules.orders,
            witness=self._witness,
            refused=self._refused,
            is_trusted=rules.is_trusted,
            platform=self.request.platform,
            wrapped=partial(CountedCatalog, ledger=self._ledger),
            is_ephemeral=self.request.is_ephemeral,
        )

    def _editor(self) -> Editor:
        session = ClientSessionCapabilities(notices=NoticeCapabilities())
        return Editor(self._show, self._decide, ClientCapabilities(session=session))

    async def _converse(self, agent: Agent, watch: ChangeWatch) -> None:
        """Open the session, send the prompt and wait for the end of the turn.

        The first snapshot is taken while the session opens: no tool runs before the prompt.
        """
        async with anyio.create_task_group() as opening:
            opening.start_soon(_look, watch)
            await agent.initialize()
            await self._open(agent)
        await self.feed.begin(self.report)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_when_denied, agent)
            await self._take_turn(agent)
            tasks.cancel_scope.cancel()
        await self._tell_denials()
        await self.feed.end()

    async def _take_turn(self, agent: Agent) -> None:
        with anyio.move_on_after(self.request.timeout_seconds or float("inf")) as timer:
            await self._ask(agent, self._prompt())
            if self.report.outcome == "done" and self.request.answer is not None:
                await self._judge(agent, self.request.answer)
        if timer.cancelled_caught:
            await self._give_up(agent)

    async def _ask(self, agent: Agent, prompt: str) -> None:
        self._finish(await agent.prompt(self.report.session_id, prompt))

    async def _judge(self, agent: Agent, shape: AnswerShape) -> None:
        """Validate the final answer; the model may correct it once."""
        report = self.report
        report.answer, report.answer_problems = shape.read(self._message.text)
        if report.answer_problems:
            await self._ask(agent, mending(report.answer_problems))
            report.answer, report.answer_problems = shape.read(self._message.text)
        if report.outcome == "done" and report.answer_problems:
            report.outcome = "internal_error"
            problems = "; ".join(report.answer_problems)
            report.reason = f"the final answer does not fit its schema: {problems}"
        elif not report.answer_problems and self.request.fails_on is not None:
            found = Findings.model_validate(report.answer).findings
            folder = self.request.folder
            report.findings = await to_thread.run_sync(placed, found, folder, tree_of(folder))
            if any(weighs(each, self.request.fails_on) for each in report.findings):
                report.outcome, report.reason = "findings", "there are findings (--fail-on)"

    async def _open(self, agent: Agent) -> None:
        """Open a new or an existing session and set its mode.

        Raises:
            AgentClientError: There is no session to continue, or it cannot be opened.
        """
        request = self.request
        if request.session is None:
            opened = await agent.new_session(request.folder)
            self.report.session_id = opened.session_id
            self.report.model = _model_of(opened)
        else:
            session_id = await self._session_id(agent, request.session)
            resume = ResumeSessionRequest(session_id=session_id, cwd=str(request.folder))
            reopened = await agent.ask("session/resume", resume, ResumeSessionResponse)
            self.report.session_id, self.report.model = session_id, _model_of(reopened)
        mode = SetSessionModeRequest(session_id=self.report.session_id, mode_id=request.rules.mode)
        await agent.ask("session/set_mode", mode, SetSessionModeResponse)

    async def _session_id(self, agent: Agent, name: str) -> str:
        if name != LAST:
            return name
        request = ListSessionsRequest(cwd=str(self.request.folder))
        page = await agent.ask("session/list", request, ListSessionsResponse)
        if not page.sessions:
            reason = f"there is no saved session for {self.request.folder}"
            raise NoSessionError(reason)
        return page.sessions[0].session_id

    def _prompt(self) -> str:
        request = self.request
        prompt = request.prompt if request.answer is None else request.answer.asked(request.prompt)
        return " ".join((*(f"{SKILL}{name}" for name in request.skills), prompt))

    async def _show(self, session_id: str, update: Update) -> None:
        del session_id
        self._message.take(update)
        if isinstance(update, AvailableCommandsUpdate):
            self._commands = frozenset(each.name for each in update.available_commands)
        if isinstance(update, ConfigOptionUpdate):  # the default, once the endpoint's list is known
            self.report.model = _model_of(update) or self.report.model
        await self.feed.show(update)

    async def _decide(self, request: RequestPermissionRequest) -> RequestPermissionOutcome:
        """Reject: effects that the rules allow are never asked about."""
        if self.request.rules.stops_when_asked:
            return CancelledPermissionOutcome()
        for option in request.options:
            if option.kind == "reject_once":
                return SelectedPermissionOutcome(option_id=option.option_id)
        return CancelledPermissionOutcome()

    def _witness(self, passage: Passage) -> None:
        denial = self._denials.witness(passage)
        if denial is not None:
            self._note(denial)

    def _refused(self, call: ToolCall, reason: str) -> None:
        self._note(self._denials.refuse(call, reason, self.request.folder))

    def _note(self, denial: Denial) -> None:
        self._untold.append(denial)
        self._is_denied.set()

    async def _stop_when_denied(self, agent: Agent) -> None:
        """Report denials to the feed; cancel the run at the first one if the rules say so."""
        while True:
            await self._is_denied.wait()
            # Replaced before reporting: a denial that arrives meanwhile sets the new event.
            self._is_denied = anyio.Event()
            await self._tell_denials()
            if self.request.rules.stops_when_denied:
                await agent.cancel(self.report.session_id)

    async def _tell_denials(self) -> None:
        while self._untold:
            await self.feed.deny(self._untold.pop(0))

    async def _give_up(self, agent: Agent) -> None:
        """Cancel a turn after the timeout; its work so far is kept."""
        self._run_out_of_time()
        with anyio.move_on_after(CANCEL_SECONDS):
            await agent.cancel(self.report.session_id)

    def _run_out_of_time(self) -> None:
        self.report.outcome = "timeout"
        seconds = self.request.timeout_seconds
        self.report.reason = f"the run did not finish within {seconds:g} seconds (--timeout)"

    def _finish(self, response: PromptResponse) -> None:
        self.report.stop_reason = response.stop_reason
        self.report.outcome = outcome_of_stop(response.stop_reason)
        self.report.reason = WHY_STOPPED.get(response.stop_reason, "")
        told = (response.meta or {}).get("hermes")
        self.report.loaded = told if isinstance(told, dict) else {}
        if not self._ledger.spent.requests and self._asks_in_vain():
            self.report.outcome, self.report.reason = "usage_error", self._message.text

    def _asks_in_vain(self) -> bool:
        """Whether the prompt names an unknown skill or command, so that no model was called."""
        name = self.request.prompt.split(maxsplit=1)[0]
        is_known = name.removeprefix("/") in self._commands
        return bool(self.request.skills) or (name.startswith("/") and not is_known)

    def _fail(self, error: DriverError) -> None:
        is_gone = isinstance(error, NoSessionError)
        self.report.outcome = "session_not_found" if is_gone else outcome_of_error(error)
        self.report.reason = _reason_of(error)
        if self._ledger.fault is not None:
            unknown = isinstance(self._ledger.fault, PriceUnknownError)
            self.report.outcome = "usage_error" if unknown else "budget"
            self.report.reason = self._ledger.fault.reason

    def _settle(self, seconds: float) -> None:
        """Complete the report with usage, duration and denials."""
        report = self.report
        report.duration_seconds, report.spent = seconds, self._ledger.spent
        report.text = self._message.besides(report.reason)
        report.denials, report.left_undone = self._denials.denied, self._denials.left_undone
        if report.left_undone and report.outcome in {"done", "findings", "interrupted"}:
            report.outcome = "denied"
            report.reason = "a denial left work undone"


def _reason_of(error: DriverError) -> str:
    """Return the server's message to the user, else the error's text."""
    data = error.data if isinstance(error, AgentRefusedError) else None
    told = data.get("message") if isinstance(data, dict) else None
    return told if isinstance(told, str) else str(error)


async def _look(watch: ChangeWatch) -> None:
    await to_thread.run_sync(watch.begin, abandon_on_cancel=True)


def _model_of(setup: SessionSetup | ConfigOptionUpdate) -> str:
    """Return the current model id of a session; empty if unknown."""
    options = [each for each in setup.config_options or () if each.id == "model"]
    values = [each.current_value for each in options if isinstance(each, SessionConfigSelect)]
    return values[0] if values else ""
