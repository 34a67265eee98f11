"""Composition root: builds every part of a server and connects them."""

import logging
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer

import anyio
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.lazy_imports import LazyTrustAsker
from acp_server.handlers.providers import ProviderHandlers
from acp_server.history.archive import open_session_search
from acp_server.history.hermes_archive import HermesArchive
from acp_server.jsonrpc.stdio import Descriptors, StdioTransport
from acp_server.jsonrpc.transport import Transport
from acp_server.learning.service import LearningContext, LearningService
from acp_server.memory.lazy_imports import ExternalMemoryOpener, read_memory_pages
from acp_server.permissions.trust import (
    ApprovalStore,
    FixedTrust,
    NoTrustAsker,
    TrustStore,
    WorkspaceTrust,
)
from acp_server.server.config_mapping import (
    compaction_config,
    mcp_config,
    prompt_config,
    sub_agent_prompt_config,
)
from acp_server.server.endpoints import ModelService, open_models
from acp_server.server.lazy_imports import write_code_store_in_thread
from acp_server.server.log_setup import configure_logging
from acp_server.server.provider_routes import EndpointRoutes
from acp_server.server.recording import (
    ModelRecording,
    RecordingOptionsError,
    open_recording,
)
from acp_server.server.toolsets import ToolsetBuilder
from acp_server.server.unused_settings import take_unused_settings_notice
from acp_server.session.context import SessionContext
from acp_server.session.ports.archive import SessionArchive
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.null_archive import NullArchive
from acp_server.session.project.headless_policy import HeadlessPolicy
from acp_server.session.prompting.file_watch import FileWatch, TaskFunction
from acp_server.session.prompting.lazy_prompting import (
    lazy_prompt_provider,
    open_directory_events,
)
from acp_server.session.prompting.prompt_config import PromptConfig
from acp_server.session.prompting.shared_reads import SharedReads
from acp_server.session.registry import SessionRegistry
from acp_server.session.services import SessionServices
from acp_server.session.session import Session
from acp_server.startup.allocator import use_one_heap
from acp_server.startup.code_store import CodeStore
from acp_server.startup.handshake import (
    EXIT_SIGNALS,
    ClaimedStdio,
    exit_code_for_signal,
    exit_immediately_on_signals,
)
from acp_server.subagents.task import SubAgentLimits, TaskBudget
from acp_server.tools.skills.variable_store import SkillVariableStore
from acp_server.tools.tool_config import DelegationConfig, ToolConfig

logger = logging.getLogger(__name__)

CANCEL_TURNS_SECONDS = 0.8
FLUSH_SECONDS = 0.5
FORCED_EXIT_SECONDS = 1.7
WATCH_DELAY_SECONDS = 1.0
"""Time for a prompt that is sent at once; then the directories are watched."""
USAGE_ERROR = 2
"""Exit code of a server whose options cannot be used."""


def run_stdio(
    wire: ClaimedStdio, options: Mapping[str, str], code_store: CodeStore | None = None
) -> int:
    """Serve one client over the claimed descriptors until it disconnects; return the exit code.

    `code_store` is in use since the start; it is written and closed once a session is ready.
    """
    use_one_heap()
    configuration = settings.load(options)
    configure_logging(configuration.settings.log_level, configuration.settings.log_file)
    for problem in configuration.problems:
        logger.warning("configuration: %s", problem)
    try:
        recording = open_recording(configuration)
    except RecordingOptionsError as error:
        logger.error("%s", error)
        return USAGE_ERROR
    try:
        return anyio.run(_serve_stdio, wire, recording, code_store)
    finally:
        # A replay without differences is what was asked for, and no warning.
        level = logging.WARNING if recording.has_problems else logging.INFO
        for line in recording.report_lines():
            logger.log(level, "%s", line)


async def _serve_stdio(
    wire: ClaimedStdio, recording: ModelRecording, code_store: CodeStore | None
) -> int:
    transport = StdioTransport(Descriptors(wire.read, wire.write, wire.unread))
    connection = build_server(
        transport,
        recording.configuration,
        wire.initialize_params,
        recording=recording,
        watch_delay_seconds=WATCH_DELAY_SECONDS,
    )
    if code_store is not None:
        connection.on_ready = partial(write_code_store_in_thread, code_store)
    exits = _ExitHandlers(connection, transport)
    async with transport:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(exits.exit_on_signal, tasks.cancel_scope)
            tasks.start_soon(exits.exit_on_disconnect)
            await connection.run()
            # stdin is a file: it ends before its requests are answered, which may take a while.
            if transport.finishes_requests_at_end:
                await transport.flush()
            tasks.cancel_scope.cancel()
        # From here on the process must end, even if a client that reads nothing blocks a thread.
        _schedule_forced_exit(exits.code)
        with anyio.move_on_after(FLUSH_SECONDS):
            await transport.flush()
    return exits.code


class _ExitHandlers:
    """Handlers for the events that end the server, and the exit code they set."""

    def __init__(self, connection: AgentConnection, transport: StdioTransport) -> None:
        self.code = 0
        self._connection = connection
        self._transport = transport

    async def exit_on_signal(self, cancel_scope: anyio.CancelScope) -> None:
        """Wait for a signal, answer every running prompt as cancelled, then cancel all tasks."""
        try:
            with anyio.open_signal_receiver(*EXIT_SIGNALS) as signals:
                number = await anext(signals)
        finally:
            # The receiver has just removed its handlers; a second signal must end the process.
            exit_immediately_on_signals()
        self.code = exit_code_for_signal(number)
        logger.info("shutting down on %s", signal.Signals(number).name)
        _schedule_forced_exit(self.code)
        with anyio.move_on_after(CANCEL_TURNS_SECONDS):
            await self._connection.end_turns()
        cancel_scope.cancel()

    async def exit_on_disconnect(self) -> None:
        """Force the exit soon after the client has closed stdin, even if a turn does not end."""
        await self._connection.wait_until_disconnected()
        if not self._transport.finishes_requests_at_end:
            _schedule_forced_exit(self.code)


def build_server(
    transport: Transport,
    configuration: Configuration,
    initialize_params: JsonValue = None,
    policy: HeadlessPolicy | None = None,
    recording: ModelRecording | None = None,
    *,
    watch_delay_seconds: float = 0.0,
) -> AgentConnection:
    """Build a server for one client; its `run` serves until the client disconnects.

    `initialize_params` are those of an `initialize` that the handshake has already answered. The
    policy is that of an unattended run; it is None if there is a user who can be asked. A recording
    has the same configuration.
    """
    current = configuration.settings
    recording = recording or ModelRecording(configuration)
    models = open_models(configuration, recording)
    catalog, fallbacks = models.catalog, models.fallbacks
    if policy is not None:
        catalog = policy.wrap_catalog(catalog)
        fallbacks = tuple(
            each
            if each.catalog is None
            else replace(each, catalog=policy.wrap_catalog(each.catalog))
            for each in fallbacks
        )
    link = ClientConnection.from_transport(transport)
    watch = FileWatch(
        open_directory_events,
        partial(_start_in_background, link),
        partial(anyio.sleep, watch_delay_seconds),
    )
    tools = ToolsetBuilder(
        link,
        _tool_config(configuration, watch, policy),
        mcp_config(configuration, is_unattended=policy is not None),
    )
    sessions: dict[str, Session] = {}
    recording.sessions = lambda: [session.context for session in sessions.values()]
    archive = _make_archive(configuration, policy)
    open_memory = ExternalMemoryOpener(
        current.memory,
        configuration.home,
        configuration.memory_variables,
        partial(_start_in_background, link),
    )
    learning_context = LearningContext(
        catalog=catalog,
        skill_service=tools.skill_service,
        spawn=partial(_start_in_background, link),
        sessions=lambda: [session.context for session in sessions.values()],
        is_attended=lambda: link.is_attended,
    )
    services = SessionServices(
        catalog=catalog,
        archive=archive,
        toolset=tools,
        trust=partial(_make_trust_keeper, link, configuration.home, policy),
        open_memory=open_memory,
        close=partial(_close_shared, tools, models),
        prompt_provider=partial(
            lazy_prompt_provider,
            _prompt_config(configuration, policy),
            watch=watch,
            shared_reads=SharedReads(),
        ),
        read_memory=partial(read_memory_pages, configuration.home, current.memory.limits),
        reviews=LearningService(
            configuration.home, current.memory, current.skills, learning_context
        ).reviews,
        compaction=compaction_config(configuration),
        mode=current.mode,
        network=None if current.sandbox.mode == "off" else current.sandbox.network,
        ports=None if current.sandbox.mode == "off" else current.sandbox.ports,
        fast_mode=current.fast_mode,
        busy_mode=current.busy_input_mode,
        max_turn_requests=current.max_turn_requests,
        fallback_models=fallbacks,
        max_cost_usd=current.max_cost_usd,
    )
    auth = AuthHandlers(models.sign_in, models.sign_out, models.sign_in_hint, models.sign_in_state)
    registry = SessionRegistry(services, sessions)
    connection = AgentConnection(
        link,
        registry,
        auth,
        initialize_params,
        sends_drafts=current.unstable,
        providers=ProviderHandlers(EndpointRoutes(models.endpoints)),
    )
    catalog.on_change(connection.send_options)
    archive.on_problem = connection.report_problem
    archive.on_incomplete = registry.store_again
    if policy is None:
        connection.opening_notice = models.opening_notice
    if policy is None and (notice := take_unused_settings_notice(configuration)):
        connection.report_problem(notice)
    return connection


def _make_archive(configuration: Configuration, policy: HeadlessPolicy | None) -> SessionArchive:
    if policy is not None and policy.is_ephemeral:
        return NullArchive()
    return HermesArchive(configuration.home)


def _prompt_config(configuration: Configuration, policy: HeadlessPolicy | None) -> PromptConfig:
    prompts = prompt_config(configuration)
    return prompts if policy is None else replace(prompts, platform=policy.platform)


def _tool_config(
    configuration: Configuration, watch: FileWatch, policy: HeadlessPolicy | None
) -> ToolConfig:
    current = configuration.settings
    return ToolConfig(
        headless_policy=policy,
        user_home=Path.home(),
        config_home=configuration.home,
        environment=settings.child_environment(configuration.passed_variables),
        secret_names=configuration.secret_variables,
        memory=current.memory,
        open_session_search=partial(open_session_search, configuration.home),
        skills=current.skills,
        file_watch=watch,
        checks=current.diagnostics,
        hooks=replace(
            current.hooks,
            is_invalid=not configuration.invalid_settings.isdisjoint(
                {"hooks_before_tool", "hooks_pre_tool_call"}
            ),
        ),
        approvals=replace(
            current.approvals, is_invalid="approvals_deny" in configuration.invalid_settings
        ),
        web=current.web,
        terminal=current.terminal,
        toolsets=current.toolsets,
        checkpoints=replace(current.checkpoints, is_enabled=False)
        if policy is not None and policy.is_ephemeral
        else current.checkpoints,
        sandbox=current.sandbox,
        skill_variables=SkillVariableStore(
            configuration.home / ".env",
            partial(settings.read_variables, configuration.home),
            partial(settings.store_variable, configuration.home),
        ),
        hides_process=True,
        delegation=_sub_agent_config(configuration),
    )


def _sub_agent_config(configuration: Configuration) -> DelegationConfig:
    current = configuration.settings
    budget = TaskBudget(current.delegation_max_turn_requests, current.delegation_max_tokens)
    compaction = compaction_config(configuration)
    rules = SubAgentLimits(current.delegation_max_parallel, budget, compaction)
    return DelegationConfig(
        rules,
        partial(lazy_prompt_provider, sub_agent_prompt_config(configuration)),
        current.auxiliary_model,
    )


async def _close_shared(tools: ToolsetBuilder, models: ModelService) -> None:
    """Close what sessions share: process supervisors, MCP servers, model connections."""
    await tools.close()
    await models.close()


def _start_in_background(link: ClientConnection, task: TaskFunction) -> None:
    link.background.start_soon(task)


def _make_trust_keeper(
    link: ClientConnection, home: Path, policy: HeadlessPolicy | None, session: SessionContext
) -> WorkspaceTrust:
    if policy is not None:
        record = FixedTrust("trusted" if policy.is_trusted else "declined")
        return WorkspaceTrust(record, NoTrustAsker(), session.workspace.cwd)
    store = TrustStore(home / "acp" / "trust.json")
    approvals = ApprovalStore(home / "acp" / "project_uses.json")
    asker = LazyTrustAsker(link, session.id)
    return WorkspaceTrust(store, asker, session.workspace.cwd, approvals)


@asynccontextmanager
async def open_model_catalog(configuration: Configuration) -> AsyncGenerator[ModelCatalog]:
    """Open the model catalog without a server, for CLI commands; close it on exit."""
    models = open_models(configuration)
    try:
        yield models.catalog
    finally:
        await models.close()


def _schedule_forced_exit(exit_code: int) -> None:
    """Exit in FORCED_EXIT_SECONDS, even if a task resists cancellation or blocks the loop."""
    timer = Timer(FORCED_EXIT_SECONDS, os._exit, [exit_code])
    timer.daemon = True
    timer.start()
