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
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue

from acp_server.checkpoints.config import CheckpointRules
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.handlers.agent_connection import Connection
from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import Link
from acp_server.handlers.lazy_imports import LazyTrustAsker, open_editor_side
from acp_server.history.archive import LazyArchive, open_recall
from acp_server.hooks.config_mapping import hook_rules
from acp_server.jsonrpc.stdio import Descriptors, StdioTransport
from acp_server.jsonrpc.transport import Transport
from acp_server.learning.service import Evolution, ServerParts
from acp_server.mcp.lazy_imports import McpLoader
from acp_server.memory.lazy_imports import LazyMemory, open_pages
from acp_server.permissions.trust import (
    NobodyToTrust,
    SettledTrust,
    TrustKeeper,
    TrustStore,
)
from acp_server.server.config_mapping import (
    evolution_rules,
    mcp_premises,
    memory_premises,
    prompt_settings,
    skill_rules,
    task_settings,
)
from acp_server.server.endpoints import ModelRoom, open_models
from acp_server.server.log_setup import configure_logging
from acp_server.session.lazy_imports import LazyBriefing, open_folder_events
from acp_server.session.ports.archive import Archive
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.null_archive import UnkeptArchive
from acp_server.session.ports.skills import Skills
from acp_server.session.project.headless_policy import Terms
from acp_server.session.prompting.file_watch import FolderWatch, Task
from acp_server.session.prompting.prompt_config import PromptSettings
from acp_server.session.prompting.single_flight import BriefingReadings
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Equipment, Session
from acp_server.startup.handshake import SIGNALS, Wire, exit_code_of, leave_at_once_on_signals
from acp_server.startup.pydantic_plugins import leave_plugins_out
from acp_server.subagents.task import Budget, Rules
from acp_server.tools.lazy_imports import (
    CheckRules,
    DelegationPremises,
    Premises,
    Surroundings,
    ToolLoader,
    WebRules,
)
from acp_server.tools.shell.confinement.config import SandboxRules
from acp_server.turn.ports import Toolbox

if TYPE_CHECKING:
    from acp_server.skills.service import SkillRoom

logger = logging.getLogger(__name__)

TURNS_END_SECONDS = 0.8
FLUSH_SECONDS = 0.5
LAST_RESORT_SECONDS = 1.7


def run_stdio(wire: Wire, options: Mapping[str, str]) -> int:
    """Serve one client over the claimed descriptors until it disconnects; return the exit code."""
    leave_plugins_out()
    configuration = settings.load(options)
    configure_logging(configuration.settings.log_level, configuration.settings.log_file)
    for problem in configuration.problems:
        logger.warning("configuration: %s", problem)
    return anyio.run(_serve_stdio, wire, configuration)


async def _serve_stdio(wire: Wire, configuration: Configuration) -> int:
    transport = StdioTransport(Descriptors(wire.read, wire.write, wire.unread))
    connection = build(transport, configuration, wire.initialize_params)
    exits = _Exits(connection, transport)
    async with transport:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(exits.by_signal, tasks.cancel_scope)
            tasks.start_soon(exits.by_hanging_up)
            await connection.run()
            # stdin is a file: it ends before its requests are answered, which may take a while.
            if transport.finishes_requests_at_end:
                await transport.flush()
            tasks.cancel_scope.cancel()
        # From here on the process must end, even if a client that reads nothing blocks a thread.
        _leave_for_certain(exits.code)
        with anyio.move_on_after(FLUSH_SECONDS):
            await transport.flush()
    return exits.code


class _Exits:
    """Handlers for the events that end the server, and the exit code they set."""

    def __init__(self, connection: Connection, transport: StdioTransport) -> None:
        self.code = 0
        self._connection = connection
        self._transport = transport

    async def by_signal(self, everything: anyio.CancelScope) -> None:
        """Wait for a signal, answer every running prompt as cancelled, then cancel all tasks."""
        try:
            with anyio.open_signal_receiver(*SIGNALS) as signals:
                number = await anext(signals)
        finally:
            # The receiver has just removed its handlers; a second signal must end the process.
            leave_at_once_on_signals()
        self.code = exit_code_of(number)
        logger.info("shutting down on %s", signal.Signals(number).name)
        _leave_for_certain(self.code)
        with anyio.move_on_after(TURNS_END_SECONDS):
            await self._connection.end_turns()
        everything.cancel()

    async def by_hanging_up(self) -> None:
        """Force the exit soon after the client has closed stdin, even if a turn does not end."""
        await self._connection.wait_until_left()
        if not self._transport.finishes_requests_at_end:
            _leave_for_certain(self.code)


def build(
    transport: Transport,
    configuration: Configuration,
    initialize_params: JsonValue = None,
    terms: Terms | None = None,
) -> Connection:
    """Build a server for one client; its `run` serves until the client disconnects.

    `initialize_params` are those of an `initialize` that the handshake has already answered. The
    policy is that of an unattended run; it is None if there is a user who can be asked.
    """
    current = configuration.settings
    models = open_models(configuration)
    catalog = models.catalog
    if terms is not None:
        catalog = terms.wrapped(catalog)
    link = Link.over(transport)
    watch = _watch(link)
    tools = _tool_loader(configuration, watch, terms)
    servers = McpLoader(mcp_premises(current))
    archive = _archive(configuration, terms)
    memory = _external_memory(configuration, link)
    parts = ServerParts(
        catalog=catalog,
        room=partial(_skill_room, tools),
        spawn=partial(_spawn, link),
        sessions=lambda: sessions,  # assigned below: the registry needs the services first
        is_attended=lambda: link.is_attended,
    )
    equipment = Equipment(
        catalog=catalog,
        archive=archive,
        toolbox=partial(_toolbox, link, tools, servers),
        trust=partial(_trust, link, configuration.home, terms),
        memory=memory,
        close=partial(_close, tools, servers, models, memory),
        briefing=partial(
            LazyBriefing,
            _briefed(configuration, terms),
            watch=watch,
            readings=BriefingReadings(),
        ),
        skills=partial(_skills, tools),
        read_memory=partial(open_pages, configuration.home, memory_premises(current).limits),
        reviews=Evolution(evolution_rules(configuration), parts).reviews,
        compaction_threshold=current.compaction_threshold,
        mode=current.mode,
        busy_prompt=current.busy_prompt,
        max_turn_requests=current.max_turn_requests,
    )
    auth = AuthHandlers(models.sign_in, models.sign_out, models.sign_in_hint)
    sessions = SessionRegistry(equipment)
    connection = Connection(link, sessions, auth, initialize_params, is_unstable=current.unstable)
    catalog.on_change(connection.tell_options)
    archive.on_problem = connection.tell_problem
    return connection


def _archive(configuration: Configuration, terms: Terms | None) -> Archive:
    if terms is not None and terms.is_ephemeral:
        return UnkeptArchive()
    return LazyArchive(configuration.home / "acp" / "sessions.db")


def _briefed(configuration: Configuration, terms: Terms | None) -> PromptSettings:
    prompts = prompt_settings(configuration)
    return prompts if terms is None else replace(prompts, platform=terms.platform)


def _tool_loader(
    configuration: Configuration, watch: FolderWatch, terms: Terms | None
) -> ToolLoader:
    current = configuration.settings
    premises = Premises(
        terms=terms,
        user_home=Path.home(),
        own_folder=configuration.home,
        environment=settings.child_environment({}),
        secret_names=settings.secret_variables(),
        memory=memory_premises(current),
        recall=partial(open_recall, configuration.home),
        skills=skill_rules(configuration),
        watch=watch,
        checks=CheckRules(current.diagnostics_commands, current.diagnostics_timeout_seconds),
        hooks=hook_rules(
            current.hooks_before_tool,
            current.hooks_after_tool,
            current.hooks_after_turn,
            is_broken="hooks_before_tool" in configuration.misfits,
        ),
        web=WebRules(current.web_allow_private, current.web_timeout_seconds, current.web_max_bytes),
        checkpoints=CheckpointRules(
            current.checkpoints_enabled and not (terms is not None and terms.is_ephemeral),
            current.checkpoints_include,
            current.checkpoints_max_file_mb,
            current.checkpoints_max_total_mb,
            current.checkpoints_keep_days,
        ),
        sandbox=SandboxRules(
            current.sandbox_mode, current.sandbox_network, current.sandbox_writable
        ),
        delegation=_delegation(configuration),
    )
    return ToolLoader(premises)


def _delegation(configuration: Configuration) -> DelegationPremises:
    current = configuration.settings
    budget = Budget(current.delegation_max_turn_requests, current.delegation_max_tokens)
    rules = Rules(current.delegation_max_parallel, budget, current.compaction_threshold)
    return DelegationPremises(rules, partial(LazyBriefing, task_settings(configuration)))


def _external_memory(configuration: Configuration, link: Link) -> LazyMemory | None:
    name = configuration.settings.memory_provider
    return LazyMemory(name, configuration.home, partial(_spawn, link)) if name else None


async def _close(
    tools: ToolLoader, servers: McpLoader, models: ModelRoom, memory: LazyMemory | None
) -> None:
    """Close what sessions share: process supervisors, MCP servers, memory, model connections."""
    async with anyio.create_task_group() as closing:  # in parallel: FORCED_EXIT_SECONDS is short
        closing.start_soon(tools.close)
        closing.start_soon(servers.close)
        if memory is not None:
            closing.start_soon(memory.close)
    await models.close()


async def _toolbox(link: Link, loader: ToolLoader, servers: McpLoader, session: Session) -> Toolbox:
    maker = await loader.load()
    editor = await open_editor_side(link, session.id)
    joint = await servers.joint(session, editor.elicitor, link.background)
    return maker.toolbox(
        Surroundings(
            session, editor.workspace, editor.asker, link.background, editor.enquirer, joint
        )
    )


async def _skills(loader: ToolLoader, session: Session) -> Skills:
    return await (await loader.load()).open_skills(session)


def _spawn(link: Link, task: Task) -> None:
    link.background.start_soon(task)


async def _skill_room(loader: ToolLoader) -> "SkillRoom":
    return (await loader.load()).room


def _watch(link: Link) -> FolderWatch:
    return FolderWatch(open_folder_events, partial(_spawn, link))


def _trust(link: Link, home: Path, terms: Terms | None, session: Session) -> TrustKeeper:
    if terms is not None:
        record = SettledTrust("trusted" if terms.is_trusted else "declined")
        return TrustKeeper(record, NobodyToTrust(), session.workspace.cwd)
    store = TrustStore(home / "acp" / "trust.json")
    return TrustKeeper(store, LazyTrustAsker(link, session.id), session.workspace.cwd)


@asynccontextmanager
async def model_catalog(configuration: Configuration) -> AsyncGenerator[ModelCatalog]:
    """Open the model catalog without a server, for CLI commands; close it on exit."""
    room = open_models(configuration)
    try:
        yield room.catalog
    finally:
        await room.close()


def _leave_for_certain(exit_code: int) -> None:
    """Exit in FORCED_EXIT_SECONDS, even if a task resists cancellation or blocks the loop."""
    timer = Timer(LAST_RESORT_SECONDS, os._exit, [exit_code])
    timer.daemon = True
    timer.start()
