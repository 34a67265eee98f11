"""Finds the command files of a workspace and of its user. All calls block on the disk.

Formats: https://docs.anthropic.com/en/docs/claude-code/slash-commands,
https://opencode.ai/docs/commands,
https://code.visualstudio.com/docs/copilot/customization/prompt-files
"""

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

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
MAX_DESCRIPTION_CHARACTERS = 120
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")


@frozen_dataclass
class CommandPlace:
    """A directory with command files."""

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
class CommandFile:
    """A command file, with the name that the user types."""

    name: str
    """Without the slash."""
    description: str
    hint: str | None
    model: str | None
    path: Path
    place: CommandPlace


@frozen_dataclass
class CommandText:
    """The content of a command file."""

    values: Mapping[str, JsonValue]
    """The frontmatter."""
    whole: str
    """The complete text, as scanned."""
    body: str


@frozen_dataclass
class _Location:
    directory: str
    suffix: str
    label: str
    nested: bool


def command_places(workspace: Sequence[Path], user_home: Path, home: Path) -> list[CommandPlace]:
    """Return the places of the roots of a workspace, then those of the user.

    `home` is HERMES_HOME.
    """
    locations = _read_locations()
    places: list[CommandPlace] = []
    for root in map(resolve, workspace):
        places += [_place(root, root, each, is_users=False) for each in locations["workspace"]]
    own = _Location("commands", ".md", "user", nested=True)
    places.append(_place(home, Path(home.anchor), own, is_users=True))
    # The user's own links may lead anywhere.
    places += [
        _place(user_home, Path(user_home.anchor), each, is_users=True) for each in locations["user"]
    ]
    return places


def find_command_files(
    places: Sequence[CommandPlace], is_taken: Callable[[str], bool]
) -> list[CommandFile]:
    """Return the commands of some places, each with a name of its own that is not taken."""
    found: dict[str, CommandFile] = {}
    for place in places:
        for path in _list_files(place):
            text = read_command(path, place)
            name = text and _choose_name(path, place, lambda n: n in found or is_taken(n))
            if text is not None and name:
                found[name] = CommandFile(
                    name,
                    _describe(text),
                    _hint(text.values),
                    _model(text.values.get("model")),
                    path,
                    place,
                )
    return list(found.values())


def read_command(path: Path, place: CommandPlace) -> CommandText | None:
    """Return the content of a command file; None if it is gone, unreadable or outside."""
    found = read_within(path, place.boundary, MAX_BYTES)
    if not isinstance(found, ReadFile):
        return None
    try:
        text = decode_text(found.raw)
    except UndecodableError:
        return None
    parts = split_frontmatter(text)
    return CommandText(parts.values, text, parts.body.strip())


def directories_of(places: Sequence[CommandPlace]) -> Iterator[Path]:
    """Yield the existing directories of some places, subdirectories included."""
    for place in places:
        if place.directory.is_dir():
            yield place.directory
            if place.is_nested:
                yield from _subdirectories(place.directory, MAX_DEPTH)


def _list_files(place: CommandPlace) -> Sequence[Path]:
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


def _choose_name(path: Path, place: CommandPlace, is_taken: Callable[[str], bool]) -> str | None:
    """Return the first free name: the file's, with its directory, with the place's label."""
    stem = _to_name(path.name.removesuffix(place.suffix))
    relative = path.parent.relative_to(place.directory)
    folder = ":".join(filter(None, map(_to_name, relative.parts)))
    plain = f"{folder}:{stem}" if folder else stem
    label = "user" if place.is_users and place.label != "user" else place.label
    names = (stem, plain, f"{label}:{plain}", f"{label}:{place.label}:{plain}")
    return next((name for name in names if _is_name(name) and not is_taken(name)), None)


def _is_name(text: str) -> bool:
    return text[:1].isalpha() and len(text) <= MAX_NAME_CHARACTERS


def _to_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-")


def _describe(text: CommandText) -> str:
    description = text.values.get("description")
    lines = (line.strip("# \t") for line in text.body.splitlines())
    first = next((line for line in lines if line), "")
    chosen = description if isinstance(description, str) and description.strip() else first
    return to_single_line(chosen, MAX_DESCRIPTION_CHARACTERS)


def _hint(values: Mapping[str, JsonValue]) -> str | None:
    hint = values.get("argument-hint")
    if isinstance(hint, list):  # YAML takes `[name]` for a list
        hint = f"[{', '.join(map(str, hint))}]"
    return to_single_line(hint, MAX_DESCRIPTION_CHARACTERS) if isinstance(hint, str) else None


def _model(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value not in ("", "inherit") else None


def _place(root: Path, boundary: Path, location: _Location, *, is_users: bool) -> CommandPlace:
    return CommandPlace(
        root / location.directory,
        boundary,
        location.suffix,
        location.label,
        location.nested,
        is_users,
    )


@cache
def _read_locations() -> Mapping[str, Sequence[_Location]]:
    text = Path(__file__).with_name("locations.toml").read_text("utf-8")
    return TypeAdapter(dict[str, list[_Location]]).validate_python(tomllib.loads(text))


def names_of(files: Collection[CommandFile]) -> Sequence[str]:
    """Return the names of commands as the user types them."""
    return [f"/{each.name}" for each in files]
