"""Project checks: tests, builds and servers that a workspace declares in its own files.

One "always" covers them all, in the sandbox. All calls block; files are read in bounds.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.shell.findings import AskedCommand
from skills_store.reading import read_regular

MAX_FILE_BYTES = 500_000
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_MISE_TASK_DIRECTORIES = (
    *("mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"),
)
_SHORT_NAMES = {"t": "test", "tst": "test"}
_NAME_BREAKS = str.maketrans(dict.fromkeys(":-_./", " "))


def is_project_check(
    command: AskedCommand, directories: Sequence[Path], workspace: ResolvedWorkspace
) -> bool:
    """Return whether a command is a check that the workspace declares, in each directory."""
    files = _word_lists("files").get(command.check, frozenset())
    if not files or not command.prefixes:
        return False
    return all(
        any(_declares(folder, files, prefix) for folder in _folders_above(directory, workspace))
        for directory in directories
        for prefix in command.prefixes
    )


def _folders_above(directory: Path, workspace: ResolvedWorkspace) -> Iterator[Path]:
    """Yield a directory of the workspace and those above it."""
    for folder in (directory, *directory.parents):
        if not workspace.is_inside(folder):
            return
        yield folder


def _declares(folder: Path, files: frozenset[str], prefix: tuple[str, ...]) -> bool:
    """Return whether a directory declares the check that the words begin."""
    if not any((folder / name).is_file() for name in files):
        return False
    program, *words = prefix
    match Path(program).name:
        case name if name in _SCRIPT_RUNNERS:
            script = words[-1]
            return _is_check_name(script) and _SHORT_NAMES.get(script, script) in _scripts(folder)
        case "make" | "gmake":
            return _is_check_name(words[-1]) and words[-1] in _make_targets(folder, files)
        case "mise":
            return _is_check_name(words[-1]) and _has_mise_task(folder, words[-1])
        case "mvn" | "mvnw" | "mvnd" | "gradle" | "gradlew":
            return _is_check_name(words[-1].rpartition(":")[2])
        case _:
            return True


def _is_check_name(name: str) -> bool:
    names = _word_lists("names")
    words = set(name.casefold().translate(_NAME_BREAKS).split())
    return bool(words & names["check"]) and not words & names["other"]


def _scripts(folder: Path) -> set[str]:
    """Return the names of the scripts of `package.json`."""
    try:
        document: object = json.loads(_text(folder / "package.json"))
    except ValueError:
        return set()
    if not isinstance(document, dict):
        return set()
    scripts = cast("Mapping[str, object]", document).get("scripts")
    return set(cast("Mapping[str, object]", scripts)) if isinstance(scripts, dict) else set()


def _make_targets(folder: Path, files: frozenset[str]) -> set[str]:
    """Return the names of a makefile's targets."""
    names: set[str] = set()
    for file in files:
        for line in _text(folder / file).splitlines():
            head, colon, rest = line.partition(":")
            # A tab begins a recipe, and `:=` sets a variable.
            if colon and not line.startswith(("\t", "#")) and not rest.startswith("="):
                names |= set(head.split())
    return names


def _has_mise_task(folder: Path, name: str) -> bool:
    for file in ("mise.toml", ".mise.toml"):
        try:
            document = cast("Mapping[str, object]", tomllib.loads(_text(folder / file)))
        except tomllib.TOMLDecodeError:
            continue
        tasks = document.get("tasks")
        if isinstance(tasks, dict) and name in tasks:
            return True
    path = Path(*name.split(":"))
    return ".." not in path.parts and any(
        (folder / each / path).is_file() for each in _MISE_TASK_DIRECTORIES
    )


def _text(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read, or is too large."""
    try:
        data = read_regular(file, MAX_FILE_BYTES + 1).data
    except OSError:
        return ""
    return data.decode(errors="replace") if len(data) <= MAX_FILE_BYTES else ""


@cache
def _word_lists(section: str) -> Mapping[str, frozenset[str]]:
    document = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    lists = cast("Mapping[str, Mapping[str, str]]", document)[section]
    return {key: frozenset(words.split()) for key, words in lists.items()}
