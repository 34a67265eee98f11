"""How sections become a prompt: their order, their joints, what is reported of them."""

import doctest
from datetime import date
from types import ModuleType

import pytest

from prompt_engine import assemble, context_windows, memory_entries, model_families, report, section
from prompt_engine.assemble import SECTION_WRITERS, build_prompt
from prompt_engine.facts import PromptFacts, SourcedText
from prompt_engine.report import PromptReport, SectionReport, build_report
from prompt_engine.section import PromptSection
from prompt_engine.sections import day_and_model, memory, platform_hint
from prompt_engine.sources import environment
from tests.prompt_engine.golden.situations import FULL, SITUATIONS
from tests.support.case_table import each_case
from tests.support.user_texts import NO_SUCH_FILE

EXAMPLES = (
    *(
        assemble,
        model_families,
        report,
        section,
        context_windows,
        memory,
        day_and_model,
        platform_hint,
    ),
    *(environment, memory_entries),
)

FULL_ORDER = (
    *("soul", "identity"),
    *("memory", "session_search", "skills", "planning"),
    *("finishing", "parallel_calls", "steering", "subfolders", "task_board"),
    *("enforcement", "enforcement_family", "skills_index", "environment", "platform_hint"),
    *("system_message", "project_context", "context_file", "workspace"),
    *("memory", "user", "external_memory", "day", "session_id", "model"),
)


@each_case("module", EXAMPLES, ids=lambda module: module.__name__)
def test_the_documentation_examples_are_correct(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


def test_sections_are_in_order() -> None:
    names = [entry.name for entry in build_prompt(FULL).report.entries]
    assert names == [name for name in FULL_ORDER if name != "soul"]


@each_case("name", SITUATIONS)
def test_tiers_are_contiguous(name: str) -> None:
    facts = SITUATIONS[name]
    tiers = [part.tier for write in SECTION_WRITERS for part in write(facts)]
    assert tiers == sorted(tiers, key=("stable", "context", "volatile").index)


def test_the_text_is_the_tiers_joined_by_blank_lines() -> None:
    prompt = build_prompt(FULL)
    assert prompt.text == f"{prompt.stable}\n\n{prompt.context}\n\n{prompt.volatile}"


def test_a_prompt_without_context_has_two_tiers() -> None:
    prompt = build_prompt(PromptFacts(day=date(2026, 11, 21), model=""))
    assert prompt.context == ""
    assert prompt.text == f"{prompt.stable}\n\nToday is Saturday, November 21, 2026."


def test_white_space_around_a_section_is_stripped() -> None:
    facts = PromptFacts(
        date(2026, 11, 21), "m", system_message=SourcedText("\n\n  Be kind.\n\n", "config")
    )
    assert build_prompt(facts).context == "Be kind."


def test_a_blank_section_is_dropped_and_not_reported() -> None:
    facts = PromptFacts(date(2026, 11, 21), "m", external_memory=SourcedText(" \n", "provider"))
    names = [entry.name for entry in build_prompt(facts).report.entries]
    assert names == ["identity", "platform_hint", "day", "model"]


def test_an_empty_section_with_a_status_is_reported() -> None:
    late = SourcedText("", "example", "dropped", "it took more than 2 s")
    facts = PromptFacts(date(2026, 11, 21), "m", external_memory=late)
    noticed = [entry for entry in build_prompt(facts).report.entries if entry.notice]
    assert noticed == [
        SectionReport(
            "external_memory", "volatile", "example", 0, 0, "dropped", "it took more than 2 s"
        )
    ]
    assert noticed[0].notice == "example was dropped: it took more than 2 s"


SECTIONS = (
    PromptSection("identity", "stable", "Be kind."),
    PromptSection("soul", "stable", "", "SOUL.md", "absent", NO_SUCH_FILE),
    PromptSection("day", "volatile", "Today is Día."),
)


def test_a_report_counts_characters_and_estimates_tokens_from_bytes() -> None:
    found = build_report(SECTIONS)
    assert found == PromptReport(
        (
            SectionReport("identity", "stable", "", 8, 4, "kept", ""),
            SectionReport("soul", "stable", "SOUL.md", 0, 0, "absent", NO_SUCH_FILE),
            SectionReport("day", "volatile", "", 13, 6, "kept", ""),
        )
    )
    assert found.characters == 8 + 2 + 13
    assert found.estimated_tokens == 10


def test_the_json_report_is_complete() -> None:
    assert build_report(SECTIONS[:1]).as_json() == {
        "characters": 8,
        "estimated_tokens": 4,
        "sections": [
            {
                "name": "identity",
                "tier": "stable",
                "source": "",
                "characters": 8,
                "estimated_tokens": 4,
                "fate": "kept",
                "reason": "",
            }
        ],
    }


@pytest.mark.parametrize(
    ("entry", "notice"),
    [
        (SectionReport("day", "volatile", "", 1, 1, "kept", ""), ""),
        (SectionReport("soul", "stable", "S", 0, 0, "absent", "no such file"), "S: no such file"),
        (
            SectionReport("soul", "stable", "S", 9, 4, "truncated", "3 of 9"),
            "S was truncated: 3 of 9",
        ),
        (SectionReport("workspace", "context", "", 0, 0, "dropped", ""), "workspace was dropped"),
    ],
    ids=["kept", "absent", "truncated", "without a source or reason"],
)
def test_a_notice_names_the_source_and_its_outcome(entry: SectionReport, notice: str) -> None:
    assert entry.notice == notice
