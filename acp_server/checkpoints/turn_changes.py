"""Works out the changes of a turn from its edits and the snapshots around it. Pure.

The text that an edit started from outranks the snapshot if it was not saved, or if nothing was
stored before it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acp_server.checkpoints.manifests import (
    FileProbe,
    Manifest,
    find_changes,
    find_created_directories,
    find_ignored_changes,
    find_lost_changes,
)
from acp_server.checkpoints.records import RecordedChange, RecordedEdit, TurnRecord

IGNORED = "git ignores it; add it to `checkpoints.include` to include it"


def resolve_changes(
    record: TurnRecord,
    before: Manifest | None,
    after: Manifest | None,
    roots: Iterable[str],
    probe: FileProbe,
) -> TurnRecord:
    """Return a record with the changes of its turn, and the changed files that were not stored.

    `before` and `after` are the snapshots around the turn's commands; None if it ran none.
    """
    changes, omitted = _resolve(record, before, after, probe)
    folders = dict.fromkeys(record.folders)
    if before is not None:
        for root in roots:
            folders |= dict.fromkeys(find_created_directories(before, changes, root))
    return replace(record, changes=changes, omitted=omitted, folders=tuple(folders))


def _resolve(
    record: TurnRecord, before: Manifest | None, after: Manifest | None, probe: FileProbe
) -> tuple[tuple[RecordedChange, ...], Mapping[str, str]]:
    edits = {edit.path: edit for edit in record.edits}
    omitted = dict(record.omitted)
    if before is None or after is None:
        return tuple(filter(_is_real, map(_from_edit, edits.values()))), omitted
    changes = {each.path: each for each in find_changes(before, after, probe)}
    for path, edit in edits.items():
        is_covered = path in before.states or path in after.states
        changes[path] = _merge(edit, before, after) if is_covered else _from_edit(edit)
    omitted |= {p: reason for p, reason in find_lost_changes(before, probe) if p not in edits}
    real = tuple(filter(_is_real, changes.values()))
    if real or omitted:  # alone no reason for a record: test runs change caches
        ignored = find_ignored_changes(before, after, probe)
        omitted |= {path: IGNORED for path in ignored if path not in changes}
    return real, omitted


def mark_uncertain(changes: Iterable[RecordedChange]) -> tuple[RecordedChange, ...]:
    """Return changes marked as possibly made by another program after the turn."""
    return tuple(replace(each, is_after_known=False) for each in changes)


def _from_edit(edit: RecordedEdit) -> RecordedChange:
    return RecordedChange(edit.path, edit.before, edit.after, edit.is_after_known)


def _merge(edit: RecordedEdit, before: Manifest, after: Manifest) -> RecordedChange:
    uses_edit = edit.is_before_commands or edit.is_buffer or edit.path in before.omitted
    old = edit.before if uses_edit else before.states.get(edit.path)
    if edit.is_after_buffer:
        return RecordedChange(edit.path, old, edit.after, edit.is_after_known)
    new = after.states.get(edit.path)
    is_own = edit.is_after_known and new == edit.after
    return RecordedChange(edit.path, old, new, edit.path not in after.omitted, is_own)


def _is_real(change: RecordedChange) -> bool:
    return change.before != change.after or not change.is_after_known
