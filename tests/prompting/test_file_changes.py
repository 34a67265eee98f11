"""Files that change while a session goes on: the user is told, nothing that was sent changes."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.session.prompting.directory_events import DirectoryEvents, FileNotifier
from acp_server.session.prompting.file_changes import RELOAD
from tests.prompting.prompted_session import (
    NOTICES,
    PromptedSession,
    hints_in,
    open_prompted_session,
    write_file,
)
from tests.prompting.test_stability import assert_each_begins_with_the_former
from tests.session.watch_listener import SAVE_METHODS, make_fast_events, save_by_rename
from tests.support.editor import is_update, json_at, make_configuration, open_editor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.typing_model import call

EXHAUSTED = "no watches are left"
CHANGED = f"AGENTS.md has changed; {RELOAD}"
open_watched = partial(open_prompted_session, events=make_fast_events, capabilities=NOTICES)
Save = Callable[[Path, str], None]
Change = Callable[[Path], object]


async def wait_for_notice(room: PromptedSession, sentence: str, session_id: str = "") -> None:
    """Wait until a notice was shown, in the first session unless another is named."""

    def find() -> bool | None:
        updates = room.editor.updates_of(session_id or room.session_id)
        shown = [each for each in updates if json_at(each, "sessionUpdate") == "notice"]
        return any(json_at(each, "title") == sentence for each in shown) or None

    await room.editor.wait_until(find, f"notice {sentence!r}")


@pytest.mark.parametrize("save", SAVE_METHODS.values(), ids=SAVE_METHODS.keys())
async def test_the_user_is_notified_of_a_change_and_the_prompt_stays(
    tmp_path: Path, save: Save
) -> None:
    async with open_watched(tmp_path) as room:
        path = room.write_file("AGENTS.md", "Be kind.")
        await room.prompt()
        save(path, "Be brief.")
        await wait_for_notice(room, CHANGED)
        await room.prompt()
        await room.run_one(call("terminal", command="true"))
        requests = room.model.requests
        assert_each_begins_with_the_former(requests)
        assert ("Be kind." in requests[-1].system, "Be brief." in requests[-1].system) == (1, 0)
        assert room.notices() == [CHANGED]


async def test_delivered_files_are_delivered_again_as_changed_on_the_next_touch(
    tmp_path: Path,
) -> None:
    async with open_watched(tmp_path) as room:
        room.write_file("AGENTS.md", "Of all.")
        room.write_file("a/AGENTS.md", "Of a.")
        room.write_file("a/b.txt", "text")
        await room.run_one(call("read_file", path="a/b.txt"))
        room.write_file("a/AGENTS.md", "Of a, now.")
        remedy = "the current text is loaded when the agent next works in its directory"
        change = f"a/AGENTS.md has changed; {remedy}"
        await wait_for_notice(room, change)
        told = await room.run_one(call("read_file", path="a/b.txt"))
        assert hints_in(told.text) == [("a/AGENTS.md*", "Of a, now.")]
        room.write_file("a/AGENTS.md", "Of a, in the end.")
        room.write_file("AGENTS.md", "Of all, in the end.")
        await wait_for_notice(room, CHANGED)
        await room.editor.wait_until(lambda: room.notices().count(change) == 2 or None, "another")
        assert_each_begins_with_the_former(room.model.requests)


async def test_reload_uses_current_files_and_later_changes_are_announced_again(
    tmp_path: Path,
) -> None:
    async with open_watched(tmp_path) as room:
        room.write_file("AGENTS.md", "One.")
        await room.prompt()
        room.write_file("AGENTS.md", "Two.")
        await wait_for_notice(room, CHANGED)
        await room.run_command("/reload")
        assert "Two." in (await room.prompt()).system
        room.write_file("AGENTS.md", "Three.")
        await room.editor.wait_until(lambda: room.notices() == [CHANGED] * 2 or None, "another")


async def test_a_client_without_notices_is_told_once_with_the_next_prompt(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, events=make_fast_events) as room:
        room.write_file("AGENTS.md", "One.")
        await room.prompt()
        other = await room.editor.new_session(room.root)
        room.write_file("AGENTS.md", "Two.")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while CHANGED not in room.editor.agent_text(room.session_id):
                await room.prompt()
        await room.prompt()
        await room.prompt(session_id=other)
        assert room.editor.agent_text(room.session_id).count(CHANGED) == 1
        assert room.editor.agent_text(other).count(CHANGED) == 0


GONE, CURSOR_RULE = "AGENTS.md was deleted", "---\nglobs: x\n---\nNo."
CHANGES: dict[str, tuple[Change, str]] = {
    "removed": (lambda root: (root / "AGENTS.md").unlink(), GONE),
    "renamed": (
        lambda root: (root / "AGENTS.md").rename(root / "CLAUDE.md"),
        f"{GONE}, CLAUDE.md now applies",
    ),
    "emptied": (lambda root: write_file(root / "AGENTS.md", " \n"), "AGENTS.md has changed"),
    "a file before it": (
        lambda root: write_file(root / ".hermes.md", "Mine."),
        ".hermes.md now applies",
    ),
    "a rule for all": (
        lambda root: write_file(
            root / ".cursor/rules/all.mdc", "---\nalwaysApply: true\n---\nYes."
        ),
        "",
    ),
    "a rule for some paths": (
        lambda root: write_file(root / ".cursor/rules/x.mdc", CURSOR_RULE),
        "",
    ),
    "a file behind it": (lambda root: write_file(root / "CLAUDE.md", "Behind."), ""),
    "the same text": (lambda root: save_by_rename(root / "AGENTS.md", "Be kind."), ""),
    "touched": (lambda root: (root / "AGENTS.md").touch(), ""),
    "any file": (lambda root: write_file(root / "new.txt", "text"), ""),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES.keys())
async def test_only_changes_that_affect_the_model_are_announced(
    tmp_path: Path, change: Change, sentence: str
) -> None:
    async with open_watched(tmp_path) as room:
        room.write_file("AGENTS.md", "Be kind.")
        write_file(tmp_path / "own/SOUL.md", "You are patient.")
        await room.prompt()
        change(room.root)
        if sentence:
            await wait_for_notice(room, f"{sentence}; {RELOAD}")
        soul = f"{tmp_path}/own/SOUL.md has changed; {RELOAD}"
        write_file(
            tmp_path / "own/SOUL.md", "You are quick."
        )  # what comes of both is told in order
        await wait_for_notice(room, soul)
        assert len(room.notices()) == 1 + bool(sentence)


async def test_memory_is_frozen_and_its_changes_are_not_announced(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as room:
        room.write_file("AGENTS.md", "One.")
        await room.prompt()
        write_file(tmp_path / "own/memories/MEMORY.md", "Something new.")
        room.write_file("AGENTS.md", "Two.")
        await wait_for_notice(room, CHANGED)
        assert room.notices() == [CHANGED]


async def test_all_open_sessions_of_a_directory_are_notified(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as room:
        room.write_file("AGENTS.md", "One.")
        other, closed = [await room.editor.new_session(room.root) for _ in range(2)]
        for session_id in (room.session_id, other, closed):
            await room.prompt(session_id=session_id)
        await room.editor.call("session/close", {"sessionId": closed})
        room.write_file("AGENTS.md", "Two.")
        await wait_for_notice(room, CHANGED)
        await wait_for_notice(room, CHANGED, other)
        assert not [
            u for u in room.editor.updates_of(closed) if json_at(u, "sessionUpdate") == "notice"
        ]


async def test_a_link_is_watched_at_its_target(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as room:
        rules = room.write_file("docs/rules.md", "One.")
        (room.root / "AGENTS.md").symlink_to(rules)
        await room.prompt()
        rules.write_text("Two.")
        await wait_for_notice(room, CHANGED)


async def test_files_of_the_enclosing_repository_are_watched(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    async with open_watched(tmp_path) as room:
        write_file(tmp_path / "AGENTS.md", "One.")
        await room.prompt()
        write_file(tmp_path / "AGENTS.md", "Two.")
        await wait_for_notice(room, f"{tmp_path}/AGENTS.md has changed; {RELOAD}")


async def test_without_watching_the_user_is_told_and_a_touch_finds_the_change(
    tmp_path: Path,
) -> None:
    def refuse(folders: Iterable[Path]) -> FileNotifier:
        del folders
        raise OSError(EXHAUSTED)

    events = partial(DirectoryEvents, refuse)
    async with open_prompted_session(tmp_path, capabilities=NOTICES, events=events) as room:
        room.write_file("AGENTS.md", "One.")
        await room.prompt()
        sentence = (
            f"Instruction files cannot be watched ({EXHAUSTED}); "
            "you are not told about changes; the agent reads them when it works in their directory"
        )
        await wait_for_notice(room, sentence)
        room.write_file("AGENTS.md", "Two.")
        told = await room.run_one(call("terminal", command="true"))
        assert hints_in(told.text) == [("AGENTS.md*", "Two.")]
        assert room.notices().count(sentence) == 1
        assert set(room.notices()) <= {sentence, CHANGED}  # work in new folders looks at all anew


async def test_the_built_server_watches_files(tmp_path: Path) -> None:
    root, home = tmp_path / "workspace", tmp_path / "own"
    home.mkdir()
    path = write_file(root / "AGENTS.md", "One.")
    async with open_editor(make_configuration(home, "prompt: *\nsay: Hello!")) as editor:
        await editor.initialize(clientCapabilities=NOTICES)
        await editor.prompt(await editor.new_session(root), "hi")
        path.write_text("Two.")
        notice: JsonValue = {"sessionUpdate": "notice", "severity": "info", "title": CHANGED}
        await editor.wait_for_response(
            lambda each: is_update(each) and json_at(each, "params", "update") == notice
        )
