"""What the user is told of a prompt that does not hold everything."""

from datetime import date

from acp_server.session.prompting.context_messages import prompt_notices
from prompt_engine.assemble import build_prompt
from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.facts import MemorySnapshot, PromptFacts, SourcedText, WorkspaceFacts

NOTE = ContextFileNote("AGENTS.md", "cut", 30_000, 20_000)


def small_facts(*tools: str) -> PromptFacts:
    """Return facts that are too long for a window of 8,000 tokens."""
    return PromptFacts(
        day=date(2026, 11, 21),
        model="small",
        tools=frozenset(tools),
        window_tokens=8_000,
        skills_index=SourcedText("a skill, " * 2_000),
        context_files=(ContextFile("AGENTS.md", "Use tabs. " * 2_000, 30_000),),
        context_notes=(NOTE,),
        memory=MemorySnapshot(("The port is 2222.",), 17, 2_200),
        workspace=WorkspaceFacts("/w", dropped=("git took too long: counts",)),
    )


def notices_for(*tools: str) -> list[str]:
    """Return the notices about these facts."""
    return prompt_notices(build_prompt(small_facts(*tools)).report.entries, (NOTE,))


def test_one_notice_names_everything_that_was_shortened_for_a_small_window() -> None:
    (notice,) = notices_for("skills_list")
    beginning = "To fit the model's context window, it sees only part of the list of skills ("
    assert notice.startswith(beginning)
    assert "AGENTS.md (" in notice
    assert notice.endswith(" of 30,000 characters)")


def test_a_list_of_skills_that_no_tool_could_open_is_not_missed() -> None:
    (notice,) = notices_for()
    assert "skills" not in notice
