"""Finds the command files of a workspace and of its user. All calls block on the disk.

Formats: https://docs.anthropic.com/en/docs/claude-code/slash-commands,
https://opencode.ai/docs/commands,
https://code.visualstudio.com/docs/copilot/customization/prompt-files
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from acp_server.project_files.places import (
    FilePlace,
    choose_name,
    chosen_model,
    describe,
    list_files,
    places_of,
    read_markdown,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import to_single_line

MAX_DESCRIPTION_CHARACTERS = 120


@frozen_dataclass
class CommandFile:
    """A command file, with the name that the user types."""

    name: str
    """Without the slash."""
    description: str
    hint: str | None
    model: str | None
    path: Path
    place: FilePlace


def command_places(workspace: Sequence[Path], user_home: Path, home: Path) -> list[FilePlace]:
    """Return the places of the roots of a workspace, then those of the user.

    `home` is HERMES_HOME.
    """
    table = Path(__file__).with_name("locations.toml")
    return places_of(table, "commands", workspace, user_home, home)


def find_command_files(
    places: Sequence[FilePlace], is_taken: Callable[[str], bool]
) -> list[CommandFile]:
    """Return the commands of some places, each with a name of its own that is not taken."""
    found: dict[str, CommandFile] = {}
    for place in places:
        for path in list_files(place):
            text = read_markdown(path, place)
            stem = path.name.removesuffix(place.suffix)
            name = text and choose_name(stem, path, place, lambda n: n in found or is_taken(n))
            if text is not None and name:
                found[name] = CommandFile(
                    name,
                    describe(text, MAX_DESCRIPTION_CHARACTERS),
                    _hint(text.values),
                    chosen_model(text.values.get("model")),
                    path,
                    place,
                )
    return list(found.values())


def names_of(files: Collection[CommandFile]) -> Sequence[str]:
    """Return the names of commands as the user types them."""
    return [f"/{each.name}" for each in files]


def _hint(values: Mapping[str, JsonValue]) -> str | None:
    hint = values.get("argument-hint")
    if isinstance(hint, list):  # YAML takes `[name]` for a list
        hint = f"[{', '.join(map(str, hint))}]"
    return to_single_line(hint, MAX_DESCRIPTION_CHARACTERS) if isinstance(hint, str) else None
