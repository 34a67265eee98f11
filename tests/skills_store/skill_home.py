"""Home directory with skills, for tests of the code that changes them."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from skills_store.calls import ManageCall, ManageResult
from skills_store.editor import SkillEditor
from skills_store.skill import SkillRoot

TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}")


@dataclass
class TickingClock:
    """Clock that advances by a second on every reading."""

    time: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def skill_document(
    name: str, body: str = "1. Do it.\n", description: str = "What it is for"
) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{body}"


def write_skill(root: Path, relative: str, text: str | None = None, **files: str) -> Path:
    """Write a skill; in a file's name `__` is its slash and `_dot_` its dot."""
    folder = root / relative
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(skill_document(folder.name) if text is None else text)
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@dataclass
class SkillHome:
    """Home directory, workspace and the other locations of skills."""

    folder: Path
    clock: TickingClock = field(default_factory=TickingClock)

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.skills = self.home / "skills"
        self.workspace = self.folder / "work" / ".agents" / "skills"
        self.find_agents = self.folder / "agents"
        self.external = self.folder / "external"
        self.bundled = self.folder / "bundled"
        self.plugin = self.folder / "plugin"
        self.skills.mkdir(parents=True, exist_ok=True)
        self.editor = self.new_editor()

    def new_editor(self) -> SkillEditor:
        return SkillEditor(self.home, self.roots, self.clock)

    def roots(self) -> tuple[SkillRoot, ...]:
        return (
            SkillRoot("workspace", self.workspace, is_writable=True),
            SkillRoot("home", self.skills, is_writable=True),
            SkillRoot("agents", self.find_agents, is_writable=True),
            SkillRoot("external", self.external),
            SkillRoot("bundled", self.bundled),
            SkillRoot("plugin", self.plugin, plugin="tools"),
        )

    def apply(self, call: ManageCall) -> ManageResult:
        return self.editor.commit(self.editor.plan(call))


def as_review(call: ManageCall) -> ManageCall:
    return replace(call, origin="review")


def match_nothing(path: str) -> bool:
    return not path


def files_in(folder: Path, *, is_hidden: Callable[[str], bool] = match_nothing) -> dict[str, bytes]:
    """Return all files below a directory, without temporary files left by a crash."""
    found: dict[str, bytes] = {}
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            relative = path.relative_to(folder).as_posix()
            if not TEMPORARY.fullmatch(name) and not is_hidden(relative):
                is_link = path.is_symlink()
                found[relative] = bytes(path.readlink()) if is_link else path.read_bytes()
    return found


def is_bookkeeping(path: str) -> bool:
    return path.startswith((".usage.json", ".archive/"))


def visible_files(skills: Path) -> dict[str, bytes]:
    return files_in(skills, is_hidden=is_bookkeeping)


def files_below(files: Mapping[str, bytes], directory: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.startswith(f"{directory}/")}


def names_of(items: Iterable[Path]) -> list[str]:
    return sorted(item.name for item in items)
