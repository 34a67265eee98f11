"""A prompt for a small context window: what is cut, and what the user hears of it."""

from datetime import date

import pytest

from prompt_engine.assemble import build_prompt
from prompt_engine.context_file_types import ContextFile
from prompt_engine.facts import MemorySnapshot, PromptFacts, SourcedText


def facts(window_tokens: int | None) -> PromptFacts:
    """Return facts with long and short texts."""
    return PromptFacts(
        day=date(2026, 11, 21),
        model="small",
        tools=frozenset({"skills_list", "memory"}),
        window_tokens=window_tokens,
        skills_index=SourcedText("a skill, " * 2_000),
        context_files=(ContextFile("/w/AGENTS.md", "Use tabs. " * 3_000, 30_000),),
        memory=MemorySnapshot(("The port is 2222.",), 17, 2_200),
    )


def test_without_a_known_window_nothing_is_cut() -> None:
    assert len(build_prompt(facts(None)).text) > 45_000


@pytest.mark.parametrize("window", [8_000, 16_000, 32_000])
def test_a_prompt_takes_at_most_a_quarter_of_a_known_window(window: int) -> None:
    prompt = build_prompt(facts(window))
    assert len(prompt.text) / 3 <= window / 4
    assert "The port is 2222." in prompt.text
    cut = {entry.source or entry.name for entry in prompt.report.entries if entry.fate != "kept"}
    assert {"/w/AGENTS.md", "skills_index"} >= cut
    assert "/w/AGENTS.md" in cut
    assert any(entry.fate == "shortened" for entry in prompt.report.entries)


def test_a_large_window_changes_nothing() -> None:
    assert build_prompt(facts(1_000_000)).text == build_prompt(facts(None)).text
