"""Reviews end to end: an editor, a server, a model that plays a script."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_server.permissions.trust import TrustStore
from skills_store.editor import SkillEditor
from skills_store.skill import SkillRoot
from skills_store.usage import SkillUsageStore
from tests.learning.curator_library import ATTEMPTS
from tests.learning.review_home import (
    DONE_STEPS,
    NOTICES,
    PATCH_STEPS,
    PATCHED,
    RELEASE,
    REVIEW,
    make_review_configuration,
    make_review_due,
    notice_contains,
    notice_title,
    undo_ids,
    write_skill,
)
from tests.skills_store.skill_home import files_in
from tests.support.editor import json_at, open_editor

AT_ONCE_SECONDS = 2
WAITING = f"pause: 60s\n{PATCH_STEPS}"
REMEMBER = """call: memory
  action: add
  target: user
  content: Wants tags signed.
step:
say: Saved.
"""
REMEMBER_AS_ANOTHER_AGENT = """call: SaveMemory
  store: user
  fact: Wants tags signed.
step:
say: Saved.
"""
DANGEROUS = """call: skill_manage
  action: patch
  name: release
  old_string: 2. Tag the commit.
  new_string: "2. Run `rm -rf ~/`."
step:
say: Saved.
"""


async def review_of(folder: Path, review: str, settings: str = "") -> tuple[Path, str]:
    """Have a conversation reviewed; return the home, and what the user was told."""
    engine = make_review_configuration(folder, review, settings)
    async with open_editor(engine) as editor:
        await editor.initialize(clientCapabilities=NOTICES)
        session_id = await editor.new_session(folder)
        await make_review_due(editor, session_id)
        title = notice_title(await editor.wait_for_response(notice_contains("Reviewed")))
    return engine.home, title


async def test_a_correction_becomes_a_patch_of_the_loaded_skill(tmp_path: Path) -> None:
    home, title = await review_of(tmp_path, PATCH_STEPS)
    file = home / "skills" / "release" / "SKILL.md"
    (undo_id,) = undo_ids(home)
    assert file.read_text() == PATCHED
    assert title == (
        "Reviewed the conversation: changed release; "
        f"to undo: `acp-server skills restore {undo_id}`."
    )
    root = SkillRoot("home", home / "skills", is_writable=True)
    SkillEditor(home, lambda: [root]).undo(undo_id)
    assert file.read_text() == RELEASE


async def test_a_review_adds_nothing_to_the_conversation(tmp_path: Path) -> None:
    engine = make_review_configuration(tmp_path)
    async with open_editor(engine) as editor:
        await editor.initialize(clientCapabilities=NOTICES)
        session_id = await editor.new_session(tmp_path)
        await make_review_due(editor, session_id)
        await editor.wait_for_response(notice_contains("Reviewed"))
        await editor.prompt(session_id, "thanks")
        assert editor.agent_text(session_id) == "Released.It is signed now.You are welcome."
        assert REVIEW not in str(editor.messages)


async def test_a_new_prompt_cancels_a_review_immediately(tmp_path: Path) -> None:
    engine = make_review_configuration(tmp_path, WAITING)
    async with open_editor(engine) as editor:
        await editor.initialize(clientCapabilities=NOTICES)
        session_id = await editor.new_session(tmp_path)
        await make_review_due(editor, session_id)
        with anyio.fail_after(AT_ONCE_SECONDS):
            await editor.prompt(session_id, "thanks")
            assert (
                json_at(await editor.call("session/close", {"sessionId": session_id}), "result")
                == {}
            )
    assert (engine.home / "skills" / "release" / "SKILL.md").read_text() == RELEASE
    assert undo_ids(engine.home) == []


async def test_closing_cancels_a_review_immediately(tmp_path: Path) -> None:
    engine = make_review_configuration(tmp_path, WAITING)
    with anyio.fail_after(AT_ONCE_SECONDS):
        async with open_editor(engine) as editor:
            await editor.initialize()
            await make_review_due(editor, await editor.new_session(tmp_path))
    assert undo_ids(engine.home) == []


async def test_proposed_changes_are_saved_for_the_user_and_not_applied(tmp_path: Path) -> None:
    home, title = await review_of(tmp_path, PATCH_STEPS, "  review_writes: propose\n")
    (proposal,) = (home / "acp" / "proposals").iterdir()
    assert title == f"Reviewed the conversation: 1 proposed, see {proposal}."
    assert "- new_string: 2. Tag the commit, signed: `git tag -s`." in proposal.read_text()
    assert (home / "skills" / "release" / "SKILL.md").read_text() == RELEASE
    assert undo_ids(home) == []


async def test_a_change_doubted_by_the_guard_is_left_to_the_user(tmp_path: Path) -> None:
    home, title = await review_of(tmp_path, DANGEROUS)
    assert "1 proposed" in title
    assert (home / "skills" / "release" / "SKILL.md").read_text() == RELEASE


@pytest.mark.parametrize("steps", [REMEMBER, REMEMBER_AS_ANOTHER_AGENT], ids=["ours", "another"])
async def test_a_review_may_change_the_memory_too(tmp_path: Path, steps: str) -> None:
    home, title = await review_of(tmp_path, steps)
    assert "Wants tags signed." in (home / "memories" / "USER.md").read_text()
    assert title == (
        "Reviewed the conversation: changed the memory (1); to undo: `acp-server memory undo`."
    )


async def test_with_memory_confirmation_enabled_a_review_only_proposes_changes(
    tmp_path: Path,
) -> None:
    home, title = await review_of(tmp_path, REMEMBER, "memory:\n  write_approval: true\n")
    assert "1 proposed" in title
    assert not (home / "memories" / "USER.md").exists()


def pinned(home: Path, work: Path) -> str:
    del work
    write_skill(home, "kept")
    SkillUsageStore(home / "skills").pin("kept")
    return "kept"


def bundled_by_us(home: Path, work: Path) -> str:
    del home, work
    return "code-review"


def bundled_by_hermes(home: Path, work: Path) -> str:
    del work
    write_skill(home, "theirs")
    (home / "skills" / ".bundled_manifest").write_text("theirs:0\n")
    return "theirs"


def installed(home: Path, work: Path) -> str:
    del work
    write_skill(home, "got")
    (home / "acp" / "installed.json").write_text('{"installed": {"got": {}}}')
    return "got"


def external(home: Path, work: Path) -> str:
    write_skill(work / "others", "shared", is_created_by_agent=False)
    config = home / "acp" / "config.yaml"
    config.write_text(f"{config.read_text()}  external_dirs: {work / 'others' / 'skills'}\n")
    return "shared"


def workspace(home: Path, work: Path) -> str:
    TrustStore(home / "acp" / "trust.json").save(work, "trusted")
    write_skill(work / ".agents", "project", is_created_by_agent=False)
    return "project"


@pytest.mark.parametrize(
    "put", [pinned, bundled_by_us, bundled_by_hermes, installed, external, workspace]
)
async def test_the_model_cannot_change_skills_of_others(
    tmp_path: Path, put: Callable[[Path, Path], str]
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    make_review_configuration(tmp_path)
    name = put(home, work)
    extra = (home / "acp" / "config.yaml").read_text().split("interval: 2\n")[1]
    engine = make_review_configuration(tmp_path, f"{ATTEMPTS.format(name=name)}{DONE_STEPS}", extra)
    before = skill_files(tmp_path, name)
    async with open_editor(engine) as editor:
        await editor.initialize(clientCapabilities=NOTICES)
        session_id = await editor.new_session(work)
        await make_review_due(editor, session_id)
        title = notice_title(await editor.wait_for_response(notice_contains("Reviewed")))
    assert skill_files(tmp_path, name) == before
    assert "created seen" in title
    assert name not in title


def skill_files(folder: Path, name: str) -> dict[str, bytes]:
    """Return all files of a skill, wherever it may be or have come to."""
    found = files_in(folder, is_hidden=lambda path: path.startswith("home/acp/"))
    return {path: data for path, data in found.items() if f"/{name}/" in path}
