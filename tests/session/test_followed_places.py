"""Places of files are read once when a session opens, and again after each change."""

from pathlib import Path

import pytest

from acp_server.project_files.followed_places import FollowedPlaces
from acp_server.project_files.places import FilePlace
from acp_server.session.prompting.file_watch import FileWatch, Subscription
from tests.session.watch_listener import RecordingListener, open_watch


def place(folder: Path) -> FilePlace:
    """Return a directory as a place of Markdown files."""
    return FilePlace(folder, folder.resolve(), ".md", "notes", is_nested=False, is_users=True)


async def follow(folder: Path, watch: FileWatch) -> RecordingListener:
    """Follow a place; the result has a check for each time that the files are to be read."""
    reader = RecordingListener()

    async def read() -> None:
        await reader.check_changes(frozenset())

    await FollowedPlaces([place(folder)], watch, read).follow()
    return reader


async def test_a_second_session_need_not_read_twice_and_is_told_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_watch() as watch:
        first = await follow(tmp_path, watch)
        await first.wait_until(lambda: bool(first.checks))  # the watching has started
        scheduled = list[Subscription]()
        with monkeypatch.context() as patch:
            patch.setattr(watch, "schedule_check", scheduled.append)
            second = await follow(tmp_path, watch)
        assert (scheduled, second.checks) == ([], [])
        (tmp_path / "new.md").write_text("Be kind.")
        await second.wait_until(lambda: bool(second.checks))


async def test_a_directory_that_appears_later_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    async with open_watch() as watch:
        reader = await follow(folder, watch)
        await reader.wait_until(lambda: bool(reader.checks))
        folder.mkdir()
        await reader.wait_until(lambda: len(reader.checks) > 1)
        known = len(reader.checks)
        (folder / "new.md").write_text("Be kind.")
        await reader.wait_until(lambda: len(reader.checks) > known)
