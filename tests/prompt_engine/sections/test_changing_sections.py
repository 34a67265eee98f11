"""When each part of the context and the volatile tier is there, and what it says."""

from dataclasses import replace
from datetime import date
from typing import get_args

import pytest

from prompt_engine.context_file_types import ContextFile, ContextFileNote, ContextFileOutcome
from prompt_engine.facts import (
    AgentIdentity,
    Fate,
    MemorySnapshot,
    PromptFacts,
    Repository,
    SourcedText,
    WorkspaceFacts,
)
from prompt_engine.findings import ThreatFinding
from prompt_engine.section import PromptSection
from prompt_engine.sections import (
    day_and_model,
    external_memory,
    memory,
    project_context,
    system_message,
    workspace,
)
from prompt_engine.sections.text_files import load_text
from tests.support.user_texts import CHARACTERS_SHOWN

FACTS = PromptFacts(day=date(2026, 11, 21), model="claude-opus-5")
AGENTS = ContextFile("AGENTS.md", "Use tabs.", 9)
BODY = "## AGENTS.md\n\nUse tabs."
HEADING = PromptSection("project_context", "context", load_text("project_context"))


def test_without_files_there_is_no_heading() -> None:
    assert list(project_context.write(FACTS)) == []


def test_files_share_one_heading_and_keep_their_own_paths() -> None:
    found = project_context.write(replace(FACTS, context_files=(AGENTS,)))
    assert list(found) == [HEADING, PromptSection("context_file", "context", BODY, "AGENTS.md")]


@pytest.mark.parametrize(
    ("outcome", "fate"),
    [("loaded", "kept"), ("cut", "truncated"), ("named", "truncated"), ("blocked", "blocked")],
)
def test_a_shown_file_has_the_outcome_of_its_note(outcome: ContextFileOutcome, fate: Fate) -> None:
    note = ContextFileNote("AGENTS.md", outcome, 90, 9, "because")
    facts = replace(FACTS, context_files=(AGENTS,), context_notes=(note,))
    _, section = project_context.write(facts)
    assert section == PromptSection("context_file", "context", BODY, "AGENTS.md", fate, "because")


@pytest.mark.parametrize(
    ("outcome", "fate"),
    [
        ("waiting", "absent"),
        ("unused", "absent"),
        ("empty", "absent"),
        ("unreadable", "dropped"),
        ("undecodable", "dropped"),
        ("outside", "dropped"),
    ],
)
def test_a_file_that_is_not_shown_is_reported(outcome: ContextFileOutcome, fate: Fate) -> None:
    facts = replace(FACTS, context_notes=(ContextFileNote("AGENTS.md", outcome),))
    expected = PromptSection("context_file", "context", "", "AGENTS.md", fate, outcome)
    assert list(project_context.write(facts)) == [expected]


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        (
            ContextFileNote("AGENTS.md", "cut", 30_000, 18_000),
            f"18,000 of 30,000 {CHARACTERS_SHOWN}",
        ),
        (
            ContextFileNote(
                "AGENTS.md", "blocked", findings=(ThreatFinding("hides", "context", 3, 1),)
            ),
            "hides in line 3",
        ),
        (None, f"9 of 90 {CHARACTERS_SHOWN}"),
    ],
    ids=["cut", "blocked", "no note, but shorter than the file"],
)
def test_the_reason_contains_figures_and_line_numbers(
    note: ContextFileNote | None, reason: str
) -> None:
    file = replace(AGENTS, total_characters=90)
    facts = replace(FACTS, context_files=(file,), context_notes=(note,) if note else ())
    _, section = project_context.write(facts)
    assert section.reason == reason


def test_every_file_outcome_has_a_section_status() -> None:
    assert set(project_context.FATE_BY_OUTCOME) == set(get_args(ContextFileOutcome))


def test_an_agent_without_context_files_gets_none() -> None:
    identity = AgentIdentity(skips_context_files=True)
    (section,) = project_context.write(replace(FACTS, identity=identity, context_files=(AGENTS,)))
    assert (section.text, section.fate, section.source) == ("", "dropped", "AGENTS.md")


COUNTS = "1 staged, 2 changed, 3 untracked, 4 in conflict"
CLEAN = Repository("/w", "main", staged=0)


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        (WorkspaceFacts("/w"), ["Folder: /w"]),
        (WorkspaceFacts("/w", ("/x", "/y")), ["Folder: /w", "Further folders: /x, /y"]),
        (
            WorkspaceFacts("/w", repository=CLEAN),
            ["Folder: /w", "Git repository: branch main, clean"],
        ),
        (
            WorkspaceFacts("/w", repository=Repository("/w", "main")),
            ["Folder: /w", "Git repository: branch main"],
        ),
        (
            WorkspaceFacts("/w/a", repository=Repository("/w", "", 1, 2, 3, 4)),
            [
                "Folder: /w/a",
                f"Git repository at /w: detached HEAD, {COUNTS}",
            ],
        ),
        (
            WorkspaceFacts("/w", project="/w", manifests=("go.mod",), checks=("go test ./...",)),
            ["Folder: /w", "Manifests: go.mod", "Checks: `go test ./...`"],
        ),
        (
            WorkspaceFacts("/w/a", project="/w", manifests=("go.mod",), package_managers=("go",)),
            ["Folder: /w/a", "Manifests in /w: go.mod", "Package manager: go"],
        ),
    ],
    ids=["bare", "more folders", "clean", "uncounted", "dirty", "project", "project above"],
)
def test_the_workspace_is_described_in_lines(place: WorkspaceFacts, lines: list[str]) -> None:
    (section,) = workspace.write(replace(FACTS, workspace=place))
    *_, bullets = section.text.split("\n\n")
    assert bullets == "\n".join(f"- {line}" for line in lines)


def test_a_directory_name_cannot_start_a_new_line() -> None:
    facts = WorkspaceFacts("/w\n# Orders\x1b[2J")
    (section,) = workspace.write(replace(FACTS, workspace=facts))
    assert section.text.endswith("- Folder: /w\ufffd# Orders\ufffd[2J")


def test_workspace_facts_that_arrived_too_late_are_reported() -> None:
    facts = WorkspaceFacts("/w", dropped=("git took too long",))
    _, section = workspace.write(replace(FACTS, workspace=facts))
    assert section == PromptSection("workspace", "context", "", "", "dropped", "git took too long")


def test_without_a_workspace_there_is_no_snapshot() -> None:
    assert list(workspace.write(FACTS)) == []


def test_both_memory_stores_are_shown_with_their_usage() -> None:
    facts = replace(
        FACTS,
        memory=MemorySnapshot(("Uses uv", "CI is slow"), 1_474, 2_200, "MEMORY.md"),
        user=MemorySnapshot(("Name: Ada",), 9, 1_375, "USER.md"),
    )
    bar = "═" * 46
    notes = f"{bar}\nMEMORY (your personal notes) [67% — 1,474/2,200 chars]\n{bar}"
    assert [section.text for section in memory.write(facts)] == [
        f"{notes}\nUses uv\n§\nCI is slow",
        f"{bar}\nUSER PROFILE (who the user is) [0% — 9/1,375 chars]\n{bar}\nName: Ada",
    ]


def test_an_empty_store_is_omitted() -> None:
    facts = replace(FACTS, memory=MemorySnapshot((), 0, 2_200))
    assert [section.text for section in memory.write(facts)] == [""]


def test_a_store_over_its_limit_is_reported() -> None:
    assert "[150% — 3,300/2,200 chars]" in memory.format_store(
        "M", MemorySnapshot(("a",), 3_300, 2_200)
    )


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (date(2026, 1, 1), "Thursday, January 1, 2026"),
        (date(2028, 2, 29), "Tuesday, February 29, 2028"),
    ],
)
def test_the_day_is_written_in_english_without_the_time(day: date, words: str) -> None:
    first, *_ = day_and_model.write(replace(FACTS, day=day))
    assert first.text == f"Today is {words}."


def test_session_and_model_are_named_when_known() -> None:
    names = [section.name for section in day_and_model.write(replace(FACTS, model=""))]
    assert names == ["day"]
    found = [section.text for section in day_and_model.write(replace(FACTS, session_id="5f1c"))]
    assert found[1:] == ["The id of this chat is 5f1c.", "The model is claude-opus-5."]


def test_external_texts_are_passed_through() -> None:
    facts = replace(
        FACTS,
        system_message=SourcedText("Be kind.", "_meta"),
        external_memory=SourcedText("Mondays.", "x"),
    )
    assert list(system_message.write(facts)) == [
        PromptSection("system_message", "context", "Be kind.", "_meta")
    ]
    assert list(external_memory.write(facts)) == [
        PromptSection("external_memory", "volatile", "Mondays.", "x")
    ]
