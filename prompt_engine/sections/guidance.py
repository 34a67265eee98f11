"""Guidance for the available tools: one section each, none for an absent tool."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection, section_from
from prompt_engine.sections.text_files import load_text

GUIDANCE_BY_TOOL = (
    ("memory", "memory"),
    ("session_search", "session_search"),
    ("skills", "skill_manage"),
    ("planning", "todo"),
)
"""Guidance that depends on one tool: (section name, tool name)."""

BOARD_TOOL = "kanban_show"


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the guidance in fixed order; without tools there is none."""
    for piece, tool in GUIDANCE_BY_TOOL:
        if tool in facts.tools:
            yield _guidance_section(piece, load_text(f"guidance/{piece}"))
    if facts.tools:
        yield _guidance_section("finishing", load_text("guidance/finishing"))
        yield _guidance_section("parallel_calls", load_text("guidance/parallel_calls"))
        yield _guidance_section("steering", _steering_text(facts))
        yield _guidance_section("subfolders", load_text("guidance/subfolders"))
    yield from _task_board_section(facts)


def _guidance_section(name: str, text: str) -> PromptSection:
    return PromptSection(name, "stable", text)


def _steering_text(facts: PromptFacts) -> str:
    marker = facts.steering
    if marker is None:
        return load_text("guidance/steering_block")
    text = load_text("guidance/steering_marker")
    return text.replace("{opening}", marker.opening).replace("{closing}", marker.closing)


def _task_board_section(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the worker's task-board text if there is one, else the built-in text for the leader."""
    if facts.board.text.strip() or facts.board.fate != "kept":
        yield section_from("task_board", "stable", facts.board)
    elif BOARD_TOOL in facts.tools:
        yield _guidance_section("task_board", load_text("guidance/task_board"))
