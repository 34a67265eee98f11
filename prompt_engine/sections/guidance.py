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
    for name, tool in GUIDANCE_BY_TOOL:
        if tool in facts.tools:
            yield _guidance_section(name)
    if facts.tools:
        yield _guidance_section("finishing")
        yield _guidance_section("parallel_calls")
        steering = load_text(f"guidance/steering_{'marker' if facts.steering else 'block'}")
        if facts.steering:
            steering = steering.replace("{opening}", facts.steering.opening)
            steering = steering.replace("{closing}", facts.steering.closing)
        yield PromptSection("steering", "stable", steering)
        yield _guidance_section("subfolders")
    # The worker's task-board text if there is one, else the built-in text for the leader.
    if facts.board.text.strip() or facts.board.fate != "kept":
        yield section_from("task_board", "stable", facts.board)
    elif BOARD_TOOL in facts.tools:
        yield _guidance_section("task_board")


def _guidance_section(name: str) -> PromptSection:
    return PromptSection(name, "stable", load_text(f"guidance/{name}"))
