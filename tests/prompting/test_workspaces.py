"""Every session is told of its own workspace, wherever the process is."""

from pathlib import Path

import pytest

from tests.prompting.prompted_session import (
    PromptedSession,
    hints_in,
    open_prompted_session,
    write_file,
)
from tests.tools.typing_model import call, stream_call


def create_files(folder: Path, name: str) -> Path:
    """Make a workspace whose instructions name it."""
    write_file(folder / "AGENTS.md", f"Of {name}.")
    write_file(folder / "a/AGENTS.md", f"Of a in {name}.")
    return folder


async def read_in(session: PromptedSession, session_id: str, path: str) -> list[tuple[str, str]]:
    """Have a session's model read a file; return the instructions that came with it."""
    await session.prompt(session_id=session_id, answer=stream_call(call("read_file", path=path)))
    return hints_in(session.model.results[0].text)


async def test_two_sessions_each_have_their_own_instructions(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        create_files(session.root, "one")
        other = create_files(tmp_path / "other", "two")
        other_id = await session.editor.new_session(other)
        one, two = await session.prompt(), await session.prompt(session_id=other_id)
        assert ("Of one." in one.system, "Of two." in one.system) == (True, False)
        assert ("Of one." in two.system, "Of two." in two.system) == (False, True)
        path = "a/AGENTS.md"
        assert await read_in(session, other_id, path) == [(path, "Of a in two.")]
        assert await read_in(session, session.session_id, path) == [(path, "Of a in one.")]
        assert await read_in(session, other_id, path) == []


async def test_two_sessions_in_one_workspace_each_get_directory_instructions(
    tmp_path: Path,
) -> None:
    async with open_prompted_session(tmp_path) as session:
        create_files(session.root, "one")
        other_id, path = await session.editor.new_session(session.root), "a/AGENTS.md"
        expected = [(path, "Of a in one.")]
        assert await read_in(session, session.session_id, path) == expected
        assert await read_in(session, other_id, path) == expected


async def test_the_process_working_directory_contributes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = create_files(tmp_path / "elsewhere", "the process")
    monkeypatch.chdir(elsewhere)
    async with open_prompted_session(tmp_path) as session:
        create_files(session.root, "the session")
        request = await session.prompt()
        assert "Of the session." in request.system
        assert "the process" not in request.system
        assert str(elsewhere) not in request.system
        path = "a/AGENTS.md"
        assert await read_in(session, session.session_id, path) == [(path, "Of a in the session.")]


async def test_additional_workspace_directories_contribute_instructions(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        create_files(session.root, "one")
        more = create_files(tmp_path / "more", "more")
        session_id = await session.editor.new_session(
            session.root, additionalDirectories=[str(more)]
        )
        system = (await session.prompt(session_id=session_id)).system
        assert (
            system.index("Of one.")
            < system.index(f"## {more}/AGENTS.md")
            < system.index("Of more.")
        )
        label = f"{more}/a/AGENTS.md"
        assert await read_in(session, session_id, label) == [(label, "Of a in more.")]


async def test_instructions_apply_up_to_the_repository_root(
    tmp_path: Path,
) -> None:
    write_file(tmp_path / "AGENTS.md", "Of all projects.")
    async with open_prompted_session(tmp_path) as session:
        (session.root / ".git").mkdir()
        create_files(session.root, "the repository")
        session_id = await session.editor.new_session(session.root / "a")
        system = (await session.prompt(session_id=session_id)).system
        assert system.index("Of the repository.") < system.index("Of a in the repository.")
        assert "Of all projects." not in system


def takes_any_name(folder: Path) -> bool:
    """Whether a file may have a name that is not UTF-8."""
    try:
        (folder / "\udcff").touch()
    except OSError:
        return False
    return True


async def test_a_non_utf8_name_is_escaped_for_the_model(tmp_path: Path) -> None:
    if not takes_any_name(tmp_path):
        pytest.skip("this file system has no such names")
    async with open_prompted_session(tmp_path) as session:
        write_file(session.root / ".cursor/rules/\udcff.mdc", "---\nglobs: '*.txt'\n---\nA rule.")
        write_file(session.root / ".cursor/rules/always-\udcff.mdc", "Another rule.")
        write_file(session.root / "x.txt", "text")
        outcome = await session.run_one(call("read_file", path="x.txt"))
        system = session.model.requests[-1].system
        assert "Another rule." in system
        assert hints_in(outcome.text) == [(".cursor/rules/%FFFD.mdc", "A rule.")]
        assert system.encode()
