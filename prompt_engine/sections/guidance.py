"""Guidance for the available tools: one section each, none for an absent tool."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.section import Section, section_of
from prompt_engine.sections.text_files import prose

BY_TOOL = (
    ("memory", "memory"),
    ("session_search", "session_search"),
    ("skills", "skill_manage"),
    ("planning", "todo"),
)
"""Guidance that depends on one tool: (section name, tool name)."""

BOARD_TOOL = "kanban_show"


def write(facts: Facts) -> Iterator[Section]:
    """Yield the guidance in fixed order; without tools there is none."""
    for piece, tool in BY_TOOL:
        if tool in facts.tools:
            yield _piece(piece, prose(f"guidance/{piece}"))
    if facts.tools:
        yield _piece("finishing", prose("guidance/finishing"))
        yield _piece("parallel_calls", prose("guidance/parallel_calls"))
        yield _piece("steering", _steering(facts))
        yield _piece("subfolders", prose("guidance/subfolders"))
    yield from _board(facts)


def _piece(name: str, text: str) -> Section:
    return Section(name, "stable", text)


def _steering(facts: Facts) -> str:
    marker = facts.steering
    if marker is None:
        return prose("guidance/steering_block")
    text = prose("guidance/steering_marker")
    return text.replace("{opening}", marker.opening).replace("{closing}", marker.closing)


def _board(facts: Facts) -> Iterator[Section]:
    """Yield the worker's task-board text if there is one, else the built-in text for the leader."""
    if facts.board.text.strip() or facts.board.fate != "kept":
        yield section_of("task_board", "stable", facts.board)
    elif BOARD_TOOL in facts.tools:
        yield _piece("task_board", prose("guidance/task_board"))
