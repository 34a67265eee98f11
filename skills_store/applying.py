"""Apply a planned change to the disk. The caller holds the lock and has checked that it is allowed.

At any moment each file has its old or new bytes, and a skill is complete or absent. Symlinks
created since the change was planned are not followed.
"""

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from skills_store.archive import FOLDER_NAME, STAGING_NAME, SkillArchive
from skills_store.atomic import write_atomically_in
from skills_store.changes import FileEdit, SkillChange, SkillCopy, SkillMove
from skills_store.own_files import has_only_own_entries, move_entries
from skills_store.pinned_folder import PinnedFolder
from skills_store.trees import capture_tree, copy_tree, make_writable
from skills_store.write_errors import StaleChangeError


def apply_change(change: SkillChange, skills_folder: Path, archive: SkillArchive) -> None:
    """Apply a change.

    Raises:
        StaleChangeError: The source changed while it was copied; nothing was changed.
        OSError: A write failed, or a symlink is in the path; existing files are unchanged.
    """
    effect, paths = change.effect, change.resolved_paths or tuple(map(_real_path, change.paths))
    match effect:
        case FileEdit():
            _edit(effect, paths[0])
        case SkillCopy():
            _copy(effect, skills_folder / FOLDER_NAME / STAGING_NAME)
        case SkillMove():
            _move(effect, archive)
        case _:
            assert_never(effect)


def _edit(edit: FileEdit, path: Path) -> None:
    """Write a file, or remove it, and its directory if that is empty then."""
    if edit.new is None:
        with PinnedFolder.at_without_links(path.parent) as folder:
            folder.unlink(path.name)
        _remove_empty([path.parent])
        return
    created_folders = [folder for folder in path.parents if not folder.exists()]
    try:
        with PinnedFolder.create(path.parent) as folder:
            write_atomically_in(folder, path.name, edit.new, edit.mode)
    except OSError:
        _remove_empty(created_folders)
        raise


def _copy(effect: SkillCopy, staging: Path) -> None:
    """Build the changed copy in the staging directory, then rename it into place."""
    shutil.rmtree(
        staging, ignore_errors=True
    )  # left over from a crash: we hold the lock, so it is unused
    copy = staging / secrets.token_hex(8)
    try:
        tree = make_writable(effect.tree)  # the source may be read-only
        copy_tree(effect.source, copy, tree)
        # Detects changes of the source during the copy: the source is not under our lock.
        if capture_tree(copy) != tree:
            raise StaleChangeError(effect.source)
        _edit(effect.edit, _real_path(copy) / effect.edit.path.relative_to(effect.target))
        effect.target.parent.mkdir(parents=True, exist_ok=True)
        copy.rename(effect.target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move(effect: SkillMove, archive: SkillArchive) -> None:
    if effect.target.exists():
        raise StaleChangeError(effect.target)
    # Record first: after a crash in between, the record has no directory and is ignored.
    archive.record(effect.entry)
    if has_only_own_entries(effect.source):
        effect.source.rename(effect.target)
    else:
        move_entries(effect.source, effect.target, effect.names, is_archiving=True)


def _remove_empty(folders: list[Path]) -> None:
    """Remove empty directories, innermost first."""
    with suppress(OSError):
        for folder in folders:
            with PinnedFolder.at_without_links(folder.parent) as parent:
                parent.rmdir(folder.name)


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))
