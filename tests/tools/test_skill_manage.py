"""The tool `skill_manage`: what the user sees of a change, who is asked, what is on the disk."""

import json
from pathlib import Path
from typing import cast

import pytest

from acp_server.permissions.gate import REJECTED
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import PLANNING
from skills_store.usage import SkillUsageStore
from tests.skills_store.skill_files import skill_text, write_skill
from tests.support.editor import Object, json_at
from tests.support.user_texts import OLD_STRING_MATCHED
from tests.tools.editor_session import CallUpdates, allow, open_tool_editor
from tests.tools.test_growing_edits import show_often
from tests.tools.typing_model import call, make_pause, stream_call

PERMISSION = "session/request_permission"
DANGEROUS = skill_text("clean", body="Run `rm -rf ~/` first.\n")


def skills(folder: Path) -> Path:
    """Return the user's own skills, in a room over a folder."""
    return folder / "own" / "skills"


def tree(folder: Path) -> list[str]:
    """Return all that is below a folder."""
    return sorted(str(path) for path in folder.rglob("*"))


def answer(updates: CallUpdates) -> Object:
    return cast("Object", json.loads(updates.text))


async def test_a_skill_is_created_with_its_whole_text_shown(tmp_path: Path) -> None:
    folder, text = skills(tmp_path) / "ops/release", skill_text("release")
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(
            call("skill_manage", action="create", name="release", category="ops", content=text)
        )
        assert (folder / "SKILL.md").read_text() == text
        assert answer(updates) == {
            "success": True,
            "message": f"Created the skill 'release' in {folder}.",
            "skill_dir": str(folder),
        }
        viewed = await session.run_one(call("skill_view", name="release"))
        assert viewed.status == "completed"
    assert (updates.title, updates.status) == ("Create the skill release", "completed")
    assert updates.last("kind") == "edit"
    assert updates.locations == [{"path": str(folder / "SKILL.md")}]
    path = str(folder / "SKILL.md")
    assert updates.diff_states()[-1][1] == [
        {"type": "diff", "path": path, "oldText": None, "newText": text}
    ]
    record = SkillUsageStore(skills(tmp_path)).record("release")
    assert record is not None
    assert record.created_by == "agent"


@pytest.mark.parametrize(("mode", "questions"), [("ask", 1), ("accept_edits", 1), ("bypass", 0)])
async def test_a_user_skill_is_written_with_permission(
    mode: Mode, questions: int, tmp_path: Path
) -> None:
    tool_call = call("skill_manage", action="create", name="release", content=skill_text("release"))
    async with open_tool_editor(tmp_path, mode=mode, answers={PERMISSION: allow()}) as session:
        updates = await session.run_one(tool_call)
        assert updates.status == "completed"
        permissions = session.editor.asked(PERMISSION)
    assert len(permissions) == questions
    for each in permissions:
        shown = json_at(each, "toolCall")
        assert json_at(shown, "title") == "Create the skill release"
        assert json_at(shown, "content", 0, "newText") == skill_text("release")


async def test_a_rejected_change_is_not_written(tmp_path: Path) -> None:
    folder = write_skill(skills(tmp_path) / "release")
    before = (folder / "SKILL.md").read_bytes()
    tool_call = call(
        "skill_manage", action="patch", name="release", old_string="Use it.", new_string="Use me."
    )
    answers = {PERMISSION: allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        updates = await session.run_one(tool_call)
    assert answer(updates) == {"success": False, "error": REJECTED}
    assert (folder / "SKILL.md").read_bytes() == before


async def test_plan_mode_refuses_skill_changes(tmp_path: Path) -> None:
    tool_call = call("skill_manage", action="create", name="release", content=skill_text("release"))
    async with open_tool_editor(tmp_path, mode="plan") as session:
        updates = await session.run_one(tool_call)
    assert answer(updates) == {"success": False, "error": PLANNING}
    assert not skills(tmp_path).exists()


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
async def test_dangerous_content_asks_permission_in_every_mode(mode: Mode, tmp_path: Path) -> None:
    tool_call = call("skill_manage", action="create", name="clean", content=DANGEROUS)
    answers = {PERMISSION: allow("reject_once")}
    async with open_tool_editor(tmp_path, mode=mode, answers=answers) as session:
        updates = await session.run_one(tool_call)
        (permission,) = session.editor.asked(PERMISSION)
    assert answer(updates)["error"] == REJECTED
    assert "SKILL.md:6: dangerous: destructive" in json.dumps(permission)
    assert not skills(tmp_path).exists()


async def test_existing_dangerous_content_does_not_ask_again(tmp_path: Path) -> None:
    folder = write_skill(skills(tmp_path) / "clean")
    (folder / "SKILL.md").write_text(DANGEROUS)
    tool_call = call(
        "skill_manage", action="patch", name="clean", old_string="Use it.", new_string="Use me."
    )
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(tool_call)
        assert updates.status == "completed", updates.text
        assert session.editor.asked(PERMISSION) == []


async def test_a_patch_is_shown_as_a_diff(tmp_path: Path) -> None:
    folder = write_skill(skills(tmp_path) / "release")
    before = (folder / "SKILL.md").read_text()
    tool_call = call(
        "skill_manage", action="patch", name="release", old_string="Use it.", new_string="Use me."
    )
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(tool_call)
    after = before.replace("Use it.", "Use me.")
    assert (folder / "SKILL.md").read_text() == after
    path = str(folder / "SKILL.md")
    shown = {"type": "diff", "path": path, "oldText": before, "newText": after}
    assert updates.diff_states()[-1][1] == [shown]
    assert updates.title == "Patch the skill release"
    assert f"{OLD_STRING_MATCHED} exact" in str(answer(updates)["message"])


async def test_a_bundled_skill_is_changed_in_a_copy_with_a_notice(tmp_path: Path) -> None:
    tool_call = call(
        "skill_manage",
        action="write_file",
        name="code-review",
        file_path="references/mine.md",
        file_content="Mine.\n",
    )
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(tool_call)
    copy = skills(tmp_path) / "code-review"
    assert updates.status == "completed", updates.text
    assert (copy / "references/mine.md").read_text() == "Mine.\n"
    assert (copy / "SKILL.md").is_file()
    assert f"it was copied to {copy}" in str(answer(updates)["message"])
    assert updates.title == "Write references/mine.md of the skill code-review"


async def test_deleting_archives_the_skill_and_explains_how_to_restore_it(tmp_path: Path) -> None:
    folder = write_skill(skills(tmp_path) / "release")
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("skill_manage", action="delete", name="release"))
        after = await session.run_one(call("skill_view", name="release"))
    assert updates.title == "Archive the skill release"
    assert "`acp-server skills restore release` brings it back" in str(answer(updates)["message"])
    assert not folder.exists()
    assert (skills(tmp_path) / ".archive/release/SKILL.md").is_file()
    assert "was archived" in after.text


async def test_a_pinned_skill_can_be_patched_but_not_deleted(tmp_path: Path) -> None:
    write_skill(skills(tmp_path) / "release")
    SkillUsageStore(skills(tmp_path)).pin("release")
    patch = call(
        "skill_manage", action="patch", name="release", old_string="Use it.", new_string="Use me."
    )
    async with open_tool_editor(tmp_path) as session:
        patched = await session.run_one(patch)
        deleted = await session.run_one(call("skill_manage", action="delete", name="release"))
    assert patched.status == "completed"
    assert deleted.status == "failed"
    assert "`acp-server skills unpin release`" in str(answer(deleted)["error"])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"action": "create", "name": "a"}, id="no content"),
        pytest.param({"action": "create", "name": "a", "content": "no frontmatter"}, id="no head"),
        pytest.param({"action": "create", "name": "../a", "content": skill_text("a")}, id="a path"),
        pytest.param({"action": "create", "name": "A", "content": skill_text("A")}, id="capitals"),
        pytest.param(
            {"action": "write_file", "name": "here", "file_path": "../x", "file_content": "x"},
            id="a file outside",
        ),
        pytest.param(
            {"action": "write_file", "name": "here", "file_path": "/etc/x", "file_content": "x"},
            id="an absolute file",
        ),
        pytest.param(
            {"action": "remove_file", "name": "here", "file_path": "references/n\0"}, id="a NUL"
        ),
        pytest.param({"action": "edit", "name": "nowhere", "content": "x"}, id="no skill"),
        pytest.param({"action": "explode", "name": "here"}, id="no action"),
        pytest.param({"action": "delete", "name": "n" * 5_000}, id="a long name"),
    ],
)
async def test_an_invalid_call_fails_with_a_short_message(
    arguments: dict[str, str], tmp_path: Path
) -> None:
    write_skill(skills(tmp_path) / "here")
    before = tree(skills(tmp_path))
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("skill_manage", **arguments))
    assert updates.status == "failed"
    assert 10 < len(updates.text) < 900
    assert len(updates.title) < 400
    assert tree(skills(tmp_path)) == before


async def test_a_new_skill_is_shown_growing_while_its_arguments_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show_often(monkeypatch)
    text = skill_text("release", body="A step of many words, as steps go.\n" * 100)
    tool_call = call("skill_manage", action="create", name="release", content=text)
    async with open_tool_editor(tmp_path) as session:
        session.model.rounds = [stream_call(tool_call, 20, make_pause(0.006))]
        await session.editor.prompt(session.session_id, "go")
        updates = session.updates_of(tool_call.id)
    growing = updates.growing_diffs()
    assert len(growing) >= 3
    path = str(skills(tmp_path) / "release/SKILL.md")
    assert all(text.startswith(str(blocks[0]["newText"])) for blocks in growing)
    assert {str(blocks[0]["path"]) for blocks in growing} == {path}
    assert updates.diff_bytes() < 10 * len(text)


async def test_a_workspace_skill_is_edited_like_a_workspace_file(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "workspace/.agents/skills/release")
    tool_call = call(
        "skill_manage", action="patch", name="release", old_string="Use it.", new_string="Use me."
    )
    async with open_tool_editor(tmp_path, mode="accept_edits") as session:
        unknown = await session.run_one(tool_call)
        assert "There is no skill named 'release'" in unknown.text
        trusted = {str((tmp_path / "workspace").resolve()): "trusted"}
        file = tmp_path / "own/acp/trust.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(trusted))
        updates = await session.run_one(tool_call)
        assert updates.status == "completed", updates.text
        assert session.editor.asked(PERMISSION) == []
    assert "Use me." in (folder / "SKILL.md").read_text()
