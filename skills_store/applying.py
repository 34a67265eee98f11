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

from skills_store.archive import FOLDER_NAME, MAKING_NAME, Archive
from skills_store.atomic import write_held
from skills_store.changes import Change, Copied, Moved, Removed, Written
from skills_store.own_files import is_only_skill, move_entries
from skills_store.pinned_folder import HeldFolder
from skills_store.trees import capture, copy_tree, writable
from skills_store.write_errors import OutdatedError


def apply(change: Change, skills_folder: Path, archive: Archive) -> None:
    """Apply a change.

    Raises:
        StaleChangeError: The source changed while it was copied; nothing was changed.
        OSError: A write failed, or a symlink is in the path; existing files are unchanged.
    """
    effect, places = change.effect, change.places or tuple(map(_real, change.paths))
    match effect:
        case Written():
            _write(effect, places[0])
        case Removed():
            _remove(places[0])
        case Copied():
            _copy(effect, skills_folder / FOLDER_NAME / MAKING_NAME)
        case Moved():
            _move(effect, archive)
        case _:
            assert_never(effect)


def _write(effect: Written, path: Path) -> None:
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        with HeldFolder.made(path.parent) as folder:
            write_held(folder, path.name, effect.new, effect.mode)
    except OSError:
        _remove_empty(made)
        raise


def _remove(path: Path) -> None:
    """Remove a file, and its directory if that is empty then."""
    with HeldFolder.plain(path.parent) as folder:
        folder.unlink(path.name)
    _remove_empty([path.parent])


def _copy(effect: Copied, making: Path) -> None:
    """Build the changed copy in the staging directory, then rename it into place."""
    shutil.rmtree(
        making, ignore_errors=True
    )  # left over from a crash: we hold the lock, so it is unused
    copy = making / secrets.token_hex(8)
    try:
        tree = writable(effect.tree)  # the source may be read-only
        copy_tree(effect.source, copy, tree)
        # Detects changes of the source during the copy: the source is not under our lock.
        if capture(copy) != tree:
            raise OutdatedError(effect.source)
        inside = _real(copy) / effect.inside.path.relative_to(effect.target)
        if isinstance(effect.inside, Written):
            _write(effect.inside, inside)
        else:
            _remove(inside)
        effect.target.parent.mkdir(parents=True, exist_ok=True)
        copy.rename(effect.target)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _move(effect: Moved, archive: Archive) -> None:
    if effect.target.exists():
        raise OutdatedError(effect.target)
    # Record first: after a crash in between, the record has no directory and is ignored.
    archive.note(effect.entry)
    if is_only_skill(effect.source):
        effect.source.rename(effect.target)
    else:
        move_entries(effect.source, effect.target, effect.names, is_leaving=True)


def _remove_empty(folders: list[Path]) -> None:
    """Remove empty directories, innermost first."""
    with suppress(OSError):
        for folder in folders:
            with HeldFolder.plain(folder.parent) as above:
                above.rmdir(folder.name)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
