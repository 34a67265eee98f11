"""The tool `delegate_task`: runs tasks in parallel sub-agents and returns their results.

Delegating has no effect of its own, so it needs no permission: every effect of a sub-agent passes
the session's permission gate.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from acp_server.permissions.gate import Gate
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.agent import AgentDefinition
from acp_server.subagents.reports import render_overview_lines, render_report, results_as_json
from acp_server.subagents.runner import SubAgentRunner
from acp_server.subagents.session_agents import AgentError, SessionAgents
from acp_server.subagents.task import SubAgentTask, TaskProgress
from acp_server.subagents.toolsets import UnknownToolsetError, tools_for
from acp_server.tools.agents.agent_tools import select_tools
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import display_path
from acp_server.tools.shell.live_output import run_with_view
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import ToolOutcome

NAME = "delegate_task"
DESCRIPTION = (
    "Give work to sub-agents, and get their final answers. Delegate work that is independent or "
    "would fill your context, such as a broad search. Do small work yourself. Sub-agents know only "
    "goal and context, and cannot ask you. Give goal, or tasks for several sub-agents at once."
)
AGENTS = "Agents, each with a prompt and tools of its own:"
TOOLS_NOT_GIVEN = "[The agent `{agent}` names tools that it was not given: {names}.]"
KIND: CallKind = "think"
TITLE = "Delegate"
MAX_TASKS = 20
OVERVIEW_INTERVAL_SECONDS = 0.25
NO_GOAL = "delegate_task needs a goal, or tasks that each have a goal"
SHARED_CONTEXT = "Part of: {goal}"


class Order(Arguments):
    """One task as the model specifies it. The class name is part of the schema the model sees."""

    goal: str = Field(description="same")
    # Without agents that the user has set up, the schema says nothing of them.
    agent: SkipJsonSchema[str | None] = Field(default=None)
    context: str | None = Field(default=None, description="same")
    toolsets: list[str] | None = Field(default=None, description="same")


class DelegateArguments(Arguments):
    """One task, or several in `tasks`; then the other fields apply to all of them."""

    goal: str | None = Field(default=None, description="the task")
    agent: SkipJsonSchema[str | None] = Field(default=None)
    context: str | None = Field(default=None, description="paths, findings, limits, what to report")
    toolsets: list[str] | None = Field(
        default=None,
        description="file, terminal, web, skills, session_search, todo, mcp-NAME (default: all)",
    )
    isolation: SkipJsonSchema[Literal["worktree"] | None] = Field(default=None)
    tasks: list[Order] | None = Field(
        default=None, max_length=MAX_TASKS, description="up to 20 tasks at once"
    )


class AgentOrder(Order):
    """The same for a session with agents; validated as `Order`."""

    agent: str | None = Field(default=None, description="same")


class AgentDelegateArguments(DelegateArguments):
    """The same for a session with agents; validated as `DelegateArguments`."""

    agent: str | None = Field(
        default=None, description="the agent that does it (default: a sub-agent with all tools)"
    )
    tasks: list[AgentOrder] | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, max_length=MAX_TASKS, description="up to 20 tasks that run at once"
    )


class DelegateUse(TypedToolUse[DelegateArguments]):
    """One call of `delegate_task`."""

    usual_access = CallAccess("independent")

    def __init__(self, delegation: "DelegationContext", reporter: CallReporter) -> None:
        super().__init__(DelegateArguments, reporter)
        self._delegation = delegation
        self._tasks: Sequence[TaskProgress] = ()
        self._shown_text = ""

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the goal of the task as the title, or the number of tasks if there are several."""
        orders = so_far.complete.get("tasks")
        if isinstance(orders, list) and len(orders) > 1:
            return CallDescription(f"Delegate {len(orders)} tasks")
        goal, agent = so_far.text("goal").strip(), so_far.complete_text("agent")
        if isinstance(orders, list) and orders and isinstance(orders[0], dict):
            goal = str(orders[0].get("goal", ""))
            agent = str(orders[0].get("agent") or agent or "")
        start = f"Delegate to {agent}" if agent else "Delegate"
        return CallDescription(f"{start}: {goal}") if goal else None

    async def run(self, arguments: DelegateArguments) -> ToolOutcome:
        """Run all tasks and report the result of each, also if some failed."""
        # This call never asks for permission itself. If it kept its place in the queue, the
        # questions of its sub-agents would wait behind it forever.
        self._delegation.gate.yield_queue(self.reporter.call_id)
        # Its effects are those of the tasks, so no other decision would meet a rule for this tool.
        refusal = await self._delegation.gate.forbid_tool(NAME)
        if refusal is not None:
            return ToolOutcome(refusal.reason, is_error=True)
        try:
            tasks = await self._delegation.build_tasks(arguments)
        except (UnknownToolsetError, AgentError) as error:
            return ToolOutcome(str(error), is_error=True)
        if not all(task.goal.strip() for task in tasks):
            return ToolOutcome(NO_GOAL, is_error=True)
        await self.reporter.mark_in_progress()
        self._tasks = self._delegation.runner.new_progress(tasks)
        sink = _ReporterSink(self.reporter)
        work = partial(self._delegation.runner.run, self.reporter.call_id, self._tasks, sink)
        await run_with_view(self, OVERVIEW_INTERVAL_SECONDS, work)
        has_failed = all(each.state in {"failed", "cancelled"} for each in self._tasks)
        return self._outcome("", is_error=has_failed)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the results so far."""
        return self._outcome(reason, is_error=True)

    def write(self, chunk: bytes) -> None:
        """Do nothing: tasks print no output."""

    async def flush(self) -> None:
        """Show the state of all tasks, if it has changed."""
        text = render_overview_lines(self._tasks)
        if text != self._shown_text:
            self._shown_text = text
            self.reporter.show_transient((Text(text),))

    def _outcome(self, reason: str, *, is_error: bool) -> ToolOutcome:
        root = self._delegation.root
        report = render_report(self._tasks, partial(display_path, root=root)) if self._tasks else ""
        text = "\n\n".join(part for part in (reason, report) if part)
        return ToolOutcome(text, is_error, raw_output={"tasks": results_as_json(self._tasks)})


@frozen_dataclass
class DelegationContext:
    """Dependencies of the tool `delegate_task` in one session."""

    root: Path
    """The session's directory; shown paths are relative to it."""
    tool_names: Callable[[], Collection[str]]
    """Returns the names of the tools that the session may use now."""
    gate: Gate
    runner: SubAgentRunner
    agents: SessionAgents

    async def build_tasks(self, arguments: DelegateArguments) -> Sequence[SubAgentTask]:
        """Return the tasks that a call asks for, numbered from 1.

        Raises:
            UnknownToolsetError: A task asks for a toolset that sub-agents cannot have.
            AgentError: A task asks for an agent that cannot be used.
        """
        available_tools = sorted(self.tool_names())
        shared_context = _join_texts(arguments.context)
        if arguments.tasks and arguments.goal:
            shared_context = _join_texts(SHARED_CONTEXT.format(goal=arguments.goal), shared_context)
        orders = arguments.tasks or [Order(goal=arguments.goal or "")]
        tasks: list[SubAgentTask] = []
        for number, order in enumerate(orders, start=1):
            tools = tools_for(order.toolsets or arguments.toolsets or (), available_tools)
            context = _join_texts(shared_context, order.context)
            is_isolated = arguments.isolation == "worktree"
            task = SubAgentTask(number, order.goal, context, tools, is_isolated=is_isolated)
            name = order.agent or arguments.agent
            agent = await self.agents.resolve(name) if name else None
            tasks.append(task if agent is None else _with_agent(task, agent, available_tools))
        return tasks

    def tool(self) -> Tool:
        """Return the tool, whose description lists the session's agents if there are any."""
        return delegate_task_tool(self)


def _with_agent(
    task: SubAgentTask, agent: AgentDefinition, available: Collection[str]
) -> SubAgentTask:
    """Return a task for an agent, with the tools that both the call and the agent name."""
    selected = select_tools(agent.tools, available)
    # A built-in agent names tools that not every session has.
    missing = ", ".join(selected.not_given) if agent.path is not None else ""
    notes = (TOOLS_NOT_GIVEN.format(agent=agent.name, names=missing),) if missing else ()
    return replace(
        task,
        agent=agent,
        tools=task.tools & selected.names,
        is_isolated=task.is_isolated or agent.is_isolated,
        notes=notes,
    )


class _ReporterSink:
    """Event sink that sends through the call's reporter."""

    def __init__(self, reporter: CallReporter) -> None:
        self.emit = reporter.emit
        self.emit_now = reporter.emit_now


def _join_texts(*texts: str | None) -> str:
    return "\n\n".join(text for text in texts if text and text.strip())


def delegate_task_tool(delegation: DelegationContext) -> Tool:
    """Return the tool for a session."""
    listing = delegation.agents.listing
    spec = (
        build_spec(NAME, f"{DESCRIPTION} {AGENTS}\n{listing}", AgentDelegateArguments)
        if listing
        else build_spec(NAME, DESCRIPTION, DelegateArguments)
    )
    return Tool(spec, KIND, TITLE, partial(DelegateUse, delegation))
