"""When each part of the stable tier is there, and when it is not."""

from dataclasses import replace
from datetime import date

import pytest

from prompt_engine.facts import (
    AgentIdentity,
    HintOverride,
    MachineFacts,
    PromptFacts,
    SourcedText,
    SteeringMarker,
    ToolUseEnforcement,
)
from prompt_engine.section import PromptSection
from prompt_engine.sections import (
    enforcement,
    environment,
    guidance,
    identity,
    platform_hint,
    skills_index,
)
from prompt_engine.sections.text_files import load_text

FACTS = PromptFacts(day=date(2026, 11, 21), model="claude-opus-5")
BUILT_IN = PromptSection("identity", "stable", load_text("identity"))
SOUL = SourcedText("You are Ada's engineer.", "SOUL.md")
BLOCKED = SourcedText("[blocked]", "SOUL.md", "blocked", "hide-from-user in line 1")
SKIPPED = PromptSection("soul", "stable", "", "SOUL.md", "dropped", identity.SKIPPED_REASON)


@pytest.mark.parametrize(
    ("who", "sections"),
    [
        (AgentIdentity(), [PromptSection("soul", "stable", ""), BUILT_IN]),
        (AgentIdentity(SOUL), [PromptSection("soul", "stable", SOUL.text, "SOUL.md")]),
        (
            AgentIdentity(BLOCKED),
            [PromptSection("soul", "stable", "", "SOUL.md", "blocked", BLOCKED.reason), BUILT_IN],
        ),
        (AgentIdentity(SOUL, skips_context_files=True), [SKIPPED, BUILT_IN]),
        (
            AgentIdentity(SOUL, skips_context_files=True, loads_soul=True),
            [PromptSection("soul", "stable", SOUL.text, "SOUL.md")],
        ),
        (
            AgentIdentity(SOUL, custom_text="You review."),
            [PromptSection("identity", "stable", "You review.")],
        ),
    ],
    ids=["none", "soul", "blocked", "sub-agent", "sub-agent with soul", "caller's own"],
)
def test_the_first_available_identity_is_used(
    who: AgentIdentity, sections: list[PromptSection]
) -> None:
    assert list(identity.write(replace(FACTS, identity=who))) == sections


@pytest.mark.parametrize(
    ("who", "text"),
    [
        (AgentIdentity(SOUL), None),
        (AgentIdentity(SOUL, custom_text="You review."), "## SOUL.md\n\nYou are Ada's engineer."),
        (AgentIdentity(SOUL, custom_text="You review.", skips_context_files=True), ""),
        (AgentIdentity(custom_text="You review."), ""),
    ],
    ids=["is the identity", "behind the caller's", "skipped", "missing"],
)
def test_soul_md_follows_the_project_when_the_caller_has_an_identity(
    who: AgentIdentity, text: str | None
) -> None:
    found = list(identity.write_soul_after_project(replace(FACTS, identity=who)))
    assert [section.text for section in found] == ([] if text is None else [text])


ALWAYS = ["finishing", "parallel_calls", "steering", "subfolders"]


@pytest.mark.parametrize(
    ("tools", "pieces"),
    [
        ((), []),
        (("read_file",), ALWAYS),
        (("memory",), ["memory", *ALWAYS]),
        (("session_search",), ["session_search", *ALWAYS]),
        (("skill_view",), ALWAYS),
        (("skill_manage",), ["skills", *ALWAYS]),
        (("todo",), ["planning", *ALWAYS]),
        (("kanban_show",), [*ALWAYS, "task_board"]),
        (("todo", "memory"), ["memory", "planning", *ALWAYS]),
    ],
    ids=[
        *("no tools", "any tool", "memory", "session_search", "skill_view", "skill_manage"),
        *("todo", "kanban_show", "two tools"),
    ],
)
def test_a_guidance_section_needs_its_tool(tools: tuple[str, ...], pieces: list[str]) -> None:
    found = guidance.write(replace(FACTS, tools=frozenset(tools)))
    assert [section.name for section in found] == pieces


def test_a_task_board_worker_gets_only_the_worker_text() -> None:
    facts = replace(FACTS, tools=frozenset({"kanban_show"}), board=SourcedText("Task 7.", "kanban"))
    *_, last = guidance.write(facts)
    assert last == PromptSection("task_board", "stable", "Task 7.", "kanban")


def test_the_steering_marker_is_named_when_needed() -> None:
    marked = replace(FACTS, tools=frozenset({"todo"}), steering=SteeringMarker("[USER]", "[/USER]"))
    (text,) = (part.text for part in guidance.write(marked) if part.name == "steering")
    assert "\n\n[USER]\n[/USER]\n\n" in text
    assert "{" not in text


@pytest.mark.parametrize(
    ("model", "setting", "sections"),
    [
        ("claude-opus-5", "auto", []),
        ("openai/GPT-5.2", "auto", ["enforcement", "enforcement_openai"]),
        ("gpt-5-codex", "auto", ["enforcement", "enforcement_openai"]),
        ("x-ai/grok-4", "auto", ["enforcement", "enforcement_openai"]),
        ("gemini-3-pro", "auto", ["enforcement", "enforcement_google"]),
        ("gemma-3-27b", "auto", ["enforcement", "enforcement_google"]),
        ("glm-5", "auto", ["enforcement"]),
        ("qwen3-coder", "auto", ["enforcement"]),
        ("deepseek-chat", "auto", ["enforcement"]),
        ("claude-opus-5", True, ["enforcement"]),
        ("gpt-5.2", False, []),
        ("claude-opus-5", ("Opus", "llama"), ["enforcement"]),
        ("gpt-5.2", ("opus",), []),
        ("gpt-5.2", (), []),
        ("gpt-5.2", ("",), []),
    ],
)
def test_enforcement_depends_on_the_model_and_the_setting(
    model: str, setting: ToolUseEnforcement, sections: list[str]
) -> None:
    facts = replace(FACTS, model=model, enforcement=setting, tools=frozenset({"todo"}))
    assert [part.text for part in enforcement.write(facts)] == [
        load_text(name) for name in sections
    ]


def test_enforcement_is_omitted_without_tools() -> None:
    assert list(enforcement.write(replace(FACTS, model="gpt-5.2"))) == []


@pytest.mark.parametrize("tool", sorted(skills_index.SKILL_TOOLS))
def test_the_skill_index_needs_any_skills_tool(tool: str) -> None:
    facts = replace(FACTS, skills_index=SourcedText("## Skills"), tools=frozenset({tool}))
    assert list(skills_index.write(facts)) == [PromptSection("skills_index", "stable", "## Skills")]


def test_a_skill_index_without_a_skills_tool_does_not_apply() -> None:
    facts = replace(FACTS, skills_index=SourcedText("## Skills"), tools=frozenset({"todo"}))
    assert list(skills_index.write(facts)) == [
        PromptSection("skills_index", "stable", "", "", "absent", "no skills tool is present")
    ]


@pytest.mark.parametrize(
    ("machine", "lines"),
    [
        (MachineFacts("macOS 15.1", "arm64", "zsh"), ["macOS 15.1, arm64, shell zsh."]),
        (MachineFacts("Linux", container="docker"), ["Linux, inside a container (docker)."]),
        (
            MachineFacts("Linux", ci_service="GitHub Actions"),
            ["Linux, in continuous integration (GitHub Actions)."],
        ),
        (MachineFacts("Linux", is_wsl=True), ["Linux.", load_text("wsl")]),
        (MachineFacts("Linux", is_termux=True), ["Linux.", load_text("termux")]),
        (MachineFacts(python="Python has no pip here."), ["Python has no pip here."]),
    ],
    ids=["plain", "container", "automation", "wsl", "termux", "python"],
)
def test_the_machine_is_described_in_lines(machine: MachineFacts, lines: list[str]) -> None:
    (section,) = environment.write(replace(FACTS, environment=machine))
    assert section.text == "## Environment\n\n" + "\n".join(lines)


def test_an_unknown_machine_has_no_heading() -> None:
    assert list(environment.write(FACTS)) == []


def test_the_active_profile_and_its_limits_are_described() -> None:
    (section,) = environment.write(replace(FACTS, environment=MachineFacts(profile="work")))
    assert "The active profile is `work`." in section.text


@pytest.mark.parametrize("provider", ["alibaba", "Alibaba-Coding"])
def test_a_renamed_model_is_corrected_for_its_provider(provider: str) -> None:
    (section,) = environment.write(replace(FACTS, provider=provider))
    assert "You are the model `claude-opus-5`" in section.text


def test_user_hints_come_last_in_separate_sections() -> None:
    hints = (
        SourcedText("One.", "HERMES_ENVIRONMENT_HINT"),
        SourcedText("Two.", "agent.environment_hint"),
    )
    found = environment.write(replace(FACTS, environment=MachineFacts("Linux", hints=hints)))
    assert [part.text for part in found] == ["## Environment\n\nLinux.", "One.", "Two."]


@pytest.mark.parametrize("platform", sorted(platform_hint.PLATFORMS))
def test_every_registered_platform_has_a_hint(platform: str) -> None:
    text = platform_hint.platform_hint(platform)
    assert text
    assert ("MEDIA:" in text) == (platform in platform_hint.PLATFORMS_WITH_FILES)


@pytest.mark.parametrize(
    ("override", "text"),
    [
        (HintOverride(), platform_hint.platform_hint("cli")),
        (HintOverride(replace="Sing."), "Sing."),
        (HintOverride(append="Sing."), f"{platform_hint.platform_hint('cli')}\n\nSing."),
        (HintOverride("Sing.", "Loudly."), "Sing.\n\nLoudly."),
    ],
    ids=["none", "replace", "append", "both"],
)
def test_settings_replace_or_append_to_a_hint(override: HintOverride, text: str) -> None:
    overrides = {"cli": override, "acp": HintOverride("No.")}
    (section,) = platform_hint.write(replace(FACTS, platform="cli", hint_overrides=overrides))
    assert section.text == text


def test_a_platform_without_a_hint_is_reported_unless_settings_provide_one() -> None:
    unknown = replace(FACTS, platform="fax")
    (section,) = platform_hint.write(unknown)
    assert (section.text, section.reason) == ("", "there is no hint for fax")
    overridden = replace(unknown, hint_overrides={"fax": HintOverride("Sing.")})
    (section,) = platform_hint.write(overridden)
    assert section == PromptSection("platform_hint", "stable", "Sing.", "platform_hints.fax")
