"""All files of the workspace at one moment, and the changes between two moments.

Pure but for the serialization. A file that exists but is not stored is known by its stat
fingerprint, so that a change can be noticed; a file never counts as new only because it was not
stored.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import cast

from pydantic import JsonValue

from acp_server.checkpoints.errors import CheckpointReadError
from acp_server.checkpoints.records import (
    FileVersion,
    RecordedChange,
    version_as_json,
    version_from_json,
)
from acp_server.startup.fast_dataclass import frozen_dataclass

StatFingerprint = tuple[int, ...]
"""Fingerprint of a file that shows changes without reading it: size, mtime, ctime and inode."""
IGNORE_FILE = ".gitignore"
CLOCK_SLACK_SECONDS = 0.1
"""File times come from a coarser clock than `time.time`."""


@frozen_dataclass
class OmittedFile:
    """A file that is not stored, or a directory that was not searched, and why."""

    reason: str
    fingerprint: StatFingerprint


@frozen_dataclass
class Manifest:
    """The files of the workspace at one moment, by absolute path."""

    taken_at: float
    """Seconds since 1970 when the snapshot began."""
    states: Mapping[str, FileVersion] = field(default_factory=dict[str, FileVersion])
    omitted: Mapping[str, OmittedFile] = field(default_factory=dict[str, OmittedFile])
    folders: frozenset[str] = frozenset()
    """Directories without stored files; there may be other files below them."""
    failures: tuple[str, ...] = ()
    """One phrase for each root that could not be searched at all."""
    ignored: frozenset[str] = frozenset()
    """Files that git ignores and that are not stored; a directory stands for all its content."""


FileProbe = Callable[[str], tuple[StatFingerprint, float] | None]
"""Returns a file's fingerprint and ctime; None if it does not exist."""


def encode(manifest: Manifest) -> bytes:
    """Serialize a manifest."""
    document: JsonValue = {
        "taken_at": manifest.taken_at,
        "states": {path: version_as_json(state) for path, state in manifest.states.items()},
        "unkept": {
            path: [each.reason, *each.fingerprint] for path, each in manifest.omitted.items()
        },
        "folders": list(manifest.folders),
        "faults": list(manifest.failures),
        "ignored": list(manifest.ignored),
    }
    return zlib.compress(json.dumps(document).encode(), 1)


def decode(data: bytes) -> Manifest:
    """Deserialize a manifest.

    Raises:
        CheckpointReadError: the data is not a manifest.
    """
    try:
        document = json.loads(zlib.decompress(data))
        states: dict[str, JsonValue] = document["states"]
        omitted: dict[str, list[JsonValue]] = document["unkept"]
        return Manifest(
            document["taken_at"],
            {path: state for path, value in states.items() if (state := version_from_json(value))},
            {
                path: OmittedFile(str(reason), cast("StatFingerprint", tuple(fingerprint)))
                for path, (reason, *fingerprint) in omitted.items()
            },
            frozenset(document["folders"]),
            tuple(document["faults"]),
            frozenset(document.get("ignored", [])),
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        reason = f"the list of files cannot be read: {error}"
        raise CheckpointReadError(reason) from error


def find_changes(before: Manifest, after: Manifest, probe: FileProbe) -> Iterator[RecordedChange]:
    """Yield the changes of stored files."""
    paths = dict.fromkeys((*before.states, *after.states))
    known = {state.blob for state in before.states.values()}
    changed = {path for path in paths if before.states.get(path) != after.states.get(path)}
    rules_changed = any(path.rpartition("/")[2] == IGNORE_FILE for path in changed)
    for path in paths:
        old, new = before.states.get(path), after.states.get(path)
        # Without a state from before, a change cannot be told from an old file.
        if _is_within(path, before.omitted) or (old == new and path not in after.omitted):
            continue
        # Moving a directory leaves the times of its files; but then their content is known.
        is_known_content = new is not None and new.blob in known
        if old is None and not is_known_content and not _changed_since(before, probe(path)):
            continue  # it is not new: only its ignore rule has changed
        # A changed .gitignore makes old files appear, so "created in the turn" is uncertain then.
        is_seen = not _is_within(path, after.omitted)
        is_certain = is_seen and not (old is None and rules_changed)
        yield RecordedChange(path, old, new, is_certain, is_own=False)


def _is_within(path: str, omitted: Mapping[str, OmittedFile]) -> bool:
    """Return whether a file, or a directory above it, was not stored."""
    return path in omitted or any(folder in omitted for folder in parent_directories(path))


def _changed_since(before: Manifest, probed: tuple[StatFingerprint, float] | None) -> bool:
    """Return whether a file has disappeared or was touched since a manifest was taken."""
    return probed is None or probed[1] >= before.taken_at - CLOCK_SLACK_SECONDS


def find_created_directories(
    before: Manifest, changes: Iterable[RecordedChange], top: str
) -> Iterator[str]:
    """Yield the directories, below a root, that changes have created."""
    known = {folder for path in before.states for folder in parent_directories(path)}
    for change in changes:
        parents = parent_directories(change.path) if change.before is None else ()
        for folder in parents:
            is_old = folder in known or folder in before.folders or not folder.startswith(f"{top}/")
            if not is_old and before.folders.isdisjoint(parent_directories(folder)):
                yield folder


def parent_directories(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def find_lost_changes(before: Manifest, probe: FileProbe) -> Iterator[tuple[str, str]]:
    """Yield files that may have been changed but are not stored, with the reason."""
    for path, each in before.omitted.items():
        probed = probe(path)
        if probed is None or not each.fingerprint or probed[0] != each.fingerprint:
            yield path, each.reason


def find_ignored_changes(before: Manifest, after: Manifest, probe: FileProbe) -> Iterator[str]:
    """Yield ignored files or directories that were created, deleted or changed.

    Changes deeper in an ignored directory are not noticed.
    """
    for path in sorted(before.ignored | after.ignored):
        if _changed_since(before, probe(path)):
            yield path
