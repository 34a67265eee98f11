"""Builds the tools of a session and connects them to its files, shell, editor and gate."""

from collections.abc import Iterable, Mapping
from functools import partial
from weakref import WeakKeyDictionary

from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.checkpoints.manager import Ground, Keeper
from acp_server.hooks.hook_runner import Hooks
from acp_server.hooks.toolbox import HookedToolbox
from acp_server.memory.store import Memory
from acp_server.permissions.facts import Surveyor
from acp_server.permissions.gate import Gate, PermissionGate, look_away
from acp_server.permissions.modes import Mode
from acp_server.permissions.rule_store import RuleStore
from acp_server.session.project.headless_policy import ignore_refusal
from acp_server.session.prompting.file_watch import Task
from acp_server.session.session import Session
from acp_server.skills.service import SkillRoom
from acp_server.skills.session_skills import SessionSkills
from acp_server.startup.fast_dataclass import frozen
from acp_server.subagents.runner import Office
from acp_server.subagents.runner import Premises as OfficePremises
from acp_server.subagents.runner import Tools as TaskTools
from acp_server.tools.agents.delegate_task import Delegation, delegate_task_tool
from acp_server.tools.edit.checks import Checks
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.edit.new_problems import Diagnosis
from acp_server.tools.edit.patch import patch_tool
from acp_server.tools.edit.undo_commands import SessionCheckpoints
from acp_server.tools.edit.write_file import write_file_tool
from acp_server.tools.files.desk import FileDesk
from acp_server.tools.interaction.clarify import clarify_tool
from acp_server.tools.interaction.exit_plan import exit_plan_tool
from acp_server.tools.interaction.todo import todo_tool
from acp_server.tools.lazy_imports import MemoryPremises, Premises, Surroundings
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.memory.session_search import Archives, SummaryError, session_search_tool
from acp_server.tools.read.attachments import Attachments
from acp_server.tools.read.read_file import read_file_tool
from acp_server.tools.search.search_files import search_files_tool
from acp_server.tools.shell.background import BackgroundCommands
from acp_server.tools.shell.confinement.limits import Territory
from acp_server.tools.shell.confinement.sandbox import Sandbox, SessionSandbox
from acp_server.tools.shell.hook_process import HookShell
from acp_server.tools.shell.process import ends_of, process_tool
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.shell.terminal import Shell, terminal_tool
from acp_server.tools.shell.watcher import Watcher
from acp_server.tools.skills.skill_tools import skill_tools
from acp_server.tools.tool import Tool
from acp_server.tools.toolbox import NoServerTools, ServerTools, SessionToolbox
from acp_server.tools.web.fetching import Fetcher
from acp_server.tools.web.lazy_client import LazySites
from acp_server.tools.web.web_fetch import web_fetch_tool
from acp_server.turn.conversation import Message
from acp_server.turn.errors import TurnError
from acp_server.turn.ports import Toolbox
from prompt_engine.threats import scan

MEMORY_TOOL = "memory"
TOOL_NAMES = (
    "read_file",
    "search_files",
    "write_file",
    "patch",
    "terminal",
    "process",
    "web_fetch",
    "todo",
    "clarify",
    "exit_plan",
    MEMORY_TOOL,
    "session_search",
    "skills_list",
    "skill_view",
    "skill_manage",
    "delegate_task",
)
"""The names of all tools, in the order in which they are sent to the model.

Providers cache the tool list as part of the prompt prefix, so the order must not change.
"""

CHARACTERS_PER_TOKEN = 3


def names_offered(memory: MemoryPremises) -> tuple[str, ...]:
    """Return the names of the tools that a session has, before its project restricts them."""
    return tuple(name for name in TOOL_NAMES if memory.limits or name != MEMORY_TOOL)


@frozen
class _Room:
    """Services that a session shares with its sub-agents."""

    around: Surroundings
    desk: FileDesk
    gate: Gate
    keeper: Keeper
    hooks: Hooks | None
    servers: ServerTools


class SessionToolMaker:
    """Builds the tools of sessions; owns the command watcher and the skills that they share."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._watcher: Watcher | None = None
        self._sandbox = Sandbox(premises.sandbox, premises.environment)
        self._recall = premises.recall() if premises.recall is not None else None
        self.room = SkillRoom(
            premises.own_folder,
            premises.user_home,
            premises.skills,
            _shown_variables(premises),
            premises.watch,
            settled_trust=None if premises.terms is None else premises.terms.is_trusted,
        )
        self._skills: WeakKeyDictionary[Session, SessionSkills] = WeakKeyDictionary()

    def toolbox(self, around: Surroundings) -> Toolbox:
        """Build the toolbox of a session."""
        gate = self._gate(around)
        desk = FileDesk(around.session.workspace, around.editor, self._premises.user_home)
        keeper = self._keeper(around)
        workshop, shell = self._workplace(around, desk, gate, keeper)
        around.session.tidings.add(partial(ends_of, shell.background))
        around.session.checkpoints.take(_checkpoints(around.session, workshop, keeper))
        own = self._tools(around, workshop, shell, around.session.conversation)
        hooks = self._hooks(around, shell.session)
        join = around.join_servers
        servers = NoServerTools() if join is None else join(gate, workshop.changing)
        room = _Room(around, desk, gate, keeper, hooks, servers)
        tools = (*own, self._delegation_tool(room))
        self.skills(around.session).tools = frozenset(tool.spec.name for tool in tools)
        attach, close = Attachments(workshop).attach, shell.background.close
        toolbox = SessionToolbox(tools, gate, attach, close, servers.tools)
        return _hooked(toolbox, hooks, closes_hooks=True)

    def _workplace(
        self, around: Surroundings, desk: FileDesk, gate: Gate, keeper: Keeper
    ) -> tuple[Workshop, Shell]:
        """Return the edit services behind a gate, and a shell."""
        shell = self._shell(around)
        diagnosis = self._diagnosis(around, shell.session)
        workspace, user_home = around.session.workspace, self._premises.user_home
        return Workshop(desk, gate, workspace, user_home, diagnosis, keeper), shell

    def _tools(
        self, around: Surroundings, workshop: Workshop, shell: Shell, said: Iterable[Message]
    ) -> tuple[Tool, ...]:
        """Return all tools except `delegate_task`; the todo list continues from `said`."""
        gate = workshop.gate
        return (
            read_file_tool(workshop),
            search_files_tool(workshop, shell.sandbox),
            write_file_tool(workshop),
            patch_tool(workshop),
            terminal_tool(workshop, shell),
            process_tool(workshop, shell),
            self._web_tool(gate),
            todo_tool(said),
            clarify_tool(around.enquirer),
            exit_plan_tool(gate, around.enquirer),
            *self._memory_tools(gate),
            *self._search_tools(around.session),
            *self._skill_tools(around.session, gate),
        )

    def _hooks(self, around: Surroundings, shell: ShellSession) -> Hooks | None:
        """Return the user's hooks, if there are any."""
        rules, session, terms = self._premises.hooks, around.session, self._premises.terms
        if rules.is_empty:
            return None
        hooks = Hooks(
            rules,
            HookShell(shell, session.workspace.cwd).run,
            partial(_spawn, around.tasks),
            partial(_facts, session),
            ignore_refusal if terms is None else terms.refused,
        )
        session.on_turn_end = hooks.end_turn
        return hooks

    def _delegation_tool(self, room: "_Room") -> Tool:
        """Return the tool `delegate_task`; sub-agents share the services in `room`."""
        around = room.around

        def make(task_gate: Gate, names: frozenset[str]) -> TaskTools:
            # Each sub-agent has a shell of its own, so that closing it ends only its background
            # commands. Files are shared: their locks must hold between sub-agents.
            workshop, shell = self._workplace(around, room.desk, task_gate, room.keeper)
            own = self._tools(around, workshop, shell, ())
            tools = (*own, *room.servers.tools_behind(task_gate))
            chosen = [tool for tool in tools if tool.spec.name in names]
            toolbox = SessionToolbox(chosen, task_gate, close=shell.background.close)
            hooked = _hooked(toolbox, room.hooks, closes_hooks=False)
            return TaskTools(hooked, partial(ends_of, shell.background))

        session, delegation = around.session, self._premises.delegation
        briefing = delegation.briefing(session.workspace)
        office = Office(
            OfficePremises(session, room.gate, briefing, make, around.tasks), delegation.rules
        )
        return delegate_task_tool(Delegation(session, room.gate, office))

    def skills(self, session: Session) -> SessionSkills:
        """Return the skills of a session; the same object for the same session."""
        if session not in self._skills:
            cwd = session.workspace.cwd
            self._skills[session] = SessionSkills(self.room, session.id, cwd)
        return self._skills[session]

    async def open_skills(self, session: Session) -> SessionSkills:
        """Load the skills of a session and watch their directories from now on."""
        skills = self.skills(session)
        await skills.open()
        return skills

    async def close(self) -> None:
        """Close the watcher process."""
        if self._watcher is not None:
            await self._watcher.close()

    def _gate(self, around: Surroundings) -> PermissionGate:
        session, premises = around.session, self._premises
        roots = (session.workspace.cwd, *session.workspace.additional)
        terms = premises.terms
        return PermissionGate(
            mode=lambda: session.mode,
            asker=around.asker,
            cancel_turn=session.cancel,
            surveyor=Surveyor(roots, premises.user_home, premises.own_folder),
            store=RuleStore(premises.own_folder / "acp" / "permissions.json"),
            root=session.workspace.cwd.resolve(),
            note_answer=session.chronicle.note_answer,
            switch_mode=partial(_switch_mode, session),
            orders=None if terms is None else terms.orders,
            witness=look_away if terms is None else terms.witness,
        )

    def _web_tool(self, gate: Gate) -> Tool:
        rules = self._premises.web
        return web_fetch_tool(Fetcher(LazySites(rules), rules.timeout_seconds), gate, scan)

    def _keeper(self, around: Surroundings) -> Keeper:
        premises, session = self._premises, around.session
        roots = session.workspace.roots
        ground = Ground(session.id, roots, premises.own_folder, premises.environment)
        spawn = partial(_spawn, around.tasks)
        return Keeper(ground, premises.checkpoints, session.bulletin.say, spawn)

    def _memory_tools(self, gate: Gate) -> tuple[Tool, ...]:
        """Return the tool `memory`, if any store is enabled."""
        own_folder, rules = self._premises.own_folder, self._premises.memory
        if not rules.limits:
            return ()
        memory = Memory(own_folder, rules.limits, scan)
        return (memory_tool(memory, gate, asks_first=rules.asks_first),)

    def _search_tools(self, session: Session) -> tuple[Tool, ...]:
        """Return the tool `session_search`, if sessions are persisted."""
        if self._recall is None:
            return ()
        archives = Archives(self._recall, session.id, partial(_condensed, session))
        return (session_search_tool(archives),)

    def _skill_tools(self, session: Session, gate: Gate) -> tuple[Tool, ...]:
        roots = (session.workspace.cwd, *session.workspace.additional)
        return skill_tools(self.skills(session), gate, roots)

    def _diagnosis(self, around: Surroundings, shell: ShellSession) -> Diagnosis:
        rules, cwd = self._premises.checks, around.session.workspace.cwd
        checks = Checks(shell, rules.commands, cwd, rules.seconds)
        return Diagnosis(around.session.diagnostics, checks, around.tasks, scan, cwd)

    def _shell(self, around: Surroundings) -> Shell:
        premises = self._premises
        if self._watcher is None:
            self._watcher = Watcher(around.tasks, premises.environment)
        sandbox = self._sandbox_for(around)
        shell = ShellSession(
            self._watcher, around.tasks, premises.environment, premises.secret_names, sandbox
        )
        return Shell(
            shell, BackgroundCommands(shell), around.editor, premises.secret_names, sandbox
        )

    def _sandbox_for(self, around: Surroundings) -> SessionSandbox | None:
        """Return the sandbox of a session, None if switched off.

        Whether the system supports one is probed in the background, and the user is told.
        """
        premises, workspace = self._premises, around.session.workspace
        if premises.sandbox.mode == "off":
            return None
        roots = tuple(root.resolve() for root in (workspace.cwd, *workspace.additional))
        places = premises.user_home, premises.own_folder, premises.environment
        territory = Territory(roots, premises.sandbox, *places)
        around.tasks.start_soon(self._sandbox.announce, around.session.bulletin.say)
        return SessionSandbox(self._sandbox, territory)


def _shown_variables(premises: Premises) -> Mapping[str, str]:
    """Return the environment variables that the model's commands see: all but the secrets."""
    given = premises.environment.items()
    return {name: value for name, value in given if name not in premises.secret_names}


def _checkpoints(session: Session, workshop: Workshop, keeper: Keeper) -> SessionCheckpoints:
    return SessionCheckpoints(session, workshop, keeper, session.workspace.cwd.resolve())


def _hooked(toolbox: Toolbox, hooks: Hooks | None, *, closes_hooks: bool) -> Toolbox:
    """Wrap a toolbox with the user's hooks, if there are any."""
    return toolbox if hooks is None else HookedToolbox(toolbox, hooks, closes_hooks)


def _spawn(tasks: TaskGroup, task: Task) -> None:
    tasks.start_soon(task)


def _facts(session: Session) -> Mapping[str, JsonValue]:
    """Return the facts about a session that every hook gets."""
    return {"session_id": session.id, "cwd": str(session.workspace.cwd), "mode": session.mode}


def _switch_mode(session: Session, mode: Mode) -> None:
    """Switch a session's mode to the one the user chose, and report the change to the client."""
    session.set_mode(mode)
    session.on_choice()


async def _condensed(session: Session, instructions: str, text: str, most_tokens: int) -> str:
    """Summarize a text with the session's model.

    Raises:
        SummaryError: The model could not be asked.
    """
    limit = f"Write at most {most_tokens * CHARACTERS_PER_TOKEN} characters."
    try:
        return await session.answer_to(f"{instructions}\n\n{limit}", text)
    except TurnError as error:
        raise SummaryError(error.reason) from error
