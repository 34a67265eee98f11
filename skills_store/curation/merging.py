"""Skill editor of the curator: files of a merged skill are moved to its successor byte for byte.

A model would retype text and cannot retype an image. So before a skill is archived, the files in
its four support directories are copied to the skill that absorbs it: to the same path, or if that
is taken, below a directory with the old skill's name.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import PurePosixPath

from skills_store.background_editor import BackgroundSkillEditor
from skills_store.calls import ManageResult
from skills_store.changes import FileEdit, SkillChange, SkillMove, read_bytes
from skills_store.own_files import capture_own
from skills_store.ownership import ChangeOrigin, owner_of, read_installed_names
from skills_store.skill import LINKED_FOLDERS, Skill
from skills_store.write_errors import ReadOnlySkillError


class CuratorSkillEditor(BackgroundSkillEditor):
    """Skill editor of one curator run. All calls block."""

    origin: ChangeOrigin = "curator"

    def commit(self, change: SkillChange, undo_id: str | None = None) -> ManageResult:
        """Commit a change; before a skill is archived, transfer its files to its successor.

        Raises:
            SkillError: The change is not allowed; nothing was archived.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; nothing was archived.
        """
        del undo_id
        if not isinstance(change.effect, SkillMove) or not change.effect.entry.absorbed_into:
            return super().commit(change)
        umbrella = self.catalog.find(change.effect.entry.absorbed_into)
        # Only the four support directories, and no symlinks.
        files = [
            (path, data, entry.mode)
            for path, entry in capture_own(change.folder).items()
            if entry.kind == "file" and path.split("/", 1)[0] in LINKED_FOLDERS
            if (data := read_bytes(change.folder / path)) is not None
        ]
        if files and umbrella.root.kind != "home":
            owner = owner_of(umbrella, read_installed_names(self.home), self.usage)
            reason = "files can come along only to a skill in the user's own folder"
            raise ReadOnlySkillError(umbrella.full_name, owner, reason)
        transferred = [
            (path, self._transfer(path, data, mode, change.name, umbrella))
            for path, data, mode in files
        ]
        result = super().commit(change)
        if not transferred:
            return result
        listed = ", ".join(f"{old} as {new}" for old, new in transferred)
        notice = f"Its files came along, byte for byte: {listed}. See that its SKILL.md names them."
        return replace(result, message=f"{result.message} {notice}")

    def _transfer(self, path: str, data: bytes, mode: int, name: str, umbrella: Skill) -> str:
        """Copy a file of the skill `name` to another skill; return its path there."""
        for target_path in _target_paths(path, name):
            target = umbrella.folder / target_path
            if target.is_dir():
                continue
            existing = read_bytes(target)
            if existing == data:
                return target_path
            if existing is None:
                effect = FileEdit(target, None, data, mode)
                message = f"Moved {path} of {name!r} to {target_path} of {umbrella.name!r}."
                super().commit(
                    SkillChange(
                        "write_file",
                        umbrella.name,
                        self.origin,
                        umbrella.folder,
                        effect,
                        message,
                        umbrella,
                    )
                )
                return target_path
        raise AssertionError  # the iterator is infinite


def _target_paths(path: str, name: str) -> Iterator[str]:
    """Yield the possible target paths of a file, the best first."""
    yield path
    kind, *rest = PurePosixPath(path).parts
    relative_path = PurePosixPath(*rest)
    yield str(PurePosixPath(kind, name) / relative_path)
    for number in count(2):
        yield str(PurePosixPath(kind, f"{name}-{number}") / relative_path)
