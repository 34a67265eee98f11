"""Skill roots: which changes on the disk they notice, and when their library is not polled."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import lowlevel

from acp_server.skills.skill_roots import SkillRoots
from skills_store.index_cache import IndexCache
from skills_store.roots import resolve_roots
from skills_store.skill import SkillRoot
from tests.session.watch_listener import open_watch
from tests.skills_store.skill_files import write_file, write_skill
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


class Reader:
    """Reads the library after each notification, and waits for an expected state."""

    def __init__(self) -> None:
        self.roots: SkillRoots | None = None
        self._changed = anyio.Event()

    async def read(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def names(self) -> list[str]:
        assert self.roots is not None
        return [skill.full_name for skill in self.roots.library.skills()]

    def descriptions(self) -> list[str]:
        assert self.roots is not None
        return [skill.description for skill in self.roots.library.skills()]

    async def until(self, names: list[str]) -> None:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while self.names() != names:
                await self._changed.wait()

    async def until_watched(self, path: Path) -> None:
        assert self.roots is not None
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while not self.roots.is_relevant(path):
                await self._changed.wait()

    async def until_described(self, description: str) -> None:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while self.descriptions() != [description]:
                await self._changed.wait()


def make_roots(folder: Path, workspace: Path | None = None) -> SkillRoots:
    locations = (folder / "home", folder / "user", folder / "bundled", workspace)
    return SkillRoots(folder / "home", lambda: resolve_roots(*locations), IndexCache())


@asynccontextmanager
async def open_reader(folder: Path, workspace: Path | None = None) -> AsyncGenerator[Reader]:
    """Subscribe to watched roots, and unsubscribe."""
    locations = (folder / "home", folder / "user", folder / "bundled", workspace)
    reader = Reader()
    async with open_watch() as watch:
        reader.roots = SkillRoots(
            folder / "home", lambda: resolve_roots(*locations), IndexCache(), watch
        )
        reader.roots.subscribe(reader.read)
        yield reader
        assert reader.roots.unsubscribe(reader.read)


async def test_added_changed_and_removed_skills_are_noticed(tmp_path: Path) -> None:
    first = write_skill(tmp_path / "home/skills/first")
    async with open_reader(tmp_path) as reader:
        await reader.until(["first"])
        second = write_skill(tmp_path / "home/skills/ops/deep/second")
        await reader.until(["first", "second"])
        (second / "SKILL.md").unlink()
        await reader.until(["first"])
        first.rename(first.with_name("other"))
        await reader.until(["other"])


async def test_newly_created_roots_are_noticed(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    async with open_reader(tmp_path, workspace) as reader:
        await reader.until([])
        write_skill(tmp_path / "home/skills/mine")
        await reader.until(["mine"])
        write_skill(workspace / ".claude/skills/theirs")
        await reader.until(["mine", "theirs"])
        write_skill(tmp_path / "home/plugins/extra/skills/more")
        await reader.until(["extra:more", "mine", "theirs"])


async def test_only_paths_of_possible_skills_are_relevant(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    folder = write_skill(tmp_path / "home/skills/mine")
    workspace.mkdir()
    async with open_reader(tmp_path, workspace) as reader:
        assert reader.roots is not None
        await reader.until_watched(folder / "SKILL.md")
        concerns = {
            folder / "SKILL.md": True,
            folder / "notes": True,
            tmp_path / "home/skills/new": True,
            tmp_path / "home/skills/.usage.json": False,
            tmp_path / "home/skills/..usage.json.0123456789abcdef": False,
            workspace / ".agents": True,
            workspace / "main.py": False,
            tmp_path / "user/.agents": True,
            tmp_path / "home/config.yaml": False,
        }
        found = {path: reader.roots.is_relevant(path) for path in concerns}
        assert found == concerns


async def test_a_link_is_watched_at_its_target(tmp_path: Path) -> None:
    real = write_skill(tmp_path / "elsewhere/real", "Before.")
    home = tmp_path / "home/skills/linked"
    home.mkdir(parents=True)
    (home / "SKILL.md").symlink_to(real / "SKILL.md")
    async with open_reader(tmp_path) as reader:
        await reader.until(["linked"])
        write_file(real / "SKILL.md", "---\nname: linked\ndescription: After.\n---\n1. Do.\n")
        await reader.until_described("After.")


async def test_nothing_is_read_for_watching_before_it_starts(tmp_path: Path) -> None:
    may_start, scans = anyio.Event(), list[str]()

    def roots() -> Sequence[SkillRoot]:
        scans.append("")
        return [SkillRoot("home", tmp_path / "home/skills")]

    reader = Reader()
    folder = write_skill(tmp_path / "home/skills/mine")
    async with open_watch(wait_to_start=may_start.wait) as watch:
        reader.roots = SkillRoots(tmp_path / "home", roots, IndexCache(), watch)
        reader.roots.subscribe(reader.read)
        await lowlevel.checkpoint()
        assert scans == []
        may_start.set()
        await reader.until_watched(folder / "SKILL.md")


async def test_unwatched_skill_roots_are_scanned_on_each_read(tmp_path: Path) -> None:
    roots = make_roots(tmp_path)
    reader = Reader()
    reader.roots = roots
    roots.subscribe(reader.read)
    assert reader.names() == []
    write_skill(tmp_path / "home/skills/mine")
    assert reader.names() == ["mine"]
    assert roots.unsubscribe(reader.read)
