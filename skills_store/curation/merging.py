"""Skill editor of the curator: files of a merged skill are moved to its successor byte for byte.

A model would retype text and cannot retype an image. So before a skill is archived, the files in
its four support directories are copied to the skill that absorbs it: to the same path, or if that
is taken, below a directory with the old skill's name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from skills_store.background_editor import UnaskedKeeper
from skills_store.calls import Done
from skills_store.changes import Change, Moved, Written, read_bytes
from skills_store.own_files import capture_own
from skills_store.ownership import Origin, owner_of, read_claims
from skills_store.skill import LINKED_FOLDERS, Skill
from skills_store.write_errors import ReadOnlyError


@dataclass(frozen=True, slots=True)
class _File:
    """A support file to transfer."""

    path: str
    data: bytes
    mode: int


class CuratorKeeper(UnaskedKeeper):
    """Skill editor of one curator run. All calls block."""

    origin: Origin = "curator"

    def commit(self, change: Change, undo_id: str | None = None) -> Done:
        """Commit a change; before a skill is archived, transfer its files to its successor.

        Raises:
            SkillError: The change is not allowed; nothing was archived.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; nothing was archived.
        """
        del undo_id
        if not isinstance(change.effect, Moved) or not change.effect.entry.absorbed_into:
            return super().commit(change)
        places = self._bring_along(change, self.holdings.find(change.effect.entry.absorbed_into))
        done = super().commit(change)
        if not places:
            return done
        listed = ", ".join(f"{old} as {new}" for old, new in places)
        told = f"Its files came along, byte for byte: {listed}. See that its SKILL.md names them."
        return replace(done, message=f"{done.message} {told}")

    def _bring_along(self, change: Change, umbrella: Skill) -> list[tuple[str, str]]:
        """Transfer files to a skill; return the old and new path of each."""
        files = list(_files_of(change.folder))
        if files and umbrella.root.kind != "home":
            owner = owner_of(umbrella, read_claims(self.home), self.usage)
            reason = "files can come along only to a skill in the user's own folder"
            raise ReadOnlyError(umbrella.full_name, owner, reason)
        return [(file.path, self._put(file, change.name, umbrella)) for file in files]

    def _put(self, file: _File, name: str, umbrella: Skill) -> str:
        for path in _places_for(file.path, name):
            place = umbrella.folder / path
            there = read_bytes(place) if not place.is_dir() else b""
            if there == file.data and not place.is_dir():
                return path
            if there is None:
                written = Written(place, None, file.data, file.mode)
                message = f"Moved {file.path} of {name!r} to {path} of {umbrella.name!r}."
                super().commit(
                    Change(
                        "write_file",
                        umbrella.name,
                        self.origin,
                        umbrella.folder,
                        written,
                        message,
                        umbrella,
                    )
                )
                return path
        raise AssertionError  # the iterator is infinite


def _files_of(folder: Path) -> Iterator[_File]:
    """Yield the files of the four support directories; symlinks are not transferred."""
    for path, leaf in capture_own(folder).items():
        if leaf.kind == "file" and path.split("/", 1)[0] in LINKED_FOLDERS:
            data = read_bytes(folder / path)
            if data is not None:
                yield _File(path, data, leaf.mode)


def _places_for(path: str, name: str) -> Iterator[str]:
    """Yield the possible target paths of a file, the best first."""
    yield path
    kind, *rest = PurePosixPath(path).parts
    below = PurePosixPath(*rest)
    yield str(PurePosixPath(kind, name) / below)
    number = 2
    while True:
        yield str(PurePosixPath(kind, f"{name}-{number}") / below)
        number += 1
