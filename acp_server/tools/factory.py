"""Builds the tools of a session and connects them to its files, shell, editor and gate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from anyio import to_thread
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.checkpoints.manager import CheckpointManager, SnapshotScope
from acp_server.hooks.hook_runner import HookRunner
from acp_server.hooks.toolbox import HookedToolbox
from acp_server.memory.store import MemoryStores
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.gate import Gate, PermissionGate, no_audit
from acp_server.permissions.modes import Mode
from acp_server.permissions.questions import PermissionAsker
from acp_server.permissions.rule_store import RuleStore
from acp_server.session.command_variables import CommandVariables
from acp_server.session.context import SessionContext
from acp_server.session.ports.agents import NoAgents
from acp_server.session.ports.editor import EditorPort, NoEditor
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.ports.user_questions import UserAsker
from acp_server.session.project.headless_policy import ignore_refusal
from acp_server.session.project.options import NETWORK_OPTION
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.session.seen_files import SeenFiles
from acp_server.session.workspace import SessionWorkspace
from acp_server.skills.session_skills import SessionSkills
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.runner import (
    IsolatedConfig,
    MakeTools,
    SubAgentConfig,
    SubAgentRunner,
    TaskTools,
)
from acp_server.subagents.session_agents import SessionAgents
from acp_server.subagents.worktrees import TreeChange, WorktreeStore
from acp_server.tools.agents.delegate_task import DelegationContext
from acp_server.tools.agents.returned_changes import bring_back
from acp_server.tools.dialects.paths import PathCorrector
from acp_server.tools.dialects.toolbox import DialectToolbox
from acp_server.tools.edit.checks import FileChecks
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.new_problems import NewProblemFinder
from acp_server.tools.edit.patch import patch_tool
from acp_server.tools.edit.undo_commands import SessionCheckpoints
from acp_server.tools.edit.write_file import write_file_tool
from acp_server.tools.files.file_service import FileService
from acp_server.tools.files.seen_file_guard import SeenFileGuard
from acp_server.tools.interaction.clarify import clarify_tool
from acp_server.tools.interaction.exit_plan import exit_plan_tool
from acp_server.tools.interaction.todo import restate_todos, todo_tool
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.memory.provider_tools import ProviderTools
from acp_server.tools.memory.session_search import (
    SessionSearchContext,
    SummaryError,
    session_search_tool,
)
from acp_server.tools.read.attachments import AttachmentReader
from acp_server.tools.read.read_file import read_file_tool
from acp_server.tools.search.search_files import search_files_tool
from acp_server.tools.session_editor import SessionEditor
from acp_server.tools.session_parts import (
    SessionParts,
    SharedParts,
    visible_environment,
)
from acp_server.tools.shell.background import BackgroundCommands
from acp_server.tools.shell.confinement.connections import CommandConnections
from acp_server.tools.shell.confinement.host_questions import HostQuestions
from acp_server.tools.shell.confinement.limits import SandboxScope
from acp_server.tools.shell.confinement.namespaces import SessionNamespaces
from acp_server.tools.shell.confinement.network import SessionNetwork
from acp_server.tools.shell.confinement.sandbox import Sandbox, SessionSandbox
from acp_server.tools.shell.confinement.session_directory import SessionDirectory
from acp_server.tools.shell.confinement.socket_questions import SocketQuestions
from acp_server.tools.shell.exposure import describe_exposure
from acp_server.tools.shell.hook_process import HookProcessRunner
from acp_server.tools.shell.port_commands import PortCommands
from acp_server.tools.shell.process import process_tool, take_end_notices
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.shell.terminal import ShellServices, terminal_tool
from acp_server.tools.shell.watcher import ProcessWatcher
from acp_server.tools.skills.skill_tools import skill_tools
from acp_server.tools.skills.variable_requests import VariableRequests
from acp_server.tools.symbols.call_arguments import SymbolServices
from acp_server.tools.symbols.definition_index import DefinitionIndexes
from acp_server.tools.symbols.grammar_packages import has_grammars
from acp_server.tools.symbols.symbols_tool import symbols_tool
from acp_server.tools.tool import Tool
from acp_server.tools.tool_config import ToolConfig
from acp_server.tools.tool_names import DELEGATION_TOOL, MEMORY_TOOL, TOOL_NAMES
from acp_server.tools.toolbox import (
    ConnectServers,
    NoServerTools,
    ServerTools,
    SessionToolbox,
)
from acp_server.tools.web.fetching import PageFetcher
from acp_server.tools.web.lazy_client import LazyWebClient
from acp_server.tools.web.web_fetch import web_fetch_tool
from acp_server.turn.conversation import Message
from acp_server.turn.errors import TurnError
from acp_server.turn.ports import Toolbox, TurnSink
from prompt_engine.threats import scan
from skills_store.viewing import SkillView

CHARACTERS_PER_TOKEN = 3


@frozen_dataclass
class _SessionToolContext:
    """Dependencies of the tools of one session. `tasks` runs the work that outlives a turn."""

    session: SessionContext
    skills: SessionSkills
    editor: EditorPort
    permission_asker: PermissionAsker
    tasks: TaskGroup
    user_asker: UserAsker
    roots: tuple[Path, ...]
    """The directories of the workspace, symlinks resolved."""
    sandbox: SessionSandbox | None
    """None if switched off."""
    variables: CommandVariables


@frozen_dataclass
class _SharedServices:
    """Services that a session shares with its sub-agents."""

    context: _SessionToolContext
    files: FileService
    gate: Gate
    checkpoints: CheckpointManager
    hooks: HookRunner | None
    server_tools: ServerTools


class ToolFactory:
    """Builds the tools of sessions; owns the command watcher and the skills that they share."""

    def __init__(self, config: ToolConfig, shared: SharedParts | None = None) -> None:
        self._config = config
        self._shared = shared or SharedParts(config)
        self._watcher: ProcessWatcher | None = None
        self._definition_indexes = DefinitionIndexes(visible_environment(config))
        self._worktrees = WorktreeStore(
            config.config_home / "acp" / "worktrees", visible_environment(config)
        )
        self._has_cleaned_up = False
        self._sandbox = Sandbox(config.sandbox, config.environment)
        self._session_search = (
            config.open_session_search() if config.open_session_search is not None else None
        )

    def create_toolset(
        self,
        session: SessionContext,
        editor: SessionEditor,
        tasks: TaskGroup,
        connect_servers: ConnectServers | None = None,
        parts: SessionParts | None = None,
    ) -> SessionToolset:
        """Build the tools of a session and the services that come with them.

        MCP servers are not started, skills not read. `tasks` runs the work that outlives a turn.
        `parts` are those that the session has already.
        """
        skills = self._shared.skills(session) if parts is None else parts.skills
        roots = tuple(root.resolve() for root in session.workspace.roots)
        context = _SessionToolContext(
            session,
            skills,
            editor.port,
            editor.permission_asker,
            tasks,
            editor.user_asker,
            roots,
            self._sandbox_for(session, tasks, roots),
            CommandVariables(),
        )
        gate = self._gate(context)
        file_service = FileService(session.workspace, editor.port, self._config.user_home)
        checkpoint_manager = self._checkpoint_manager(context)
        edit_services, shell = self._edit_and_shell_services(
            context, file_service, gate, checkpoint_manager, session.seen_files
        )
        own = self._tools(context, edit_services, shell, session.conversation)
        hooks = self._hooks(context, shell.session)
        servers = (
            NoServerTools()
            if connect_servers is None or not self._config.toolsets.offers_mcp
            else connect_servers(gate, edit_services.tracking_file_changes)
        )
        shared = _SharedServices(context, file_service, gate, checkpoint_manager, hooks, servers)
        if not self._has_cleaned_up:
            self._has_cleaned_up = True
            tasks.start_soon(to_thread.run_sync, self._worktrees.clean_up)
        delegation = self._delegation(shared, own, None if parts is None else parts.agents)
        is_offered = self._config.toolsets.offers(DELEGATION_TOOL)
        names = {tool.spec.name for tool in own} | ({DELEGATION_TOOL} if is_offered else set[str]())
        skills.tools = frozenset(names)
        skills.prepare_call = partial(
            _prepare_call, self._variable_requests(context, gate), session.notices.add
        )
        attach, close = AttachmentReader(edit_services).attach, partial(_close_shell, shell)
        toolbox = _with_hooks(
            SessionToolbox(
                own,
                gate,
                attach,
                close,
                partial(_all_tools, self._provider_tools(session, gate), servers),
                (lambda: (delegation.tool(),)) if is_offered else tuple,
            ),
            hooks,
            closes_hooks=True,
        )
        root = session.workspace.cwd.resolve()
        return SessionToolset(
            toolbox=toolbox,
            accept_other_names=partial(_with_other_names, edit_services),
            skills=skills,
            servers=servers,
            command_files=self._shared.command_files(session, toolbox)
            if parts is None
            else parts.command_files,
            agents=delegation.agents if is_offered else NoAgents(),
            checkpoints=SessionCheckpoints(session, edit_services, checkpoint_manager, root),
            seen_files=edit_services.guard,
            port_forwarding=PortCommands(context.sandbox),
            continue_asker=editor.user_asker,
            list_rules=gate.list_rules,
            forget_rule=gate.forget_rule,
            describe_rules=gate.describe_project_rules,
            has_new_project_rules=lambda: gate.has_new_project_rules,
            list_project_rules=gate.list_project_rules,
            approve_project_rules=gate.approve_project_rules,
            take_notices=partial(take_end_notices, shell.background),
            carry_over=restate_todos,
            on_turn_end=partial(_end_turn, context.variables, hooks),
        )

    def _edit_and_shell_services(
        self,
        context: _SessionToolContext,
        files: FileService,
        gate: Gate,
        checkpoints: CheckpointManager,
        seen_files: SeenFiles,
    ) -> tuple[EditServices, ShellServices]:
        """Return the edit services behind a gate, and a shell, for one conversation."""
        shell = self._shell_services(context)
        problem_finder = self._problem_finder(context, shell.session)
        workspace, user_home = context.session.workspace, self._config.user_home
        guard = SeenFileGuard(files, seen_files, workspace.cwd)
        services = EditServices(
            files, gate, workspace, user_home, problem_finder, checkpoints, guard
        )
        return services, shell

    def _tools(
        self,
        context: _SessionToolContext,
        services: EditServices,
        shell: ShellServices,
        messages: Iterable[Message],
    ) -> tuple[Tool, ...]:
        """Return all tools except `delegate_task`; the todo list continues from `messages`."""
        gate = services.gate
        tools = (
            read_file_tool(services),
            search_files_tool(services, shell.sandbox, shell.outputs),
            *self._symbol_tools(context, services, shell),
            write_file_tool(services),
            patch_tool(services),
            terminal_tool(services, shell),
            process_tool(services, shell),
            self._web_tool(gate, shell.outputs),
            todo_tool(messages),
            clarify_tool(context.user_asker),
            exit_plan_tool(gate, context.user_asker),
            *self._memory_tools(context.session, gate),
            *self._search_tools(context.session),
            *skill_tools(
                context.skills,
                gate,
                context.session.workspace.roots,
                self._variable_requests(context, gate),
            ),
        )
        return tuple(tool for tool in tools if self._config.toolsets.offers(tool.spec.name))

    def _variable_requests(self, context: _SessionToolContext, gate: Gate) -> VariableRequests:
        """Return the requests for variables of skills, in a session or a sub-agent."""
        options = context.session.options
        return VariableRequests(
            context.variables,
            self._config.skill_variables,
            gate,
            context.user_asker,
            lambda: options.mode,
            self._shared.skill_service.environment.keys(),
            self._config.secret_names,
        )

    def _symbol_tools(
        self, context: _SessionToolContext, services: EditServices, shell: ShellServices
    ) -> tuple[Tool, ...]:
        """Return the tool `symbols`, if anything can answer it."""
        if not (has_grammars() or context.editor.has_symbols):
            return ()
        spawn = partial(_spawn, context.tasks)
        symbol_services = SymbolServices(
            services,
            shell.sandbox,
            shell.outputs,
            context.editor,
            self._definition_indexes,
            spawn,
        )
        return (symbols_tool(symbol_services),)

    def _hooks(self, context: _SessionToolContext, shell: ShellSession) -> HookRunner | None:
        """Return the user's hooks, if there are any."""
        rules, session, headless_policy = (
            self._config.hooks,
            context.session,
            self._config.headless_policy,
        )
        if rules.is_empty:
            return None
        return HookRunner(
            rules,
            HookProcessRunner(shell, session.workspace.cwd).run,
            partial(_spawn, context.tasks),
            partial(_hook_facts, session),
            ignore_refusal if headless_policy is None else headless_policy.on_refusal,
        )

    def _delegation(
        self, shared: _SharedServices, own_tools: Sequence[Tool], agents: SessionAgents | None
    ) -> DelegationContext:
        """Return what `delegate_task` works with; sub-agents share the services in `shared`."""
        session, delegation = shared.context.session, self._config.delegation

        def available_names() -> frozenset[str]:
            names = frozenset(tool.spec.name for tool in (*own_tools, *shared.server_tools.tools()))
            allowed = session.restrictions.allowed_tools
            return names if allowed is None else names.intersection(allowed)

        runner = SubAgentRunner(self._sub_agent_config(shared), delegation.rules)
        agents = agents or self._shared.agents(session, available_names)
        root = session.workspace.cwd
        return DelegationContext(root, available_names, shared.gate, runner, agents)

    def _sub_agent_config(self, shared: _SharedServices) -> SubAgentConfig:
        """Return the dependencies of sub-agents, which share the services in `shared`."""
        context = shared.context

        async def apply_changes(
            changes: Sequence[TreeChange],
            gate: Gate,
            seen_files: SeenFiles,
            call_id: str,
            sink: TurnSink,
        ) -> str:
            services, _ = self._edit_and_shell_services(
                context, shared.files, gate, shared.checkpoints, seen_files
            )
            return await bring_back(changes, services, call_id, sink)

        return SubAgentConfig(
            context.session,
            shared.gate,
            self._config.delegation.prompt_provider_for(context.session.workspace),
            self._task_tools_maker(shared),
            context.tasks,
            self._worktrees,
            apply_changes,
            partial(self._isolate, shared),
        )

    def _isolate(self, shared: _SharedServices, directory: Path) -> IsolatedConfig:
        """Return the dependencies of a sub-agent whose workspace is a worktree.

        It edits that without questions: its changes are asked about when they are brought back.
        """
        context, workspace = shared.context, SessionWorkspace(directory)
        session, roots, editor = context.session, (directory.resolve(),), NoEditor()
        own_session = replace(session, workspace=workspace)
        sandbox = self._sandbox_for(own_session, context.tasks, roots)
        own_context = replace(
            context, session=own_session, editor=editor, roots=roots, sandbox=sandbox
        )

        def mode() -> Mode:
            return "accept_edits" if session.options.mode == "ask" else session.options.mode

        isolated = replace(
            shared,
            context=own_context,
            files=FileService(workspace, editor, self._config.user_home),
            gate=replace(self._gate(own_context), mode=mode),
            checkpoints=self._checkpoint_manager(own_context, is_enabled=False),
        )

        async def close() -> None:
            if sandbox is not None:
                await sandbox.close()

        return IsolatedConfig(self._sub_agent_config(isolated), close)

    def _task_tools_maker(self, shared: _SharedServices) -> MakeTools:
        """Return the builder of a task's tools; tasks share the services in `shared`."""

        def create_task_tools(
            task_gate: Gate, names: frozenset[str], seen_files: SeenFiles
        ) -> TaskTools:
            # Each sub-agent has a shell of its own, so that closing it ends only its background
            # commands. Files are shared: their locks must hold between sub-agents.
            edit_services, shell = self._edit_and_shell_services(
                shared.context, shared.files, task_gate, shared.checkpoints, seen_files
            )
            local_tools = self._tools(shared.context, edit_services, shell, ())
            tools = (*local_tools, *shared.server_tools.tools_for_gate(task_gate))
            chosen = [tool for tool in tools if tool.spec.name in names]
            toolbox = SessionToolbox(chosen, task_gate, close=shell.background.close)
            hooked_toolbox = _with_hooks(toolbox, shared.hooks, closes_hooks=False)
            task_toolbox = _with_other_names(edit_services, hooked_toolbox)
            notices = partial(take_end_notices, shell.background)
            return TaskTools(task_toolbox, notices, restate_todos)

        return create_task_tools

    async def close(self) -> None:
        """Close the watcher process."""
        if self._watcher is not None:
            await self._watcher.close()

    def _gate(self, context: _SessionToolContext) -> PermissionGate:
        session, config = context.session, self._config
        headless_policy = config.headless_policy
        return PermissionGate(
            mode=lambda: session.options.mode,
            asker=context.permission_asker,
            cancel_turn=session.queue.cancel_all,
            facts=FactCollector(
                session.workspace.roots,
                config.user_home,
                config.config_home,
                session.outputs.directory,
                {
                    name: value
                    for name, value in config.environment.items()
                    if name not in config.secret_names
                },
                config.approvals,
            ),
            store=RuleStore(config.config_home / "acp" / "permissions.json"),
            root=session.workspace.cwd.resolve(),
            note_answer=session.recorder.record_permission,
            switch_mode=partial(_switch_mode, session),
            ask_per_host=partial(_ask_per_host, session),
            run_rules=None if headless_policy is None else headless_policy.rules,
            audit=no_audit if headless_policy is None else headless_policy.audit,
        )

    def _web_tool(self, gate: Gate, outputs: SavedOutputs) -> Tool:
        web_config = self._config.web
        fetcher = PageFetcher(LazyWebClient(web_config), web_config.timeout_seconds)
        return web_fetch_tool(fetcher, gate, scan, outputs)

    def _checkpoint_manager(
        self, context: _SessionToolContext, *, is_enabled: bool = True
    ) -> CheckpointManager:
        config, session = self._config, context.session
        roots = session.workspace.roots
        scope = SnapshotScope(
            session.id,
            roots,
            config.config_home,
            config.environment,
            lambda: session.checkpoint_ids.current,
            lambda: session.recorder.facts.title,
        )
        spawn = partial(_spawn, context.tasks)
        rules = config.checkpoints if is_enabled else replace(config.checkpoints, is_enabled=False)
        return CheckpointManager(scope, rules, session.notices.add, spawn)

    def _provider_tools(self, session: SessionContext, gate: Gate) -> ProviderTools | None:
        """Return the tools of the external memory; none if memory is switched off."""
        if not self._config.toolsets.offers(MEMORY_TOOL):
            return None
        needs_permission = self._config.memory.needs_permission
        return ProviderTools(session.external_memory, gate, TOOL_NAMES, needs_permission)

    def _memory_tools(self, session: SessionContext, gate: Gate) -> tuple[Tool, ...]:
        """Return the tool `memory`, if any store is enabled."""
        config_home, memory_config = self._config.config_home, self._config.memory
        if not memory_config.limits:
            return ()
        memory = MemoryStores(config_home, memory_config.limits, scan)
        mirror, asks = session.external_memory.mirror, memory_config.needs_permission
        return (memory_tool(memory, gate, mirror, needs_permission=asks),)

    def _search_tools(self, session: SessionContext) -> tuple[Tool, ...]:
        """Return the tool `session_search`, if sessions are persisted."""
        if self._session_search is None:
            return ()
        search_context = SessionSearchContext(
            self._session_search, session.id, partial(_summarize, session)
        )
        return (session_search_tool(search_context),)

    def _problem_finder(
        self, context: _SessionToolContext, shell: ShellSession
    ) -> NewProblemFinder:
        check_config, cwd = self._config.checks, context.session.workspace.cwd
        checks = FileChecks(shell, check_config.commands, cwd, check_config.timeout_seconds)
        return NewProblemFinder(context.session.diagnostics, checks, context.tasks, scan, cwd)

    def _shell_services(self, context: _SessionToolContext) -> ShellServices:
        config = self._config
        if self._watcher is None:
            self._watcher = ProcessWatcher(context.tasks, config.environment)
        sandbox, outputs = context.sandbox, context.session.outputs
        shell = ShellSession(
            self._watcher,
            context.tasks,
            config.environment,
            config.secret_names,
            sandbox,
            context.roots,
        )
        shell.variables = context.variables
        return ShellServices(
            shell,
            BackgroundCommands(shell, outputs),
            context.editor,
            config.secret_names,
            outputs,
            sandbox,
            partial(
                describe_exposure,
                config.environment,
                config.secret_names,
                has_private_memory=self._shared.has_private_memory,
            ),
            config.terminal.timeout_seconds,
            context.session.notices.add,
        )

    def _sandbox_for(
        self, session: SessionContext, tasks: TaskGroup, roots: tuple[Path, ...]
    ) -> SessionSandbox | None:
        """Return the sandbox of a session, None if switched off.

        Whether the system supports one is probed in the background, and the user is told.
        """
        config = self._config
        if config.sandbox.mode == "off":
            return None
        scope_inputs = config.user_home, config.config_home, config.environment
        sandbox_scope = SandboxScope(roots, config.sandbox, *scope_inputs)
        is_unattended = config.headless_policy is not None
        announce = partial(self._sandbox.announce, is_unattended=is_unattended)
        tasks.start_soon(announce, session.notices.add)
        network = SessionNetwork(
            SessionNamespaces(config.environment),
            HostQuestions(config.sandbox.allowed_hosts),
            lambda: session.options.network or config.sandbox.network,
            lambda: session.options.ports or config.sandbox.ports,
            partial(_spawn, tasks),
        )
        directory = SessionDirectory()
        connections = CommandConnections(
            directory.path, SocketQuestions(config.environment).ask, partial(_spawn, tasks)
        )
        return SessionSandbox(self._sandbox, sandbox_scope, network, directory, connections)


async def _prepare_call(
    requests: VariableRequests, notify: Callable[[str], None], view: SkillView, sink: TurnSink
) -> SkillView:
    """Request the variables of a skill that the user called, and tell the user what is missing."""
    view, notes = await requests.prepare_for_user(view, sink)
    for note in notes:
        notify(note)
    return view


def _end_turn(variables: CommandVariables, hooks: HookRunner | None, reason: str) -> None:
    variables.end_turn()
    if hooks is not None:
        hooks.end_turn(reason)


def _all_tools(provider_tools: ProviderTools | None, servers: ServerTools) -> Sequence[Tool]:
    """Return the tools that others provide: those of the external memory, then of MCP servers."""
    own = () if provider_tools is None else provider_tools.tools()
    return (*own, *servers.tools())


async def _close_shell(shell: ShellServices) -> None:
    """End all commands of a session, then release what they shared."""
    await shell.background.close()
    if shell.sandbox is not None:
        await shell.sandbox.close()


def _with_hooks(toolbox: Toolbox, hooks: HookRunner | None, *, closes_hooks: bool) -> Toolbox:
    """Wrap a toolbox with the user's hooks, if there are any."""
    return toolbox if hooks is None else HookedToolbox(toolbox, hooks, closes_hooks)


def _with_other_names(services: EditServices, toolbox: Toolbox) -> Toolbox:
    """Wrap a toolbox so that its tools may also be called as those of other agents."""
    paths = PathCorrector(services.workspace, services.home)
    return DialectToolbox(toolbox, frozenset(TOOL_NAMES), services.gate, paths)


def _spawn(tasks: TaskGroup, task: TaskFunction) -> None:
    tasks.start_soon(task)


def _hook_facts(session: SessionContext) -> Mapping[str, JsonValue]:
    """Return the facts about a session that every hook gets."""
    return {
        "session_id": session.id,
        "cwd": str(session.workspace.cwd),
        "mode": session.options.mode,
    }


def _switch_mode(session: SessionContext, mode: Mode) -> None:
    """Switch a session's mode to the one the user chose, and report the change to the client."""
    session.options.set_mode(mode)
    session.options.announce()


def _ask_per_host(session: SessionContext) -> None:
    """Let a session's commands reach the hosts that the user allows, as the user chose."""
    session.options.set_option(NETWORK_OPTION, "hosts")
    session.options.announce()


async def _summarize(session: SessionContext, instructions: str, text: str, max_tokens: int) -> str:
    """Summarize a text with the session's model.

    Raises:
        SummaryError: The model could not be asked.
    """
    limit = f"Write at most {max_tokens * CHARACTERS_PER_TOKEN} characters."
    try:
        return await session.models.ask(f"{instructions}\n\n{limit}", text)
    except TurnError as error:
        raise SummaryError(error.reason) from error
