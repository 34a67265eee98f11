"""Skills in a real server: commands, what they say to the model, and what follows the disk."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.trust import TrustStore
from skills_store.calls import ManageCall
from skills_store.editor import SkillEditor
from skills_store.roots import resolve_roots
from skills_store.usage import SkillUsageStore
from tests.skills_store.skill_files import write_file, write_skill
from tests.support.editor import Editor, json_at, make_configuration, open_editor

SCRIPT = "prompt: *\nsay: Done."


def home(folder: Path) -> Path:
    made = folder / "home"
    made.mkdir(exist_ok=True)
    return made


def project(folder: Path) -> Path:
    made = folder / "project"
    made.mkdir(exist_ok=True)
    return made


def offered(editor: Editor, session_id: str) -> Sequence[str]:
    """Return the names of the commands as they were advertised last."""
    updates = editor.updates_of(session_id)
    matching = [
        each for each in updates if json_at(each, "sessionUpdate") == "available_commands_update"
    ]
    commands = json_at(matching[-1], "availableCommands") if matching else []
    return [str(json_at(each, "name")) for each in commands] if isinstance(commands, list) else []


async def until_offered(editor: Editor, session_id: str, name: str) -> None:
    await editor.wait_until(
        lambda: True if name in offered(editor, session_id) else None, f"command {name}"
    )


async def wait_until_removed(editor: Editor, session_id: str, name: str) -> None:
    await editor.wait_until(
        lambda: True if name not in offered(editor, session_id) else None, f"end of {name}"
    )


async def reply_to(editor: Editor, session_id: str, text: str) -> str:
    """Send a prompt; return what was said to it."""
    before = editor.agent_text(session_id)
    response = await editor.prompt(session_id, text)
    assert isinstance(response, dict)
    assert response["stopReason"] == "end_turn"
    return editor.agent_text(session_id).removeprefix(before)


async def test_skills_are_commands_with_their_descriptions(tmp_path: Path) -> None:
    write_skill(home(tmp_path) / "skills/release", "Use for a release.")
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        await until_offered(editor, session_id, "release")
        update = editor.updates_of(session_id)[-1]
        commands = json_at(update, "availableCommands")
        assert isinstance(commands, list)
        assert {
            "name": "release",
            "description": "Use for a release.",
            "input": {"hint": "[task]"},
        } in commands
        names = offered(editor, session_id)
        assert list(names) == sorted(names)
        assert {"help", "code-review"} < set(names)


async def test_an_invoked_skill_sends_its_text_to_the_model(tmp_path: Path) -> None:
    folder = write_skill(home(tmp_path) / "skills/release", "Use for a release.")
    write_file(folder / "scripts/tag.sh")
    script = "prompt: invoked the skill\nsay: Released.\n\nprompt: *\nsay: What?"
    async with open_editor(make_configuration(home(tmp_path), script)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        assert await reply_to(editor, session_id, "/release 1.2 please") == "Released."
    record = SkillUsageStore(home(tmp_path) / "skills").record("release")
    assert record is not None
    assert (record.view_count, record.use_count) == (0, 1)


async def test_only_the_users_own_words_are_stored_of_the_prompt(tmp_path: Path) -> None:
    write_skill(home(tmp_path) / "skills/release")
    served = make_configuration(home(tmp_path), SCRIPT)
    async with open_editor(served) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        await reply_to(editor, session_id, "/release 1.2")
    async with open_editor(served) as editor:
        await editor.initialize()
        params: JsonValue = {
            "sessionId": session_id,
            "cwd": str(project(tmp_path)),
            "mcpServers": [],
        }
        await editor.call("session/load", params)
        shown = [u for u in editor.updates_of(session_id) if _is_prompt(u)]
        assert [json_at(each, "content", "text") for each in shown] == ["/release 1.2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/relaese", "There is no command `/relaese`. Did you mean `/release` or"),
        ("/gone", "The skill 'gone' was archived"),
        ("/hidden", "is not available here: it is for windows only"),
        ("/help", "Commands:"),
        ("/skill:help", "Done."),
        ("/etc/hosts is broken", "Done."),
        ("/release /tidy go", "Done."),
    ],
)
async def test_the_first_word_selects_a_skill_or_a_command(
    text: str, expected: str, tmp_path: Path
) -> None:
    skills = home(tmp_path) / "skills"
    for name in ("release", "tidy", "help", "gone"):
        write_skill(skills / name)
    write_skill(skills / "hidden", fields="platforms: [windows]")
    locations = (home(tmp_path), tmp_path, tmp_path / "bundled")
    skill_editor = SkillEditor(home(tmp_path), lambda: resolve_roots(*locations))
    skill_editor.commit(skill_editor.plan(ManageCall("delete", "gone", origin="user")))
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        assert expected in await reply_to(editor, session_id, text)


async def test_commands_follow_changes_made_by_another_program(tmp_path: Path) -> None:
    skills = home(tmp_path) / "skills"
    write_skill(skills / "tidy")
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        await until_offered(editor, session_id, "tidy")
        await reply_to(editor, session_id, "hello")
        folder = write_skill(skills / "ops/release", "Use for a release.")
        await until_offered(editor, session_id, "release")
        write_skill(folder, "Use for every release.")
        await editor.wait_for_response(lambda message: "every release" in json.dumps(message))
        shutil.rmtree(folder)
        await wait_until_removed(editor, session_id, "release")


async def test_a_first_skill_is_noticed_where_no_skill_directory_existed(tmp_path: Path) -> None:
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        await until_offered(editor, session_id, "code-review")
        write_skill(home(tmp_path) / "skills/release")
        await until_offered(editor, session_id, "release")


def workspace_skill(folder: Path) -> Path:
    return write_skill(project(folder) / ".claude/skills/deploy", "Use to deploy.")


async def test_workspace_skills_become_available_once_trusted(tmp_path: Path) -> None:
    workspace_skill(tmp_path)
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        assert "is not trusted" in await reply_to(editor, session_id, "/deploy it")
        pending = editor.start_prompt(session_id, "hello")
        trust_request = await editor.wait_for_response(
            lambda message: message.get("method") == "session/request_permission"
        )
        assert "skills of its own: deploy" in json.dumps(trust_request)
        outcome: JsonValue = {"outcome": {"outcome": "selected", "optionId": "trusted"}}
        editor.reply(trust_request, outcome)
        await pending.response()
        await until_offered(editor, session_id, "deploy")
        assert await reply_to(editor, session_id, "/deploy it") == "Done."


async def test_skills_of_a_trusted_workspace_are_available_at_once(tmp_path: Path) -> None:
    workspace_skill(tmp_path)
    TrustStore(home(tmp_path) / "acp/trust.json").save(project(tmp_path), "trusted")
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        await until_offered(editor, session_id, "deploy")


async def test_skills_of_a_declined_workspace_are_named_and_not_used(tmp_path: Path) -> None:
    workspace_skill(tmp_path)
    TrustStore(home(tmp_path) / "acp/trust.json").save(project(tmp_path), "declined")
    async with open_editor(make_configuration(home(tmp_path), SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session(project(tmp_path))
        reply = await reply_to(editor, session_id, "hello")
        assert "The project has skills of its own: deploy; the workspace is not trusted" in reply
        assert "deploy" not in offered(editor, session_id)


def _is_prompt(update: JsonValue) -> bool:
    return json_at(update, "sessionUpdate") == "user_message_chunk"
