"""Places of Markdown files, and what is in them. All calls block on the disk."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import to_single_line
from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.frontmatter import split_frontmatter
from prompt_engine.sources.file_reading import ReadFile, read_within, resolve

MAX_FILES = 500
"""Maximum number of files read per place."""
MAX_BYTES = 256 * 1024
MAX_DEPTH = 4
MAX_NAME_CHARACTERS = 100
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")


@frozen_dataclass
class FileLocation:
    """A directory of Markdown files, relative to a workspace or a home."""

    directory: str
    suffix: str
    label: str
    """The prefix of a name that is taken."""
    nested: bool
    """Whether subdirectories are read."""


class _LocationRow(TypedDict):
    """A location in a table of this program."""

    directory: str
    suffix: str
    label: str
    nested: bool


@frozen_dataclass
class FilePlace:
    """A directory with Markdown files of one kind."""

    directory: Path
    """Absolute; it need not exist."""
    boundary: Path
    """Resolved directory that the files must be in, links followed."""
    suffix: str
    label: str
    is_nested: bool
    is_users: bool
    """Whether it belongs to the user's home rather than to the workspace."""


@frozen_dataclass
class MarkdownText:
    """The content of a Markdown file."""

    values: Mapping[str, JsonValue]
    """The frontmatter."""
    whole: str
    """The complete text, as scanned."""
    body: str
    raw: bytes


@cache
def read_locations(table: Path) -> Mapping[str, Sequence[FileLocation]]:
    """Return the locations that a TOML file lists for the `workspace` and for the `user`."""
    tables = cast("Mapping[str, Sequence[_LocationRow]]", tomllib.loads(table.read_text("utf-8")))
    return {kind: [FileLocation(**row) for row in rows] for kind, rows in tables.items()}


def places_of(
    table: Path, own: str, workspace: Sequence[Path], user_home: Path, home: Path
) -> list[FilePlace]:
    """Return the places of the roots of a workspace, then those of the user.

    `own` is the directory in `home`, which is HERMES_HOME.
    """
    locations = read_locations(table)
    places: list[FilePlace] = []
    for root in map(resolve, workspace):
        places += [_place(root, root, each, is_users=False) for each in locations["workspace"]]
    first = FileLocation(own, ".md", "user", nested=True)
    places.append(_place(home, Path(home.anchor), first, is_users=True))
    # The user's own links may lead anywhere.
    places += [
        _place(user_home, Path(user_home.anchor), each, is_users=True) for each in locations["user"]
    ]
    return places


def list_files(place: FilePlace) -> Sequence[Path]:
    """Return the files of a place: those at the top first, then by path."""
    folders = [place.directory]
    if place.is_nested:
        folders += _subdirectories(place.directory, MAX_DEPTH)
    files: list[Path] = []
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                names = sorted(each.name for each in entries if each.name.endswith(place.suffix))
        except OSError:
            continue
        files += [folder / name for name in names]
    return files[:MAX_FILES]


def directories_of(places: Sequence[FilePlace]) -> Iterator[Path]:
    """Yield the existing directories of some places, subdirectories included."""
    for place in places:
        if place.directory.is_dir():
            yield place.directory
            if place.is_nested:
                yield from _subdirectories(place.directory, MAX_DEPTH)


def read_markdown(path: Path, place: FilePlace) -> MarkdownText | None:
    """Return the content of a file; None if it is gone, unreadable or outside."""
    found = read_within(path, place.boundary, MAX_BYTES)
    if not isinstance(found, ReadFile):
        return None
    try:
        text = decode_text(found.raw)
    except UndecodableError:
        return None
    parts = split_frontmatter(text)
    return MarkdownText(parts.values, text, parts.body.strip(), found.raw)


def choose_name(
    stem: str, path: Path, place: FilePlace, is_taken: Callable[[str], bool]
) -> str | None:
    """Return the first free name: the file's, with its directory, with the place's label."""
    plain = to_name(stem)
    relative = path.parent.relative_to(place.directory)
    folder = ":".join(filter(None, map(to_name, relative.parts)))
    nested = f"{folder}:{plain}" if folder else plain
    label = "user" if place.is_users and place.label != "user" else place.label
    names = (plain, nested, f"{label}:{nested}", f"{label}:{place.label}:{nested}")
    return next((name for name in names if _is_name(name) and not is_taken(name)), None)


def to_name(text: str) -> str:
    """Return a text as a name: small, and with dashes for what a name cannot have."""
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-")


def describe(text: MarkdownText, max_characters: int) -> str:
    """Return the description in the frontmatter on one line, or else the first line of the text."""
    description = text.values.get("description")
    lines = (line.strip("# \t") for line in text.body.splitlines())
    first = next((line for line in lines if line), "")
    chosen = description if isinstance(description, str) and description.strip() else first
    return to_single_line(chosen, max_characters)


def chosen_model(value: JsonValue) -> str | None:
    """Return the model that a frontmatter names; None for the selected one."""
    return value if isinstance(value, str) and value not in ("", "inherit") else None


def _is_name(text: str) -> bool:
    return text[:1].isalpha() and len(text) <= MAX_NAME_CHARACTERS


def _subdirectories(folder: Path, depth: int) -> list[Path]:
    """Return the directories below a directory, without links, which could lead in circles."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []
    found: list[Path] = []
    for name in names if depth else ():
        found += [folder / name, *_subdirectories(folder / name, depth - 1)]
    return found


def _place(root: Path, boundary: Path, location: FileLocation, *, is_users: bool) -> FilePlace:
    return FilePlace(
        root / location.directory,
        boundary,
        location.suffix,
        location.label,
        location.nested,
        is_users,
    )
