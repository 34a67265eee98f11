"""The tool `delegate_task`: runs tasks in parallel sub-agents and returns their results.

Delegating has no effect of its own, so it needs no permission: every effect of a sub-agent passes
the session's permission gate.
"""

from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from acp_server.permissions.gate import Gate
from acp_server.session.session import Session
from acp_server.startup.fast_dataclass import frozen
from acp_server.subagents.reports import facts, overview, report
from acp_server.subagents.runner import Office
from acp_server.subagents.task import Progress, Task
from acp_server.subagents.toolsets import UnknownToolsetError, tools_for
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import shown
from acp_server.tools.shell.live_output import show_while
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import Outcome

NAME = "delegate_task"
DESCRIPTION = (
    "Hand work to sub-agents: one by goal, or several at once by tasks. They know only goal and "
    "context (give paths, findings, limits, what to answer), work alone and cannot ask you. You "
    "get their last answers. For work that is independent or would fill your context. toolsets "
    "(default all): file, terminal, web, skills, session_search, todo, mcp-NAME."
)
KIND: CallKind = "think"
TITLE = "Delegate"
MOST_TASKS = 20
OVERVIEW_SECONDS = 0.25
NO_GOAL = "say what is to be done: a goal, or tasks with one each"
SHARED = "Part of: {goal}"


class Order(BaseModel):
    """One task as the model specifies it. The class name is part of the schema the model sees."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    goal: str
    context: str | None = None
    toolsets: list[str] | None = None


class DelegateArguments(Arguments):
    """One task, or several in `tasks`; then the other fields apply to all of them."""

    goal: str | None = None
    context: str | None = None
    toolsets: list[str] | None = None
    tasks: list[Order] | None = Field(default=None, max_length=MOST_TASKS)


class DelegateUse(Use[DelegateArguments]):
    """One call of `delegate_task`."""

    def __init__(self, delegation: "Delegation", report: Report) -> None:
        super().__init__(DelegateArguments, report)
        self._delegation = delegation
        self._tasks: Sequence[Progress] = ()
        self._shown = ""

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the goal of the task as the title, or the number of tasks if there are several."""
        orders = so_far.complete.get("tasks")
        if isinstance(orders, list) and len(orders) > 1:
            return Description(f"Delegate {len(orders)} tasks")
        goal = so_far.text("goal").strip()
        if isinstance(orders, list) and orders and isinstance(orders[0], dict):
            goal = str(orders[0].get("goal", ""))
        return Description(f"Delegate: {goal}") if goal else None

    async def run(self, arguments: DelegateArguments) -> Outcome:
        """Run all tasks and report the result of each, also if some failed."""
        # This call never asks for permission itself. If it kept its place in the queue, the
        # questions of its sub-agents would wait behind it forever.
        self._delegation.gate.step_aside(self.report.call_id)
        try:
            tasks = await self._delegation.tasks(arguments)
        except UnknownToolsetError as error:
            return Outcome(str(error), is_error=True)
        if not all(task.goal.strip() for task in tasks):
            return Outcome(NO_GOAL, is_error=True)
        await self.report.begin()
        self._tasks = self._delegation.office.begin(tasks)
        sink = _Told(self.report)
        work = partial(self._delegation.office.do, self.report.call_id, self._tasks, sink)
        await show_while(self, OVERVIEW_SECONDS, work)
        is_vain = all(each.state in {"failed", "cancelled"} for each in self._tasks)
        return self._outcome("", is_error=is_vain)

    def cut_short(self, reason: str) -> Outcome:
        """Return the results so far."""
        return self._outcome(reason, is_error=True)

    def write(self, chunk: bytes) -> None:
        """Do nothing: tasks print no output."""

    async def flush(self) -> None:
        """Show the state of all tasks, if it has changed."""
        text = overview(self._tasks)
        if text != self._shown:
            self._shown = text
            self.report.show_passing((Text(text),))

    def _outcome(self, reason: str, *, is_error: bool) -> Outcome:
        root = self._delegation.session.workspace.cwd
        told = report(self._tasks, partial(shown, root=root)) if self._tasks else ""
        text = "\n\n".join(part for part in (reason, told) if part)
        return Outcome(text, is_error, raw_output={"tasks": facts(self._tasks)})


@frozen
class Delegation:
    """Dependencies of the tool `delegate_task` in one session."""

    session: Session
    gate: Gate
    office: Office

    async def tasks(self, arguments: DelegateArguments) -> Sequence[Task]:
        """Return the tasks that a call asks for, numbered from 1.

        Raises:
            UnknownToolsetError: A task asks for a toolset that sub-agents cannot have.
        """
        present = sorted(await self.session.tool_names())
        shared = _joined(arguments.context)
        if arguments.tasks and arguments.goal:
            shared = _joined(SHARED.format(goal=arguments.goal), shared)
        orders = arguments.tasks or [Order(goal=arguments.goal or "")]
        return [
            Task(
                number,
                order.goal,
                _joined(shared, order.context),
                tools_for(order.toolsets or arguments.toolsets or (), present),
            )
            for number, order in enumerate(orders, start=1)
        ]


class _Told:
    """Event sink that sends through the call's reporter."""

    def __init__(self, report: Report) -> None:
        self.emit = report.tell
        self.emit_now = report.tell_now


def _joined(*texts: str | None) -> str:
    return "\n\n".join(text for text in texts if text and text.strip())


def delegate_task_tool(delegation: Delegation) -> Tool:
    """Return the tool for a session."""
    spec = spec_of(NAME, DESCRIPTION, DelegateArguments)
    return Tool(spec, KIND, TITLE, partial(DelegateUse, delegation))
