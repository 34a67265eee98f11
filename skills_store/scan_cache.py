"""Scan cache on disk: scan results of each root, so that a new process need not read every skill.

Only a cache: an invalid file counts as missing and is rebuilt. Written atomically.
"""

import contextlib
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from skills_store.atomic import write_atomically
from skills_store.json_file import Json, JsonObject
from skills_store.locks import locked
from skills_store.reading import Stamp, read_regular
from skills_store.root_scan import RootScan
from skills_store.skill import LoadProblem, Skill, SkillRoot

logger = logging.getLogger(__name__)

VERSION = 2
"""Increase this whenever the same skill files would be read differently."""
MAX_ROOTS = 32
"""Limit of cached roots over all workspaces; the most recently written are kept."""
MAX_BYTES = 64 * 1024 * 1024

_PRIVATE_MODE = 0o600
_STAMP_LENGTH = 2
_LOCK_TIMEOUT_SECONDS = 0.5
_ROOTS = b', "roots": '
_END = b"}\n"


class InvalidScanCacheError(ValueError):
    """The file is damaged or was written by another version."""


class ScanCache:
    """The scan cache file. All calls block; none raises."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def load(self, roots: Sequence[SkillRoot]) -> dict[SkillRoot, RootScan]:
        """Return the cached scans of some roots, without checking that they are current."""
        try:
            entries = self._entries()
            cached = {root: entries[_key(root)] for root in roots if _key(root) in entries}
            return {root: _parse_scan(root, entry) for root, entry in cached.items()}
        except FileNotFoundError:
            return {}
        except (OSError, InvalidScanCacheError) as error:
            logger.info("the scan cache %s is rebuilt: %s", self._file, error)
            return {}

    def save(self, scans: Iterable[RootScan]) -> None:
        """Store scans; cached scans of other roots are kept."""
        current = {_key(found.root): _serialize_scan(found) for found in scans}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self._file, _LOCK_TIMEOUT_SECONDS):
                stored: JsonObject = {}
                with contextlib.suppress(OSError, InvalidScanCacheError):
                    stored = self._entries()
                others = [(key, entry) for key, entry in stored.items() if key not in current]
                entries = dict([*others, *current.items()][-MAX_ROOTS:])
                # ASCII escapes: a path may contain lone surrogates.
                content = _frame(json.dumps(entries).encode())
                write_atomically(self._file, content, _PRIVATE_MODE)
        except OSError as error:
            logger.info(
                "cannot write the scan cache %s, skills are scanned again next time: %s",
                self._file,
                error,
            )

    def _entries(self) -> JsonObject:
        content = read_regular(self._file, MAX_BYTES)
        roots = content.data.partition(_ROOTS)[2].removesuffix(_END)
        # Compare with the file as we would write it: detects truncation, edits and other versions.
        if not content.is_complete or content.data != _frame(roots):
            message = "it is damaged, or another version wrote it"
            raise InvalidScanCacheError(message)
        try:
            entries = cast("Json", json.loads(roots))
        except (ValueError, RecursionError):
            entries = None
        if not isinstance(entries, dict):
            message = "it is no JSON object"
            raise InvalidScanCacheError(message)
        return entries


def _key(root: SkillRoot) -> str:
    return f"{root.kind}:{root.plugin}:{root.path}"


def _frame(roots: bytes) -> bytes:
    """Return the complete file: a header with version and digest, then the roots."""
    digest = hashlib.blake2b(roots, digest_size=16).hexdigest()
    head = f'{{"version": {VERSION}, "digest": "{digest}"'
    return head.encode() + _ROOTS + roots + _END


def _serialize_scan(found: RootScan) -> JsonObject:
    return {
        "manifest": {path: list(stamp) for path, stamp in found.manifest.items()},
        "links": [*sorted(found.linked_files)],
        "skills": [
            {
                "folder": skill.folder.relative_to(found.root.path).as_posix(),
                "description": skill.description,
                "frontmatter": dict(skill.frontmatter),
            }
            for skill in found.skills
        ],
        "categories": dict(found.category_descriptions),
        "problems": [
            [str(each.path), each.line, each.text, each.is_skipped] for each in found.problems
        ],
    }


def _parse_scan(root: SkillRoot, entry: Json) -> RootScan:
    match entry:
        case {
            "manifest": dict(manifest),
            "links": list(links),
            "skills": list(skills),
            "categories": dict(categories),
            "problems": list(problems),
        }:
            pass
        case _:
            raise InvalidScanCacheError
    stamps = {path: _parse_stamp(stamp) for path, stamp in manifest.items()}
    linked_files = frozenset(each for each in links if isinstance(each, str))
    if len(linked_files) < len(links) or not linked_files <= stamps.keys():
        raise InvalidScanCacheError
    found: list[LoadProblem] = []
    for problem in problems:
        match problem:
            case [str(path), int(line), str(text), bool(is_skipped)]:
                found.append(LoadProblem(Path(path), line, text, is_skipped))
            case _:
                raise InvalidScanCacheError
    descriptions = {name: text for name, text in categories.items() if isinstance(text, str)}
    if len(descriptions) < len(categories):
        raise InvalidScanCacheError
    parsed_skills = tuple(_parse_skill(root, each) for each in skills)
    return RootScan(root, parsed_skills, descriptions, tuple(found), stamps, linked_files)


# There are thousands of stamps and skills: `match` would take three times as long for them.
def _parse_stamp(entry: Json) -> Stamp:
    if isinstance(entry, list) and len(entry) == _STAMP_LENGTH:
        changed, size = entry
        if isinstance(changed, int) and isinstance(size, int):
            return changed, size
    raise InvalidScanCacheError


def _parse_skill(root: SkillRoot, entry: Json) -> Skill:
    if not isinstance(entry, dict):
        raise InvalidScanCacheError
    folder, description = entry.get("folder"), entry.get("description")
    frontmatter = entry.get("frontmatter")
    if isinstance(folder, str) and isinstance(description, str) and isinstance(frontmatter, dict):
        category, _, name = folder.rpartition("/")
        return Skill(name, description, category, root.path / folder, root, frontmatter)
    raise InvalidScanCacheError
