"""The tool `todo`: the session's task list, shown as the editor's plan."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Literal

from pydantic import Field

from acp_server.tools.arguments import (
    Arguments,
    PartialArguments,
    json_schema_of,
    validate_arguments,
)
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.dialects.names import find_tool
from acp_server.tools.dialects.reading import ToolSchema
from acp_server.tools.dialects.translation import translate
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    parse_arguments,
)
from acp_server.turn.events import PlanChanged, PlanEntry
from acp_server.turn.ports import ToolOutcome

Status = Literal["pending", "in_progress", "completed", "cancelled"]

NAME = "todo"
DESCRIPTION = "Change your task list, which the user sees as a plan. Without todos, it is returned."


class TodoItem(Arguments):
    """One task. The class name is part of the schema the model sees."""

    id: str = Field(description="short unique name")
    content: str = Field(min_length=1, description="the step")
    status: Status = Field(default="pending", description="default pending")


class TodoArguments(Arguments):
    """The new list, or with `merge`, updates of some items."""

    todos: list[TodoItem] | None = Field(default=None, description="the items")
    merge: bool = Field(
        default=False,
        description="true: update items by id; false (default): replace the list",
    )


class TodoList:
    """The task list of one session."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}

    def update(self, items: Sequence[TodoItem], *, should_merge: bool) -> None:
        """Update items by id, or without `should_merge`, replace the list."""
        existing = self._items if should_merge else {}
        # `|` keeps the position of an updated item in the list.
        self._items = existing | {item.id: item for item in items}

    @property
    def items(self) -> tuple[TodoItem, ...]:
        """All items, in order."""
        return tuple(self._items.values())

    def to_plan(self) -> PlanChanged:
        """Return the list as an ACP plan, without cancelled items: plans have no such status."""
        return PlanChanged(
            tuple(
                PlanEntry(item.content, item.status)
                for item in self.items
                if item.status != "cancelled"
            )
        )

    def to_json_lines(self) -> str:
        """Return the list as JSON lines for the model."""
        lines = [json.dumps(item.model_dump(), ensure_ascii=False) for item in self.items]
        return "\n".join(lines) or "the list is empty"


class ConversationTodos:
    """The list that a conversation leaves, read from its messages at the first call."""

    def __init__(self, messages: Iterable[Message]) -> None:
        """Take the messages unread: those of a session that is only looked at stay compressed."""
        self._messages = messages
        self._todos: TodoList | None = None

    def at_call(self, call_id: str) -> TodoList:
        """Return the list; the first time, as it was before the message that makes this call."""
        if self._todos is None:
            self._todos = todo_list_from(_messages_before(self._messages, call_id))
            self._messages = ()
        return self._todos


class TodoUse(TypedToolUse[TodoArguments]):
    """One call of `todo`."""

    def __init__(self, todos: ConversationTodos, reporter: CallReporter) -> None:
        super().__init__(TodoArguments, reporter)
        self._conversation_todos = todos

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the title, once it is known whether the list is read or changed."""
        if "todos" not in so_far.complete:
            return None
        is_read = so_far.complete["todos"] is None
        return CallDescription("Look at the plan" if is_read else "Update the plan")

    async def run(self, arguments: TodoArguments) -> ToolOutcome:
        """Update the list and the plan, or return the list."""
        await self.reporter.mark_in_progress()
        todos = self._conversation_todos.at_call(self.reporter.call_id)
        if arguments.todos is None:
            return ToolOutcome(todos.to_json_lines())
        todos.update(arguments.todos, should_merge=arguments.merge)
        await self.reporter.emit(todos.to_plan())
        open_count = sum(item.status in {"pending", "in_progress"} for item in todos.items)
        text = todos.to_json_lines() if arguments.merge else f"{len(todos.items)} items"
        return ToolOutcome(f"{text}; {open_count} open")


def todo_list_from(messages: Iterable[Message]) -> TodoList:
    """Rebuild the list by replaying the successful `todo` calls of a conversation."""
    todos = TodoList()
    parts = [part for message in messages for part in message.parts]
    schema = ToolSchema(NAME, json_schema_of(TodoArguments))
    failed = {part.call_id for part in parts if isinstance(part, ToolResult) and part.is_error}
    for part in parts:
        if not isinstance(part, ToolCall) or part.id in failed:
            continue
        meant = find_tool(part.name, (NAME,))
        if meant.name == NAME:
            with suppress(ValueError):  # the original call failed too
                values = translate(meant, schema, parse_arguments(part)).values
                arguments = validate_arguments(TodoArguments, values)
                if arguments.todos is not None:
                    todos.update(arguments.todos, should_merge=arguments.merge)
    return todos


def _messages_before(messages: Iterable[Message], call_id: str) -> Iterator[Message]:
    for message in messages:
        if any(isinstance(part, ToolCall) and part.id == call_id for part in message.parts):
            return
        yield message


def restate_todos(messages: Sequence[Message]) -> Sequence[Message]:
    """Return a `todo` call with the list that messages leave, for when they are removed."""
    items = [item.model_dump() for item in todo_list_from(messages).items]
    if not items:
        return ()
    arguments = json.dumps({"todos": items}, ensure_ascii=False)
    call = ToolCall(f"todo-{sha256(arguments.encode()).hexdigest()[:16]}", NAME, arguments)
    result = ToolResult(call.id, f"{len(items)} items")
    return (AssistantMessage((call,)), UserMessage((result,)))


def todo_tool(messages: Iterable[Message] = ()) -> Tool:
    """Return the tool, with a list that continues the one in a conversation."""
    todos = ConversationTodos(messages)
    spec = build_spec(NAME, DESCRIPTION, TodoArguments)
    return Tool(spec, "think", "Plan", lambda report: TodoUse(todos, report))
