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
from tests.prompting.test_stability import assert_each_extends_the_previous
from tests.session.watch_listener import SAVE_METHODS, make_fast_events, save_by_rename
from tests.support.editor import is_update, json_at, make_configuration, open_editor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import INSTRUCTIONS_NOT_WATCHED
from tests.tools.typing_model import call

EXHAUSTED = "no watches are left"
CHANGED = f"AGENTS.md has changed; {RELOAD}"
open_watched = partial(open_prompted_session, events=make_fast_events, capabilities=NOTICES)
Save = Callable[[Path, str], None]
Change = Callable[[Path], object]


async def wait_for_notice(session: PromptedSession, sentence: str, session_id: str = "") -> None:
    """Wait until a notice was shown, in the first session unless another is named."""

    def find() -> bool | None:
        updates = session.editor.updates_of(session_id or session.session_id)
        shown = [each for each in updates if json_at(each, "sessionUpdate") == "notice"]
        return any(json_at(each, "title") == sentence for each in shown) or None

    await session.editor.wait_until(find, f"notice {sentence!r}")


@pytest.mark.parametrize(
    "save",
    [
        # How each editor saves, the tests of the watch play: `tests/session/test_folder_events.py`.
        pytest.param(save, id=name, marks=() if name in {"VS Code", "vim"} else pytest.mark.full)
        for name, save in SAVE_METHODS.items()
    ],
)
async def test_the_user_is_notified_of_a_change_and_the_prompt_stays(
    tmp_path: Path, save: Save
) -> None:
    async with open_watched(tmp_path) as session:
        path = session.write_file("AGENTS.md", "Be kind.")
        await session.prompt()
        save(path, "Be brief.")
        await wait_for_notice(session, CHANGED)
        await session.prompt()
        await session.run_one(call("terminal", command="true"))
        requests = session.model.requests
        assert_each_extends_the_previous(requests)
        assert ("Be kind." in requests[-1].system, "Be brief." in requests[-1].system) == (1, 0)
        assert session.notices() == [CHANGED]


async def test_delivered_files_are_delivered_again_as_changed_on_the_next_touch(
    tmp_path: Path,
) -> None:
    async with open_watched(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("a/AGENTS.md", "Of a.")
        session.write_file("a/b.txt", "text")
        await session.run_one(call("read_file", path="a/b.txt"))
        session.write_file("a/AGENTS.md", "Of a, now.")
        remedy = "the current text is loaded when the agent next works in its directory"
        change = f"a/AGENTS.md has changed; {remedy}"
        await wait_for_notice(session, change)
        outcome = await session.run_one(call("read_file", path="a/b.txt"))
        assert hints_in(outcome.text) == [("a/AGENTS.md*", "Of a, now.")]
        session.write_file("a/AGENTS.md", "Of a, in the end.")
        session.write_file("AGENTS.md", "Of all, in the end.")
        await wait_for_notice(session, CHANGED)
        await session.editor.wait_until(
            lambda: session.notices().count(change) == 2 or None, "another"
        )
        assert_each_extends_the_previous(session.model.requests)


async def test_reload_uses_current_files_and_later_changes_are_announced_again(
    tmp_path: Path,
) -> None:
    async with open_watched(tmp_path) as session:
        session.write_file("AGENTS.md", "One.")
        await session.prompt()
        session.write_file("AGENTS.md", "Two.")
        await wait_for_notice(session, CHANGED)
        await session.run_command("/reload")
        assert "Two." in (await session.prompt()).system
        session.write_file("AGENTS.md", "Three.")
        await session.editor.wait_until(
            lambda: session.notices() == [CHANGED] * 2 or None, "another"
        )


async def test_a_client_without_notices_is_told_once_with_the_next_prompt(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path, events=make_fast_events) as session:
        session.write_file("AGENTS.md", "One.")
        await session.prompt()
        other = await session.editor.new_session(session.root)
        session.write_file("AGENTS.md", "Two.")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while CHANGED not in session.editor.agent_text(session.session_id):
                await session.prompt()
        await session.prompt()
        await session.prompt(session_id=other)
        assert session.editor.agent_text(session.session_id).count(CHANGED) == 1
        assert session.editor.agent_text(other).count(CHANGED) == 0


DELETED, CURSOR_RULE = "AGENTS.md was deleted", "---\nglobs: x\n---\nNo."
CHANGES: dict[str, tuple[Change, str]] = {
    "removed": (lambda root: (root / "AGENTS.md").unlink(), DELETED),
    "renamed": (
        lambda root: (root / "AGENTS.md").rename(root / "CLAUDE.md"),
        f"{DELETED}, CLAUDE.md now applies",
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
    async with open_watched(tmp_path) as session:
        session.write_file("AGENTS.md", "Be kind.")
        write_file(tmp_path / "own/SOUL.md", "You are patient.")
        await session.prompt()
        change(session.root)
        if sentence:
            await wait_for_notice(session, f"{sentence}; {RELOAD}")
        soul = f"{tmp_path}/own/SOUL.md has changed; {RELOAD}"
        write_file(
            tmp_path / "own/SOUL.md", "You are quick."
        )  # what comes of both is told in order
        await wait_for_notice(session, soul)
        assert len(session.notices()) == 1 + bool(sentence)


async def test_memory_is_frozen_and_its_changes_are_not_announced(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as session:
        session.write_file("AGENTS.md", "One.")
        await session.prompt()
        write_file(tmp_path / "own/memories/MEMORY.md", "Something new.")
        session.write_file("AGENTS.md", "Two.")
        await wait_for_notice(session, CHANGED)
        assert session.notices() == [CHANGED]


async def test_all_open_sessions_of_a_directory_are_notified(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as session:
        session.write_file("AGENTS.md", "One.")
        other, closed = [await session.editor.new_session(session.root) for _ in range(2)]
        for session_id in (session.session_id, other, closed):
            await session.prompt(session_id=session_id)
        await session.editor.call("session/close", {"sessionId": closed})
        session.write_file("AGENTS.md", "Two.")
        await wait_for_notice(session, CHANGED)
        await wait_for_notice(session, CHANGED, other)
        assert not [
            u for u in session.editor.updates_of(closed) if json_at(u, "sessionUpdate") == "notice"
        ]


async def test_a_link_is_watched_at_its_target(tmp_path: Path) -> None:
    async with open_watched(tmp_path) as session:
        rules_file = session.write_file("docs/rules.md", "One.")
        (session.root / "AGENTS.md").symlink_to(rules_file)
        await session.prompt()
        rules_file.write_text("Two.")
        await wait_for_notice(session, CHANGED)


async def test_files_of_the_enclosing_repository_are_watched(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    async with open_watched(tmp_path) as session:
        write_file(tmp_path / "AGENTS.md", "One.")
        await session.prompt()
        write_file(tmp_path / "AGENTS.md", "Two.")
        await wait_for_notice(session, f"{tmp_path}/AGENTS.md has changed; {RELOAD}")


async def test_without_watching_the_user_is_told_and_a_touch_finds_the_change(
    tmp_path: Path,
) -> None:
    def refuse(folders: Iterable[Path]) -> FileNotifier:
        del folders
        raise OSError(EXHAUSTED)

    events = partial(DirectoryEvents, refuse)
    async with open_prompted_session(tmp_path, capabilities=NOTICES, events=events) as session:
        session.write_file("AGENTS.md", "One.")
        await session.prompt()
        sentence = (
            f"{INSTRUCTIONS_NOT_WATCHED}{EXHAUSTED}); "
            "you are not told about changes; the agent reads them when it works in their directory"
        )
        await wait_for_notice(session, sentence)
        session.write_file("AGENTS.md", "Two.")
        outcome = await session.run_one(call("terminal", command="true"))
        assert hints_in(outcome.text) == [("AGENTS.md*", "Two.")]
        assert session.notices().count(sentence) == 1
        assert set(session.notices()) <= {
            sentence,
            CHANGED,
        }  # work in new folders looks at all anew


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
