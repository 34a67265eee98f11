"""A change being made on the disk. Whoever calls this holds the lock and has looked that it may be.

At any moment every file has its old bytes or its new ones, and a skill is whole or not there.
Whatever links are put in the way since the change was planned: they are not followed.
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
from skills_store.folders import is_only_skill, move_entries
from skills_store.held import HeldFolder
from skills_store.refusals import OutdatedError
from skills_store.trees import capture, copy_tree, writable


def apply(change: Change, skills_folder: Path, archive: Archive) -> None:
    """Make a change.

    Raises:
        OutdatedError: what is copied changes while it is; nothing was changed.
        OSError: the disk refuses, or a link is in the way; what was there is as it was.
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
    """Remove a file, and its folder below the skill's when nothing is left in it."""
    with HeldFolder.plain(path.parent) as folder:
        folder.unlink(path.name)
    _remove_empty([path.parent])


def _copy(effect: Copied, making: Path) -> None:
    """Put the changed copy together where no scan comes, then rename it to its place."""
    shutil.rmtree(making, ignore_errors=True)  # what a crash left: the lock says nobody is at it
    copy = making / secrets.token_hex(8)
    try:
        tree = writable(effect.tree)  # what is copied may come from a read-only place
        copy_tree(effect.source, copy, tree)
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
    archive.note(effect.entry)
    if is_only_skill(effect.source):
        effect.source.rename(effect.target)
    else:
        move_entries(effect.source, effect.target, effect.names, is_leaving=True)


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            with HeldFolder.plain(folder.parent) as above:
                above.rmdir(folder.name)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
