"""Works out the changes of a turn from its edits and the snapshots around it. Pure.

The text that an edit started from outranks the snapshot if it was not saved, or if nothing was
stored before it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acp_server.checkpoints.manifests import (
    Look,
    Manifest,
    changes_between,
    folders_made,
    ignored_between,
    lost_between,
)
from acp_server.checkpoints.records import Change, Edit, Record
from acp_server.startup.fast_dataclass import frozen

IGNORED = "git ignores it; add it to `checkpoints.include` to include it"


@frozen
class Seen:
    """Snapshots before and after a turn's commands; None if it ran none."""

    before: Manifest | None
    after: Manifest | None
    roots: tuple[str, ...]


def settled(record: Record, seen: Seen, look: Look) -> Record:
    """Return a record with the changes of its turn, and the changed files that were not stored."""
    changes, unkept = _settled(record, seen.before, seen.after, look)
    folders = dict.fromkeys(record.folders)
    if seen.before is not None:
        for root in seen.roots:
            folders |= dict.fromkeys(folders_made(seen.before, changes, root))
    return replace(record, changes=changes, unkept=unkept, folders=tuple(folders))


def _settled(
    record: Record, before: Manifest | None, after: Manifest | None, look: Look
) -> tuple[tuple[Change, ...], Mapping[str, str]]:
    edits = {edit.path: edit for edit in record.edits}
    unkept = dict(record.unkept)
    if before is None or after is None:
        return tuple(filter(_is_real, map(_from_edit, edits.values()))), unkept
    changes = {each.path: each for each in changes_between(before, after, look)}
    for path, edit in edits.items():
        is_covered = path in before.states or path in after.states
        changes[path] = _joined(edit, before, after) if is_covered else _from_edit(edit)
    unkept |= {p: reason for p, reason in lost_between(before, look) if p not in edits}
    real = tuple(filter(_is_real, changes.values()))
    if real or unkept:  # alone no reason for a record: test runs change caches
        ignored = ignored_between(before, after, look)
        unkept |= {path: IGNORED for path in ignored if path not in changes}
    return real, unkept


def uncertain(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return changes marked as possibly made by another program after the turn."""
    return tuple(replace(each, is_after_known=False) for each in changes)


def _from_edit(edit: Edit) -> Change:
    return Change(edit.path, edit.before, edit.after, edit.is_after_known)


def _joined(edit: Edit, before: Manifest, after: Manifest) -> Change:
    counts = edit.came_first or edit.is_buffer or edit.path in before.unkept
    old = edit.before if counts else before.states.get(edit.path)
    if edit.is_after_buffer:
        return Change(edit.path, old, edit.after, edit.is_after_known)
    return Change(edit.path, old, after.states.get(edit.path), edit.path not in after.unkept)


def _is_real(change: Change) -> bool:
    return change.before != change.after or not change.is_after_known
