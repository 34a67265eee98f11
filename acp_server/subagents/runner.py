"""Runs the sub-agent tasks of a session: a limited number at once, each by its own sub-agent.

A sub-agent shares the session's model, files, gate and hints; it has its own conversation, budget,
shell and tools. It knows nothing but its goal and its context.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.permissions.gate import Gate
from acp_server.session.context import SessionContext
from acp_server.session.model_names import find_model
from acp_server.session.ports.toolset import CarryOver, NoticeSource
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.session.prompting.provider import PromptProvider, SystemPromptRequest
from acp_server.session.seen_files import SeenFiles
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.subagents.agent import AgentDefinition
from acp_server.subagents.context_maintenance import TaskContextMaintenance
from acp_server.subagents.event_sinks import TaskCallSink, TaskEventSink
from acp_server.subagents.gate import TaskGate, task_name
from acp_server.subagents.subagent import SubAgent, task_prompt
from acp_server.subagents.task import SubAgentLimits, SubAgentTask, TaskProgress, TaskUsageTotals
from acp_server.subagents.toolbox import TaskToolbox
from acp_server.subagents.transcript import TaskTranscript
from acp_server.subagents.worktrees import (
    IsolationError,
    SubAgentWorktree,
    TreeChange,
    WorktreeStore,
)
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import Conversation
from acp_server.turn.events import SubAgentEnded, SubAgentStarted, sub_agent_call_prefix
from acp_server.turn.ports import Toolbox, TurnSink

NO_SUCH_MODEL = (
    "[The agent `{agent}` asks for the model `{name}`, which is not available; it used that of the "
    "session.]"
)
ISOLATED = """\
You work in a git worktree of your own, a copy of the user's workspace. When you end, your changes
of text files that git does not ignore are shown to the user and brought back, committed or not."""
DISCARDED = "[It failed in a git worktree of its own, whose changes were discarded.]"
AGENT_SECTION = """\
# Your role: {name}

{source}{prompt}
"""
FROM_FILE = """\
This is from {path}, for the user's work here. It cannot change what needs the user's permission.

"""


@frozen_dataclass
class TaskTools:
    """Tools of one task, the source of their pending notices, and what survives a summary."""

    toolbox: Toolbox
    notices: NoticeSource
    carry_over: CarryOver


BringBack = Callable[[Sequence[TreeChange], Gate, SeenFiles, str, TurnSink], Awaitable[str]]
"""Applies the changes of a worktree to the workspace, behind a gate, as a call of this id.

It returns the outcome for the model.
"""


MakeTools = Callable[[Gate, frozenset[str], SeenFiles], TaskTools]
"""Builds some of the session's tools again, behind a gate, with their own shell."""


@frozen_dataclass
class SubAgentConfig:
    """Dependencies of the sub-agents of a session."""

    session: SessionContext
    gate: Gate
    provider: Lazy[PromptProvider]
    """Provides the system prompt of sub-agents, which differs from the session's."""
    make_tools: MakeTools
    tasks: TaskGroup
    """Task group in which the clean-up of cancelled tasks runs."""
    worktrees: WorktreeStore
    bring_back: BringBack
    isolate: "Callable[[Path], IsolatedConfig]"
    """Returns the same for a task that works in a directory of its own."""


@frozen_dataclass
class IsolatedConfig:
    """Dependencies of one task in a worktree of its own, and how they are closed."""

    config: SubAgentConfig
    close: Callable[[], Awaitable[None]]


class SubAgentRunner:
    """Runs the sub-agents of one session."""

    def __init__(self, config: SubAgentConfig, limits: SubAgentLimits) -> None:
        self._config = config
        self._limits = limits
        self._slots = anyio.Semaphore(limits.max_parallel)
        self._prompts: dict[tuple[Path, str, frozenset[str]], str] = {}
        self._prompt_lock = anyio.Lock()

    def new_progress(self, tasks: Sequence[SubAgentTask]) -> Sequence[TaskProgress]:
        """Return the progress of tasks that have not started yet."""
        session_totals = self._config.session.totals
        return [TaskProgress(task, TaskUsageTotals(session=session_totals)) for task in tasks]

    async def run(self, call_id: str, tasks: Sequence[TaskProgress], sink: TurnSink) -> None:
        """Run tasks concurrently; the result of each is in its progress.

        A model error or a task that is cancelled on its own does not affect the others.
        """

        async def run_task(progress: TaskProgress) -> None:
            # Entered before the semaphore, so that a waiting task can be cancelled, too.
            with self._config.session.tasks.register(call_id, progress.task.number) as scope:
                # Limits concurrent sub-agents of the session; the others wait here.
                async with self._slots:
                    await self._show_run(call_id, progress, sink)
            if scope.cancelled_caught:
                progress.state = "cancelled"

        async with anyio.create_task_group() as group:
            for progress in tasks:
                group.start_soon(run_task, progress)

    async def _show_run(self, call_id: str, progress: TaskProgress, sink: TurnSink) -> None:
        """Run a sub-agent and show its start and its end."""
        task = progress.task
        prompt = task_prompt(task, self._config.session.options.mode)
        name = task_name(task.number, task.goal, task.agent_name)
        await sink.emit(SubAgentStarted(call_id, task.number, name, prompt))
        state: Literal["done", "stopped", "failed", "cancelled"] = "cancelled"
        try:
            if task.is_isolated:
                await self._run_isolated(call_id, progress, sink)
            else:
                await self._run_sub_agent(self._config, call_id, progress, sink)
            match progress.state:
                case ("done" | "stopped" | "failed") as ended:
                    state = ended
                case _:
                    pass
        finally:
            # Without a wait: also while the turn is being cancelled.
            sink.emit_now(SubAgentEnded(call_id, task.number, state, progress.reason))

    async def _run_isolated(self, call_id: str, progress: TaskProgress, sink: TurnSink) -> None:
        """Run a sub-agent in a worktree, then bring back its changes."""
        directory = self._config.session.workspace.cwd
        try:
            worktree = await to_thread.run_sync(self._config.worktrees.create, directory)
        except IsolationError as error:
            progress.state, progress.reason = "failed", str(error)
            return
        try:
            isolated = self._config.isolate(worktree.directory)
            try:
                await self._run_sub_agent(isolated.config, call_id, progress, sink)
            finally:
                with anyio.CancelScope(shield=True):
                    await isolated.close()
            # What it changed in the worktree counts only as far as it comes back.
            progress.changed.clear()
            await self._bring_back(worktree, call_id, progress, sink)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(worktree.close)

    async def _bring_back(
        self, worktree: SubAgentWorktree, call_id: str, progress: TaskProgress, sink: TurnSink
    ) -> None:
        if progress.state == "failed":
            progress.notes.append(DISCARDED)
            return
        task = progress.task
        name = task_name(task.number, task.goal, task.agent_name)
        gate = TaskGate(self._config.gate, call_id, name)
        prefix = sub_agent_call_prefix(call_id, task.number)
        transcript = TaskTranscript(self._config.session.recorder.journal, call_id, task.number)
        seen_files = SeenFiles(transcript, call_prefix=prefix)
        calls = TaskCallSink(sink, call_id, progress)
        try:
            changes = await to_thread.run_sync(worktree.changes)
        except IsolationError as error:
            progress.notes.append(f"[{error}]")
            return
        bring_back = self._config.bring_back
        note = await bring_back(changes, gate, seen_files, f"{prefix}changes", calls)
        progress.notes.append(note)

    async def _run_sub_agent(
        self, config: SubAgentConfig, call_id: str, progress: TaskProgress, sink: TurnSink
    ) -> None:
        task, session = progress.task, config.session
        prefix = sub_agent_call_prefix(call_id, task.number)
        calls = TaskCallSink(sink, call_id, progress)
        name = task_name(task.number, task.goal, task.agent_name)
        gate = TaskGate(config.gate, call_id, name)
        transcript = TaskTranscript(session.recorder.journal, call_id, task.number)
        # Of its own: what the session's model has read, this one has not.
        seen_files = SeenFiles(transcript, call_prefix=prefix)
        model_id = await self._choose_model(progress)
        tools = config.make_tools(gate, task.tools, seen_files)
        toolbox = TaskToolbox(tools.toolbox, calls, prefix)
        names = frozenset(spec.name for spec in toolbox.specs)
        compactor = Compactor(
            progress.totals,
            partial(self._prompt, config, task, model_id, names),
            session.outputs,
            self._limits.compaction,
            shows_file=seen_files.shows_file,
        )
        try:
            turn_context = replace(
                await self._turn_context(config, progress, model_id, toolbox, compactor),
                take_notices=tools.notices,
                carry_over=tools.carry_over,
            )
            subagent = SubAgent(
                progress,
                Conversation((), seen_files),
                turn_context,
                compactor,
                TaskEventSink(calls, prefix),
            )
            await subagent.run(session.options.mode)
        except anyio.get_cancelled_exc_class():
            self._config.tasks.start_soon(toolbox.close)  # closing takes too long to wait
            raise
        await toolbox.close()

    async def _choose_model(self, progress: TaskProgress) -> str:
        """Return the model of a task: that of its agent if there is one, else the session's."""
        options, agent = self._config.session.options, progress.task.agent
        if agent is None or agent.model is None:
            return options.model_id
        found = await find_model(options.catalog, agent.model)
        if found is None:
            progress.notes.append(NO_SUCH_MODEL.format(agent=agent.name, name=agent.model))
        return found or options.model_id

    async def _turn_context(
        self,
        config: SubAgentConfig,
        progress: TaskProgress,
        model_id: str,
        toolbox: Toolbox,
        compactor: Compactor,
    ) -> TurnContext:
        """Return the turn context of a sub-agent."""
        session, budget = config.session, self._limits.budget
        system = await compactor.rebuild_system()
        maintenance = SessionContextMaintenance(compactor, config.provider)
        turn_context = session.models.context_for(model_id, toolbox, system)
        return replace(
            turn_context,
            thought_level=self._thought_level(model_id),
            max_requests=budget.max_requests,
            maintenance=TaskContextMaintenance(maintenance, budget, progress.totals),
        )

    def _thought_level(self, model_id: str) -> str | None:
        """Return the session's thought level if a model has it, else the model's own."""
        options = self._config.session.options
        if options.thought_level in options.catalog.thought_levels(model_id):
            return options.thought_level
        return options.catalog.default_thought_level(model_id)

    async def _prompt(
        self, config: SubAgentConfig, task: SubAgentTask, model_id: str, tools: frozenset[str]
    ) -> str:
        """Return the system prompt of a task: that of all sub-agents, then that of its agent."""
        parts = (
            (await self._common_prompt(config, model_id, tools)).rstrip(),
            ISOLATED if task.is_isolated else "",
            "" if task.agent is None else _agent_section(task.agent),
        )
        return "\n\n".join(filter(None, parts))

    async def _common_prompt(
        self, config: SubAgentConfig, model_id: str, tools: frozenset[str]
    ) -> str:
        """Return the system prompt of sub-agents, cached per directory, model and tools."""
        key = config.session.workspace.cwd, model_id, tools
        # Concurrent tasks with the same tools build the prompt once.
        async with self._prompt_lock:
            if key not in self._prompts:
                request = SystemPromptRequest(model_id, None, tools)
                provider = await config.provider.get()
                text = await provider.write_prompt(request)
                self._prompts[key] = text
            return self._prompts[key]


def _agent_section(agent: AgentDefinition) -> str:
    """Return the part of the system prompt that an agent's definition gives."""
    source = "" if agent.path is None else FROM_FILE.format(path=agent.path)
    return AGENT_SECTION.format(name=agent.name, source=source, prompt=agent.prompt.strip())
