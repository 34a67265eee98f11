"""Reports on tasks: for the model when they have ended, for the user also while they run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from acp_server.subagents.gate import task_name
from acp_server.subagents.task import TaskProgress, billable_tokens

MAX_CHARACTERS = 24_000
"""Length limit of all summaries of a call together."""
MIN_CHARACTERS = 2_000
"""Length that each summary may have, however many there are."""
TRUNCATION_MARKER = "[… {left:,} characters are left out …]"
MAX_FILES = 20
UNFINISHED = {"waiting": "not begun", "working": "not finished"}
NO_SUMMARY = "It said nothing."

ShowPath = Callable[[Path], str]
"""Returns a path as shown to the model and the user."""


def render_report(tasks: Sequence[TaskProgress], show_path: ShowPath) -> str:
    """Return the results of tasks, in their order."""
    max_characters = max(MAX_CHARACTERS // len(tasks), MIN_CHARACTERS)
    return "\n\n".join(_render_task(each, show_path, max_characters) for each in tasks)


def render_overview_lines(tasks: Sequence[TaskProgress]) -> str:
    """Return a line with the current state of each task."""
    lines: list[str] = []
    for each in tasks:
        name = _capitalize(_name(each))
        latest = f"; {each.latest}" if each.state == "working" and each.latest else ""
        lines.append(f"- {name}: {each.state}{latest}")
    return "\n".join(lines)


def results_as_json(tasks: Sequence[TaskProgress]) -> list[JsonValue]:
    """Return the results of tasks as JSON."""
    return [
        {
            "task": each.task.number,
            **({"agent": each.task.agent_name} if each.task.agent else {}),
            "state": each.state,
            "model_calls": each.totals.requests,
            "tokens": billable_tokens(each.totals.usage),
            "cost_usd": each.totals.cost_usd,
            "changed": [*each.changed],
        }
        for each in tasks
    ]


def _render_task(progress: TaskProgress, show_path: ShowPath, max_characters: int) -> str:
    task, totals = progress.task, progress.totals
    cost = "" if totals.cost_usd is None else f", ${totals.cost_usd:.4f}"
    calls = "1 model call" if totals.requests == 1 else f"{totals.requests} model calls"
    tokens = f"{billable_tokens(totals.usage):,} tokens"
    state = UNFINISHED.get(progress.state, progress.state)
    reason = f" ({progress.reason})" if progress.reason else ""
    summary = NO_SUMMARY if progress.state == "done" and not progress.summary else progress.summary
    parts = (
        f"## {_capitalize(_name(progress))}",
        f"{_capitalize(state)}{reason}; {calls}, {tokens}{cost}.",
        _render_changes(progress, show_path),
        "\n".join((*task.notes, *progress.notes)),
        _truncate_middle(summary, max_characters),
    )
    return "\n\n".join(part for part in parts if part)


def _render_changes(progress: TaskProgress, show_path: ShowPath) -> str:
    """Return the known changes of a task."""
    names = [show_path(Path(path)) for path in progress.changed]
    more = len(names) - MAX_FILES
    files = ", ".join(names[:MAX_FILES]) + (f" and {more} more" if more > 0 else "")
    commands = f"Commands run: {progress.commands}." if progress.commands else ""
    return " ".join(part for part in (f"Changed: {files}." if names else "", commands) if part)


def _truncate_middle(text: str, max_characters: int) -> str:
    """Return a text, with its middle cut out if it is too long."""
    if len(text) <= max_characters:
        return text
    head, tail = text[: max_characters * 2 // 3], text[-max_characters // 3 :]
    omitted = len(text) - len(head) - len(tail)
    return f"{head}\n{TRUNCATION_MARKER.format(left=omitted)}\n{tail}"


def _name(progress: TaskProgress) -> str:
    task = progress.task
    return task_name(task.number, task.goal, task.agent_name)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
