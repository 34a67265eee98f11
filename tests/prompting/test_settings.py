"""The user's files and settings reach the system prompt, through a `config.yaml` as it is read."""

from pathlib import Path

import pytest

from acp_server.server.config_mapping import prompt_config
from acp_server.session.prompting.provider import SystemPromptRequest
from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider
from acp_server.session.workspace import SessionWorkspace
from prompt_engine.sections.memory import SEPARATOR_BAR
from prompt_engine.sections.text_files import load_text
from tests.prompting.prompted_session import write_file
from tests.support.editor import make_configuration
from tests.support.user_texts import CHARACTERS_SHOWN

WINDOW_TOKENS = 200_000


async def system_prompt(
    folder: Path,
    config: str = "",
    *,
    model_id: str = "test",
    tools: tuple[str, ...] = ("terminal",),
    window_tokens: int | None = WINDOW_TOKENS,
) -> str:
    """Return the system prompt of a session, with this `config.yaml`."""
    home, cwd = folder / "home", folder / "workspace"
    for each in (home, cwd):
        each.mkdir(exist_ok=True)
    write_file(home / "config.yaml", config)
    provider = WorkspacePromptProvider(
        prompt_config(make_configuration(home)), SessionWorkspace(cwd)
    )
    return await provider.write_prompt(
        SystemPromptRequest(model_id, window_tokens, frozenset(tools))
    )


async def test_soul_md_replaces_the_identity(tmp_path: Path) -> None:
    assert (await system_prompt(tmp_path)).startswith(load_text("identity"))
    write_file(tmp_path / "home/SOUL.md", "You are Ada's gardener.\n")
    text = await system_prompt(tmp_path)
    assert text.startswith("You are Ada's gardener.\n\n")
    assert load_text("identity") not in text


@pytest.mark.parametrize("soul", ["", "  \n"], ids=["empty", "blank"])
async def test_an_empty_soul_md_keeps_the_default_identity(tmp_path: Path, soul: str) -> None:
    write_file(tmp_path / "home/SOUL.md", soul)
    assert (await system_prompt(tmp_path)).startswith(load_text("identity"))


async def test_memory_is_shown_between_bars(tmp_path: Path) -> None:
    write_file(tmp_path / "home/memories/MEMORY.md", "Tests run with just.\n§\nNo tabs.")
    write_file(tmp_path / "home/memories/USER.md", "Name: Ada")
    text = await system_prompt(tmp_path)
    notes = "MEMORY (your personal notes) [1% — 31/2,200 chars]"
    user = "USER PROFILE (who the user is) [0% — 9/1,375 chars]"
    assert (
        f"\n\n{SEPARATOR_BAR}\n{notes}\n{SEPARATOR_BAR}\nTests run with just.\n§\nNo tabs.\n"
        f"\n{SEPARATOR_BAR}\n{user}\n" in text
    )


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ("", (True, True)),
        ("memory: {memory_enabled: false}", (False, True)),
        ("memory: {user_profile_enabled: false}", (True, False)),
    ],
    ids=["both", "no notes", "no profile"],
)
async def test_memory_can_be_omitted(tmp_path: Path, config: str, shown: tuple[bool, bool]) -> None:
    write_file(tmp_path / "home/memories/MEMORY.md", "No tabs.")
    write_file(tmp_path / "home/memories/USER.md", "Name: Ada")
    text = await system_prompt(tmp_path, config)
    assert ("No tabs." in text, "Name: Ada" in text) == shown


async def test_the_memory_sizes_can_be_configured(tmp_path: Path) -> None:
    write_file(tmp_path / "home/memories/MEMORY.md", "No tabs.")
    write_file(tmp_path / "home/memories/USER.md", "Name: Ada")
    config = "memory: {memory_char_limit: 100, user_char_limit: 90}"
    text = await system_prompt(tmp_path, config)
    assert "[8% — 8/100 chars]" in text
    assert "[10% — 9/90 chars]" in text


@pytest.mark.parametrize(
    ("value", "model_id", "is_there"),
    [
        ("auto", "gpt-5", True),
        ("auto", "claude-opus", False),
        ("true", "claude-opus", True),
        ("false", "gpt-5", False),
        ("[opus, other]", "claude-opus", True),
        ("[other]", "claude-opus", False),
    ],
)
async def test_enforcement_follows_the_setting(
    tmp_path: Path,
    value: str,
    model_id: str,
    is_there: bool,  # noqa: FBT001  a column of the table
) -> None:
    config = f"agent: {{tool_use_enforcement: {value}}}"
    text = await system_prompt(tmp_path, config, model_id=model_id)
    assert (load_text("enforcement") in text) == is_there


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("agent: {environment_hint: The disk is slow.}", "The disk is slow."),
        ("agent: {system_prompt: Answer in German.}", "Answer in German."),
        (
            "platform_hints: {acp: {append: No emoji.}}",
            f"{load_text('platforms/acp')}\n\nNo emoji.",
        ),
        ("platform_hints: {acp: {replace: Only text.}}", "\n\nOnly text.\n\n"),
    ],
    ids=["environment hint", "system message", "addition to the hint", "another hint"],
)
async def test_a_text_from_the_settings_is_included(tmp_path: Path, config: str, line: str) -> None:
    assert line not in await system_prompt(tmp_path)
    assert line in await system_prompt(tmp_path, config)


async def test_a_configured_hint_replaces_the_default(tmp_path: Path) -> None:
    text = await system_prompt(tmp_path, "platform_hints: {acp: {replace: Only text.}}")
    assert load_text("platforms/acp") not in text


async def test_the_instruction_file_cap_is_applied(tmp_path: Path) -> None:
    write_file(tmp_path / "workspace/AGENTS.md", "x" * 15_000)
    full_text = await system_prompt(tmp_path)
    cut = await system_prompt(tmp_path, "context_file_max_chars: 2000")
    assert full_text.count("x" * 15_000) == 1
    assert 12_000 < len(full_text) - len(cut) < 14_000


async def test_an_assumed_context_window_does_not_raise_the_cap(tmp_path: Path) -> None:
    write_file(tmp_path / "workspace/AGENTS.md", "x" * 25_000)
    assert "x" * 25_000 in await system_prompt(tmp_path)
    assumed = await system_prompt(tmp_path, window_tokens=None)
    assert f"18,000 of 25,000 {CHARACTERS_SHOWN}; read AGENTS.md for the rest" in assumed


async def test_instructions_above_the_directory_can_be_omitted(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_file(tmp_path / "AGENTS.md", "Of the repository.")
    write_file(tmp_path / "workspace/AGENTS.md", "Of the folder.")
    chain = await system_prompt(tmp_path)
    alone = await system_prompt(tmp_path, "agents_md_scope: cwd")
    assert chain.index("Of the repository.") < chain.index("Of the folder.")
    assert ("Of the repository." in alone, "Of the folder." in alone) == (False, True)


async def test_the_prompt_contains_no_secret_from_the_environment(tmp_path: Path) -> None:
    write_file(tmp_path / "home/.env", "ANTHROPIC_API_KEY=sk-very-secret\n")
    assert "sk-very-secret" not in await system_prompt(tmp_path)
