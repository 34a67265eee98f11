"""Manifests in a directory, and the package managers that they and their lock files indicate.

Reports fixed names only, so no repository text reaches the prompt from here.
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from pydantic import JsonValue

from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.sources.file_reading import ReadFile, read_within, resolve
from prompt_engine.toml_tables import read_toml

MAX_BYTES = 256 * 1024

_NAMED_MANAGER = re.compile(r'"packageManager"\s*:\s*"(pnpm|yarn|bun|npm)\b')


class _ProjectTools(TypedDict):
    """The names in `project_tools.toml`."""

    manifests: list[str]
    lock_files: list[tuple[str, str]]
    script_managers: list[str]
    python_runners: list[str]
    check_scripts: list[str]
    check_targets: list[str]
    check_executables: list[str]
    python_tools: list[tuple[str, str, str]]
    fixed_checks: dict[str, list[str]]


def project_tools() -> _ProjectTools:
    """Return the names by which manifests, package managers and checks are recognised."""
    return cast("_ProjectTools", read_toml("sources", "project_tools"))


@dataclass(frozen=True, slots=True)
class ProjectDirectory:
    """Directory of a repository: its entry names, and the texts of its files."""

    folder: Path
    names: frozenset[str] = field(init=False, compare=False)
    """Entry names at construction; empty if the directory cannot be listed."""

    def __post_init__(self) -> None:
        """List the directory. Blocks."""
        names = frozenset[str]()
        with suppress(OSError):
            names = frozenset(os.listdir(self.folder))  # noqa: PTH208 - names are all we need
        object.__setattr__(self, "names", names)

    def read(self, name: str) -> str:
        """Return the text of a file in the directory, empty if it is unreadable."""
        found = read_within(self.folder / name, resolve(self.folder), MAX_BYTES)
        try:
            return decode_text(found.raw) if isinstance(found, ReadFile) else ""
        except UndecodableError:
            return ""


def find_manifests(folder: Path) -> tuple[str, ...]:
    """Return the names of the manifests in a directory, in a fixed order."""
    names = ProjectDirectory(folder).names
    return tuple(name for name in project_tools()["manifests"] if name in names)


def find_package_managers(folder: Path, root: Path) -> tuple[str, ...]:
    """Return a directory's package managers; lock files may also be in the repository's root."""
    directories = (ProjectDirectory(folder), ProjectDirectory(root))
    manifests = [each.read("package.json") for each in directories if "package.json" in each.names]
    declared = [found[1] for text in manifests if (found := _NAMED_MANAGER.search(text))]
    locked = [
        manager
        for directory in directories
        for name, manager in project_tools()["lock_files"]
        if name in directory.names
    ]
    found = list(dict.fromkeys((*declared, *locked)))
    if "package.json" in directories[0].names and set(found).isdisjoint(
        project_tools()["script_managers"]
    ):
        found.append("npm")
    return tuple(found)


def script_manager(managers: tuple[str, ...]) -> str:
    """Return the package manager that runs the scripts of a package.json."""
    known = project_tools()["script_managers"]
    return next((name for name in managers if name in known), "npm")


def scripts_of(project: ProjectDirectory) -> dict[str, str]:
    """Return the scripts of a package.json by name, empty if there are none."""
    try:
        manifest: JsonValue = json.loads(project.read("package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {name: str(command) for name, command in scripts.items()}
