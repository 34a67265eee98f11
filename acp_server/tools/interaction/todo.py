"""The tool `todo`: the session's task list, shown as the editor's plan."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from acp_server.tools.arguments import ArgumentError, Arguments, SoFar, read_arguments
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Message, ToolCall, ToolResult, arguments_of
from acp_server.turn.events import PlanChanged, PlanEntry
from acp_server.turn.ports import Outcome

Status = Literal["pending", "in_progress", "completed", "cancelled"]

NAME = "todo"
DESCRIPTION = (
    "Your task list, shown to the user as a plan. Use it for work of three or more steps: one "
    "item in_progress at a time, completed as soon as it is done. Without todos it returns the "
    "list."
)


class TodoItem(BaseModel):
    """One task. The class name is part of the schema the model sees."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str
    content: str = Field(min_length=1)
    status: Status = "pending"


class TodoArguments(Arguments):
    """The new list, or with `merge`, updates of some items."""

    todos: list[TodoItem] | None = None
    merge: bool = Field(default=False, description="update items by id instead of replacing all")


class TodoList:
    """The task list of one session."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}

    def update(self, items: Sequence[TodoItem], *, is_merge: bool) -> None:
        """Update items by id, or without `is_merge`, replace the list."""
        kept = self._items if is_merge else {}
        # `|` keeps the position of an updated item in the list.
        self._items = kept | {item.id: item for item in items}

    @property
    def items(self) -> tuple[TodoItem, ...]:
        """All items, in order."""
        return tuple(self._items.values())

    def plan(self) -> PlanChanged:
        """Return the list as an ACP plan, without cancelled items: plans have no such status."""
        return PlanChanged(
            tuple(
                PlanEntry(item.content, item.status)
                for item in self.items
                if item.status != "cancelled"
            )
        )

    def text(self) -> str:
        """Return the list as JSON lines for the model."""
        lines = [json.dumps(item.model_dump(), ensure_ascii=False) for item in self.items]
        return "\n".join(lines) or "the list is empty"


class TodoUse(Use[TodoArguments]):
    """One call of `todo`."""

    def __init__(self, todos: TodoList, report: Report) -> None:
        super().__init__(TodoArguments, report)
        self._todos = todos

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the title, once it is known whether the list is read or changed."""
        if "todos" not in so_far.complete:
            return None
        is_look = so_far.complete["todos"] is None
        return Description("Look at the plan" if is_look else "Update the plan")

    async def run(self, arguments: TodoArguments) -> Outcome:
        """Update the list and the plan, or return the list."""
        await self.report.begin()
        if arguments.todos is None:
            return Outcome(self._todos.text())
        self._todos.update(arguments.todos, is_merge=arguments.merge)
        await self.report.tell(self._todos.plan())
        open_count = sum(item.status in {"pending", "in_progress"} for item in self._todos.items)
        text = self._todos.text() if arguments.merge else f"{len(self._todos.items)} items"
        return Outcome(f"{text}; {open_count} open")


def list_in(messages: Iterable[Message]) -> TodoList:
    """Rebuild the list by replaying the successful `todo` calls of a conversation."""
    todos = TodoList()
    parts = [part for message in messages for part in message.parts]
    failed = {part.call_id for part in parts if isinstance(part, ToolResult) and part.is_error}
    for part in parts:
        if isinstance(part, ToolCall) and part.name == NAME and part.id not in failed:
            _repeat(part, todos)
    return todos


def _repeat(call: ToolCall, todos: TodoList) -> None:
    try:
        arguments = read_arguments(TodoArguments, arguments_of(call))
    except (ValueError, ArgumentError):  # the original call failed too
        return
    if arguments.todos is not None:
        todos.update(arguments.todos, is_merge=arguments.merge)


def todo_tool(messages: Iterable[Message] = ()) -> Tool:
    """Return the tool, with a list that continues the one in a conversation."""
    todos = list_in(messages)
    spec = spec_of(NAME, DESCRIPTION, TodoArguments)
    return Tool(spec, "think", "Plan", lambda report: TodoUse(todos, report))
