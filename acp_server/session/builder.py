"""Builds sessions: the only module that knows all their parts.

Each part receives only parts that exist before it, so the order of the lines is the order of
dependencies.
"""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.permissions.modes import is_mode
from acp_server.session.checkpoint_ids import CheckpointIds
from acp_server.session.commands.builtin import BuiltinCommands
from acp_server.session.commands.registry import CommandRegistry
from acp_server.session.commands.router import PromptRouter
from acp_server.session.context import SessionContext
from acp_server.session.conversation_rewinds import ConversationRewinds
from acp_server.session.diagnostics import DiagnosticsStore
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.observer import (
    ObserverFactory,
    SessionObserver,
    unobserved,
)
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.options import OFF, ON
from acp_server.session.project.requests import ProjectRequests
from acp_server.session.project.restrictions import restore_restrictions
from acp_server.session.prompt_runner import PromptRunner
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.session.prompting.enricher import PromptEnricher
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.recorder import SessionRecorder
from acp_server.session.running_tasks import RunningTasks
from acp_server.session.seen_files import SeenFiles
from acp_server.session.services import SessionServices, SessionSnapshot, new_snapshot
from acp_server.session.session import Session
from acp_server.session.session_models import SessionModels
from acp_server.session.tools import SessionTools
from acp_server.session.turn_contexts import TurnContextBuilder
from acp_server.session.turn_queue import TurnQueue
from acp_server.session.user_notices import UserNotices
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Conversation
from acp_server.turn.spending_limit import SpendingLimit


def build_session(
    workspace: SessionWorkspace,
    services: SessionServices,
    snapshot: SessionSnapshot | None = None,
    servers: Sequence[ServerConfig] = (),
    observe: ObserverFactory = unobserved,
) -> Session:
    """Start a session or continue one; `servers` are the MCP servers named by the editor."""
    snapshot = snapshot or new_snapshot(workspace, services)
    # The id is known before any part exists, so every part can report under it from the start.
    observer = observe(snapshot.facts.id)
    context = _build_context(workspace, services, snapshot, observer)
    tools = SessionTools(context, services.toolset, servers)
    provider = services.prompt_provider(workspace, observer.show_notice)
    memory = context.external_memory
    is_restored = context.recorder.facts.system is not None
    system = SystemPrompt(context, provider, tools, memory, is_unverified=is_restored)
    compactor = Compactor(
        context.totals,
        system.rewrite,
        context.outputs,
        services.compaction,
        recall=memory.before_compaction,
        shows_file=context.seen_files.shows_file,
    )
    maintenance = SessionContextMaintenance(compactor, provider)
    counter = context.models.new_counter()
    counter.restore(snapshot.messages, context.totals.context_tokens)
    turn_contexts = TurnContextBuilder(
        context, tools, system, maintenance, services.max_turn_requests, counter
    )
    # Before skills are loaded: a skill with the name of a built-in command gets a prefix.
    builtin = BuiltinCommands(
        context, tools, provider, system, compactor, turn_contexts, services.read_memory
    )
    context.commands.add(*builtin.all())
    trust = services.trust(context) if services.trust is not None else None
    project = ProjectRequests(context, provider, tools, system, trust)
    prompting = PromptRunner(
        context,
        tools,
        provider,
        memory,
        system,
        turn_contexts,
        project,
        PromptRouter(context.commands, tools, project),
        PromptEnricher(context, tools, maintenance, memory),
        None if services.max_cost_usd is None else SpendingLimit(services.max_cost_usd),
    )
    # Last: a review may ask for a turn's context at any time, and that needs all parts above.
    reviews = services.reviews(context, turn_contexts.build)
    return Session(context, tools, prompting, reviews, services.busy_mode)


def _build_context(
    workspace: SessionWorkspace,
    services: SessionServices,
    snapshot: SessionSnapshot,
    observer: SessionObserver,
) -> SessionContext:
    """Return the parts of a session that exist before its tools."""
    journal, stored = snapshot.journal, snapshot.facts
    # A stored mode may come from another version, which may know modes that this one lacks.
    mode = stored.mode if is_mode(stored.mode) else services.mode
    facts = replace(
        stored,
        cwd=workspace.cwd,
        additional_directories=workspace.additional_directories,
        mode=mode,
    )
    # The journal already holds these messages; only later ones are written.
    seen_files = SeenFiles(journal, journal.show, snapshot.seen_files)
    conversation = Conversation(snapshot.messages, seen_files)
    notices = UserNotices(conversation, observer)
    # `facts.usage` is the object that turns add to; the recorder copies it whenever it stores.
    recorder = SessionRecorder(journal, facts, facts.usage, observer)
    options = SelectedOptions(
        services.catalog,
        mode,
        facts.model_id,
        facts.thought_level,
        recorder.save_options,
        notices.add_model_switch,
        observer,
        default_network=services.network,
        default_ports=services.ports,
        chosen_network=facts.network,
        chosen_ports=facts.ports,
        default_speed=ON if services.fast_mode else OFF,
        chosen_speed=facts.fast_mode,
    )
    return SessionContext(
        id=facts.id,
        workspace=workspace,
        conversation=conversation,
        seen_files=seen_files,
        totals=facts.usage,
        options=options,
        restrictions=restore_restrictions({} if facts.system is None else facts.system.state),
        models=SessionModels(options, recorder, services.fallback_models, services.token_scales),
        recorder=recorder,
        notices=notices,
        diagnostics=DiagnosticsStore(),
        tasks=RunningTasks(),
        queue=TurnQueue(),
        commands=CommandRegistry(observer=observer),
        outputs=services.archive.outputs(facts.id),
        checkpoint_ids=CheckpointIds(snapshot.checkpoints),
        rewinds=ConversationRewinds(conversation, journal, snapshot.removed_messages),
        external_memory=ExternalMemorySession(
            services.open_memory(facts.id, workspace.cwd), notices, conversation
        ),
    )
