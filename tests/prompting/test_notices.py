"""What of the project's and the user's files the model does not see: the user is told, once."""

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.trust import ContentTrust
from prompt_engine.trust import sha256_of
from tests.prompting.prompted_session import (
    INJECTION,
    NOTICES,
    SETTINGS,
    PromptedSession,
    hints_in,
    make_prompt_config,
    open_prompted_session,
    write_file,
)
from tests.support.user_texts import BLOCKED_NOT_SHOWN, CHARACTERS_SHOWN
from tests.tools.typing_model import call

BLOCKED = (
    "AGENTS.md is hidden from the model: ignore-earlier-instructions in line 2; "
    "to allow exactly this text, run `acp-server context trust AGENTS.md`"
)
TEXT = f"Be kind.\n{INJECTION}\n"


def notices(session: PromptedSession, can: JsonValue) -> list[str]:
    """What the client was told, in the way that it understands."""
    if can is NOTICES:
        return session.notices()
    return [
        line for line in session.editor.agent_text(session.session_id).split("\n") if ".md " in line
    ]


def trust(folder: Path) -> ContentTrust:
    """Where the room keeps what the user trusts."""
    return ContentTrust(folder / "own/acp/context_trust.json")


@pytest.mark.parametrize("can", [NOTICES, None], ids=["client with notices", "client without"])
async def test_a_blocked_file_is_not_shown_and_the_user_is_notified_once(
    tmp_path: Path, can: JsonValue
) -> None:
    async with open_prompted_session(tmp_path, capabilities=can) as session:
        session.write_file("AGENTS.md", TEXT)
        request = await session.prompt()
        assert INJECTION not in request.system
        assert f"[AGENTS.md {BLOCKED_NOT_SHOWN}: " in request.system
        assert notices(session, can) == [BLOCKED]
        await session.prompt()
        assert notices(session, can) == [BLOCKED]


async def test_a_blocked_file_does_not_hide_the_next_one(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", TEXT)
        session.write_file("CLAUDE.md", "Be brief.")
        assert "Be brief." in (await session.prompt()).system


async def test_a_trusted_blocked_file_is_shown_until_it_changes(tmp_path: Path) -> None:
    content_trust = trust(tmp_path)
    settings = replace(make_prompt_config(tmp_path), is_trusted=content_trust.is_trusted)
    async with open_prompted_session(tmp_path, settings=settings, capabilities=NOTICES) as session:
        path = session.write_file("AGENTS.md", TEXT)
        content_trust.trust(path, sha256_of(path.read_bytes()))
        assert TEXT.strip() in (await session.prompt()).system
        assert session.notices() == []
        path.write_text(f"{TEXT}More.\n")
        other = await session.editor.new_session(session.root)
        assert INJECTION not in (await session.prompt(session_id=other)).system


async def test_a_blocked_file_that_becomes_trusted_is_delivered_on_the_next_touch(
    tmp_path: Path,
) -> None:
    content_trust = trust(tmp_path)
    settings = replace(make_prompt_config(tmp_path), is_trusted=content_trust.is_trusted)
    async with open_prompted_session(tmp_path, settings=settings) as session:
        path = session.write_file("AGENTS.md", TEXT)
        await session.prompt()
        content_trust.trust(path, sha256_of(path.read_bytes()))
        result = await session.run_one(call("terminal", command="true"))
        assert hints_in(result.text) == [("AGENTS.md*", TEXT.strip())]


@pytest.mark.parametrize("can", [NOTICES, None], ids=["client with notices", "client without"])
async def test_the_user_is_notified_of_a_truncated_file(tmp_path: Path, can: JsonValue) -> None:
    settings = replace(
        make_prompt_config(tmp_path), settings=replace(SETTINGS, max_characters=1_000)
    )
    async with open_prompted_session(tmp_path, settings=settings, capabilities=can) as session:
        session.write_file("AGENTS.md", "".join(f"Rule {number:03}.\n" for number in range(500)))
        system = (await session.prompt()).system
        assert "Rule 001." in system
        assert "Rule 250." not in system
        (notice,) = notices(session, can)
        assert notice.startswith("AGENTS.md is long: ")
        assert notice.endswith(f" of its 4,999 {CHARACTERS_SHOWN}")


async def test_the_user_is_notified_of_a_file_that_is_not_text(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, capabilities=NOTICES) as session:
        session.write_file("AGENTS.md", b"Be \xff\xfe kind.\n")
        await session.prompt()
        (notice,) = session.notices()
        assert notice.startswith("AGENTS.md cannot be used: ")


async def test_a_blocked_soul_md_keeps_the_default_identity_and_notifies_the_user(
    tmp_path: Path,
) -> None:
    write_file(tmp_path / "own/SOUL.md", INJECTION)
    async with open_prompted_session(tmp_path, capabilities=NOTICES) as session:
        request = await session.prompt()
        assert request.system.startswith("You are Hermes Agent")
        assert INJECTION not in request.system
        (notice,) = session.notices()
        assert notice.startswith(
            f"{tmp_path}/own/SOUL.md was blocked: ignore-earlier-instructions in line 1"
        )


async def test_a_long_directory_file_is_truncated_and_the_user_is_notified(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, capabilities=NOTICES) as session:
        session.write_file("a/AGENTS.md", "x" * 9_000)
        session.write_file("a/b.txt", "text")
        result = await session.run_one(call("read_file", path="a/b.txt"))
        ((label, body),) = hints_in(result.text)
        assert (label, len(body) <= 8_000) == ("a/AGENTS.md", True)
        (notice,) = session.notices()
        assert notice.startswith("a/AGENTS.md is long: ")


async def test_the_user_is_not_notified_again_when_the_prompt_is_rebuilt(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, capabilities=NOTICES) as session:
        session.write_file("AGENTS.md", TEXT)
        await session.prompt()
        await session.run_command("/reload")
        session.write_file("CLAUDE.md", TEXT)
        await session.run_command("/reload")
        await session.prompt()
        assert session.notices() == [BLOCKED, BLOCKED.replace("AGENTS", "CLAUDE")]


async def test_ignored_instruction_files_are_not_read_without_permission(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, capabilities=NOTICES) as session:
        session.write_file(".hermesignore", "AGENTS.md\n")
        session.write_file("AGENTS.md", "do-not-tell")
        session.write_file("sub/AGENTS.md", "nor this")
        session.write_file("sub/a.txt", "text")
        assert "do-not-tell" not in (await session.prompt()).system
        assert session.notices() == [
            "AGENTS.md cannot be used: it is protected, and so kept from the model"
        ]
        outcome = await session.run_one(call("read_file", path="sub/a.txt"))
        assert "nor this" not in outcome.text
