"""What the user is told when files change: which sentences, and how often."""

from pathlib import Path

import pytest

from acp_server.session.prompting.file_changes import (
    LOADED_LATER,
    RELOAD,
    UNWATCHED,
    FileChangeReporter,
    FileDigests,
    FileLocations,
    locate_files,
)
from tests.support.user_texts import INSTRUCTIONS_NOT_WATCHED

NOTHING = FileLocations(frozenset(), frozenset())


class FileChangeHarness:
    """What was told, and what is there now."""

    def __init__(self, home: Path) -> None:
        self.delivered = FileDigests({"A.md": "1"}, {"b/A.md": "1"})
        self.now = self.delivered
        self.notices: list[str] = []
        self.can_show = True
        self.reporter = FileChangeReporter(None, home, self.compare, self.show)

    async def compare(self) -> tuple[FileDigests, FileDigests]:
        return self.delivered, self.now

    def show(self, sentence: str) -> bool:
        if self.can_show:
            self.notices.append(sentence)
        return self.can_show

    async def look(self, now: FileDigests) -> list[str]:
        """Return what is shown of a new state."""
        self.now, before = now, len(self.notices)
        await self.reporter.check_changes(frozenset())
        return self.notices[before:]


@pytest.mark.parametrize(
    ("now", "sentences"),
    [
        (FileDigests({"A.md": "1"}, {"b/A.md": "1"}), []),
        (FileDigests({"A.md": "2"}, {"b/A.md": "1"}), [f"A.md has changed; {RELOAD}"]),
        (FileDigests({"A.md": "1"}, {"b/A.md": "2"}), [f"b/A.md has changed; {LOADED_LATER}"]),
        (
            FileDigests({}, {"b/A.md": "2"}),
            [f"A.md was deleted; {RELOAD}", f"b/A.md has changed; {LOADED_LATER}"],
        ),
        (
            FileDigests({}, {"b/A.md": "1"}, frozenset({"A.md"})),
            [f"A.md has changed; {RELOAD}"],
        ),
        (
            FileDigests({"C.md": "1", "B.md": "1", "A.md": "2"}, {"b/A.md": "1"}),
            [f"A.md has changed, B.md now applies, C.md now applies; {RELOAD}"],
        ),
    ],
    ids=["nothing", "the prompt's", "a folder's", "both", "emptied", "several"],
)
async def test_a_notice_names_the_differences(
    tmp_path: Path, now: FileDigests, sentences: list[str]
) -> None:
    assert await FileChangeHarness(tmp_path).look(now) == sentences


async def test_a_file_superseded_by_another_is_not_reported_as_removed(tmp_path: Path) -> None:
    (tmp_path / "A.md").touch()
    now = FileDigests({"A.override.md": "1"}, {"b/A.md": "1"})
    assert await FileChangeHarness(tmp_path).look(now) == [f"A.override.md now applies; {RELOAD}"]


async def test_each_change_is_announced_once_per_prompt(tmp_path: Path) -> None:
    files = FileChangeHarness(tmp_path)
    for digest in ("2", "3", "1", "2"):
        await files.look(FileDigests({"A.md": digest}, {"b/A.md": "1"}))
    assert files.notices == [f"A.md has changed; {RELOAD}"]
    files.delivered = FileDigests({"A.md": "2"})
    files.reporter.restart(NOTHING)
    assert await files.look(FileDigests({"A.md": "2"})) == []
    assert await files.look(FileDigests({"A.md": "1"})) == [f"A.md has changed; {RELOAD}"]


async def test_a_directory_file_is_announced_again_after_its_change_is_delivered(
    tmp_path: Path,
) -> None:
    files = FileChangeHarness(tmp_path)
    await files.look(FileDigests({"A.md": "1"}, {"b/A.md": "2"}))
    await files.look(FileDigests({"A.md": "1"}, {"b/A.md": "3"}))
    files.delivered = files.now
    await files.look(FileDigests({"A.md": "1"}, {"b/A.md": "4"}))
    assert files.notices == [f"b/A.md has changed; {LOADED_LATER}"] * 2


async def test_unseen_notices_are_kept_until_taken(tmp_path: Path) -> None:
    files = FileChangeHarness(tmp_path)
    files.can_show = False
    await files.look(FileDigests({"A.md": "2"}, {"b/A.md": "1"}))
    assert files.reporter.take_notices() == (f"A.md has changed; {RELOAD}",)
    assert files.reporter.take_notices() == ()


async def test_a_rebuilt_prompt_discards_pending_notices(tmp_path: Path) -> None:
    files = FileChangeHarness(tmp_path)
    files.can_show = False
    await files.look(FileDigests({"A.md": "2"}, {"b/A.md": "1"}))
    files.delivered = files.now
    files.reporter.restart(NOTHING)
    assert files.reporter.take_notices() == ()


def test_a_watch_problem_is_kept_across_prompts(tmp_path: Path) -> None:
    files = FileChangeHarness(tmp_path)
    files.can_show = False
    files.reporter.report_problem("no watches are left")
    files.reporter.restart(NOTHING)
    problem = f"{INSTRUCTIONS_NOT_WATCHED}no watches are left); {UNWATCHED}"
    assert files.reporter.take_notices() == (problem,)
    assert files.reporter.take_notices() == ()


async def test_a_closed_session_is_not_notified(tmp_path: Path) -> None:
    files = FileChangeHarness(tmp_path)
    files.reporter.close()
    assert await files.look(FileDigests({"A.md": "2"})) == []
    assert files.reporter.take_notices() == ()


def test_files_are_watched_at_their_paths_and_at_link_targets(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.txt").write_text("text")
    (tmp_path / "A.md").symlink_to(tmp_path / "docs/rules.txt")
    locations = locate_files(FileDigests({"A.md": "1"}, {"b/B.md": "1"}), tmp_path, (Path("/own"),))
    assert locations.directories == {Path("/own"), tmp_path, tmp_path / "b", tmp_path / "docs"}
    assert {"A.md", "B.md", "rules.txt", "AGENTS.md", "SOUL.md"} <= locations.names
