"""Indexes of skills: what they list, and how a query finds it. Pure but for the files it is given.

An index is a JSON file with `{"skills": [{"name", "description", "tags", ...}]}`. An entry says
where its skill is by `source` (a source that can be installed), or as Hermes' index by
`resolved_github_id`, `identifier`, or `repo` and `path`. A repository is an index of its skills.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills_store.document import parse_document
from skills_store.install import find_skill_folders
from skills_store.json_file import Json, JsonFile
from skills_store.reading import read_regular
from skills_store.skill import MAX_FILE_BYTES, SKILL_FILE
from skills_store.sources.errors import SourceError
from skills_store.sources.locations import RepositorySource, parse_source

MAX_ENTRIES = 100_000
GITHUB = "https://github.com"
_OWNED = r"[\w-][\w.-]*/[\w-][\w.-]*"
_GITHUB_PATH = re.compile(rf"(?:github/)?(?P<repo>{_OWNED})(?:/(?P<path>[^\s#@]+))?")
_SHORT_REPOSITORY = re.compile(_OWNED)


@dataclass(frozen=True, slots=True)
class HubEntry:
    """A skill that an index lists."""

    name: str
    description: str
    source: str
    """What `skills install` takes."""
    tags: tuple[str, ...] = ()
    index: str = ""
    """The index that lists it."""


def parse_index(document: Json, index: str) -> Sequence[HubEntry]:
    """Return the entries of an index file; those without a name or a source are left out.

    Raises:
        SourceError: it is no index.
    """
    listed = document.get("skills") if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise SourceError(index, "it holds no list `skills`")
    entries = (_parse_entry(each, index) for each in listed[:MAX_ENTRIES])
    return [each for each in entries if each is not None]


def list_repository(folder: Path, address: str, index: str) -> Sequence[HubEntry]:
    """Return the skills in a directory of a repository that was cloned. Blocks."""
    entries: list[HubEntry] = []
    base, _, subfolder = address.partition("#")
    for skill in find_skill_folders(folder):
        try:
            data = read_regular(skill / SKILL_FILE, MAX_FILE_BYTES).data
        except OSError:
            continue
        parsed = parse_document(data.decode("utf-8-sig", "replace"), skill.name)
        path = "/".join(filter(None, (subfolder, skill.relative_to(folder).as_posix().strip("."))))
        source = f"{base}#{path}" if path else base
        entries.append(HubEntry(parsed.name or skill.name, parsed.description, source, (), index))
    return entries


def search_entries(entries: Iterable[HubEntry], query: str, limit: int) -> Sequence[HubEntry]:
    """Return the entries that hold all words of a query, the best first.

    >>> pdf, other = HubEntry("pdf", "Read PDF files", "s"), HubEntry("x", "Edits a pdf", "s")
    >>> [each.name for each in search_entries([other, pdf], "PDF", 5)]
    ['pdf', 'x']
    """
    words = query.lower().split()

    def rank(entry: HubEntry) -> tuple[int, str]:
        name = entry.name.lower()
        if name == query.lower():
            return 0, name
        if name.startswith(tuple(words)):
            return 1, name
        return (2 if any(word in name for word in words) else 3), name

    def text_of(entry: HubEntry) -> str:
        return " ".join((entry.name, entry.description, *entry.tags, entry.source)).lower()

    found = [each for each in entries if all(word in text_of(each) for word in words)]
    return sorted(found, key=rank)[:limit]


def hermes_taps(home: Path) -> Sequence[str]:
    """Return the repositories that the user has added to Hermes' hub, as indexes."""
    taps = JsonFile(home / "skills" / ".hub" / "taps.json").read().get("taps")
    found: list[str] = []
    for tap in taps if isinstance(taps, list) else ():
        repository = tap.get("repo") if isinstance(tap, dict) else None
        path = tap.get("path") if isinstance(tap, dict) else None
        if isinstance(repository, str) and _SHORT_REPOSITORY.fullmatch(repository):
            folder = path.strip("/") if isinstance(path, str) else ""
            found.append(f"{GITHUB}/{repository}{f'#{folder}' if folder else ''}")
    return found


def repository_of(index: str) -> RepositorySource | None:
    """Return the repository that an index is, `owner/name` meaning GitHub's; None for a file.

    Raises:
        SourceError: it is neither a repository nor the URL of a file.
    """
    place, _, _ = index.partition("#")
    if place.partition("?")[0].endswith(".json"):
        return None
    address = f"{GITHUB}/{index}" if _SHORT_REPOSITORY.fullmatch(place) else index
    source = parse_source(address)
    if not isinstance(source, RepositorySource):
        raise SourceError(index, "it is neither a repository nor a .json file")
    return source


def _parse_entry(entry: Json, index: str) -> HubEntry | None:
    if not isinstance(entry, dict):
        return None
    name, source = _text(entry.get("name")), _source_of(entry)
    tags = entry.get("tags")
    words = tuple(map(_text, tags)) if isinstance(tags, list) else ()
    if not name or not source:
        return None
    return HubEntry(name, _text(entry.get("description")), source, words, index)


def _source_of(entry: dict[str, Json]) -> str:
    """Return where an entry's skill is, as a source; empty if it does not say."""
    source = _text(entry.get("source"))
    if "://" in source:
        return source
    repository, path = _text(entry.get("repo")), _text(entry.get("path"))
    places = (
        _text(entry.get("resolved_github_id")),
        f"{repository}/{path}" if repository and path else repository,
        _text(entry.get("identifier")),
    )
    for place in filter(None, places):
        found = _GITHUB_PATH.fullmatch(place.strip("/"))
        if found:
            folder = f"#{found['path']}" if found["path"] else ""
            return f"{GITHUB}/{found['repo']}{folder}"
    return ""


def _text(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
