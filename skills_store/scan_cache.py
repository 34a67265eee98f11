"""Scan cache on disk: scan results of each root, so that a new process need not read every skill.

Only a cache: an invalid file counts as missing and is rebuilt. Written atomically.
"""

import contextlib
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from skills_store.atomic import write_atomically
from skills_store.json_file import Json, JsonObject
from skills_store.locks import locked
from skills_store.reading import Stamp, read_regular
from skills_store.root_scan import RootScan
from skills_store.skill import LoadProblem, Skill, SkillRoot

logger = logging.getLogger(__name__)

VERSION = 3
"""Increase this whenever the same skill files would be read differently."""
MAX_ROOTS = 32
"""Limit of cached roots over all workspaces; the most recently written are kept."""
MAX_BYTES = 64 * 1024 * 1024

_PRIVATE_MODE = 0o600
_LOCK_TIMEOUT_SECONDS = 0.5
_ROOTS = b', "roots": '
_END = b"}\n"

T = TypeVar("T")


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
    """Return a scan as columns: thousands of small lists and objects would take longer to read."""
    skills = found.skills
    return {
        "paths": [*found.manifest],
        "times": [changed_at for changed_at, _ in found.manifest.values()],
        "sizes": [size for _, size in found.manifest.values()],
        "links": [*sorted(found.linked_files)],
        "names": [skill.name for skill in skills],
        "categories": [skill.category for skill in skills],
        "descriptions": [skill.description for skill in skills],
        "frontmatters": [dict(skill.frontmatter) for skill in skills],
        "category_descriptions": dict(found.category_descriptions),
        "problems": [
            [str(each.path), each.line, each.text, each.is_skipped] for each in found.problems
        ],
    }


def _parse_scan(root: SkillRoot, entry: Json) -> RootScan:
    if not isinstance(entry, dict):
        raise InvalidScanCacheError
    paths, links = _column(entry, "paths", str), _column(entry, "links", str)
    stamps = zip(_column(entry, "times", int), _column(entry, "sizes", int), strict=True)
    skills = zip(
        _column(entry, "names", str),
        _column(entry, "descriptions", str),
        _column(entry, "categories", str),
        cast("list[JsonObject]", _column(entry, "frontmatters", dict)),
        strict=True,
    )
    match entry:
        case {"category_descriptions": dict(described), "problems": list(problems)}:
            pass
        case _:
            raise InvalidScanCacheError
    found: list[LoadProblem] = []
    for problem in problems:
        match problem:
            case [str(path), int(line), str(text), bool(is_skipped)]:
                found.append(LoadProblem(Path(path), line, text, is_skipped))
            case _:
                raise InvalidScanCacheError
    descriptions = {name: text for name, text in described.items() if isinstance(text, str)}
    try:
        manifest: dict[str, Stamp] = dict(zip(paths, stamps, strict=True))
        parsed_skills = tuple(
            Skill(name, description, category, root, frontmatter)
            for name, description, category, frontmatter in skills
        )
    except ValueError:  # the columns differ in length
        raise InvalidScanCacheError from None
    linked_files = frozenset(links)
    if len(descriptions) < len(described) or not linked_files <= manifest.keys():
        raise InvalidScanCacheError
    return RootScan(root, parsed_skills, descriptions, tuple(found), manifest, linked_files)


def _column(entry: JsonObject, name: str, kind: type[T]) -> list[T]:
    """Return a list whose values are all of a type."""
    column = entry.get(name)
    if not isinstance(column, list) or any(type(each) is not kind for each in column):
        raise InvalidScanCacheError
    return cast("list[T]", column)
