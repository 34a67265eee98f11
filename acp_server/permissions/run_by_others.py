"""Files that other programs run, or that agents obey, by their names. Pure.

Shells, editors, agents, hooks and CI jobs run them without asking, or once the workspace is
trusted. `run_by_others.toml` is the list.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import cast

from acp_server.permissions.protected_names import normalize_name
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class FileGroup:
    """Files that are asked about for one reason, a phrase whose subject is the file."""

    reason: str
    pattern: re.Pattern[str]
    """Matches normalized paths relative to the workspace."""


@cache
def file_groups() -> tuple[FileGroup, ...]:
    """Return the groups of the list, in its order."""
    return tuple(
        FileGroup(group["reason"], re.compile("|".join(_expressions(group["files"].split()))))
        for group in _table()
    )


def find_reason(path: Path) -> str:
    """Return why a write to a file is asked about; empty if its name is no reason.

    `path` is relative to the workspace.
    """
    name = "/".join(map(normalize_name, path.parts))
    return next((group.reason for group in file_groups() if group.pattern.fullmatch(name)), "")


def may_be_listed(name: str) -> bool:
    """Return whether a file or directory of this name may be on the list, or be one of its own.

    Fast; for walks over many files. `find_reason` decides.
    """
    return _listed_names().fullmatch(normalize_name(name)) is not None


@cache
def _listed_names() -> re.Pattern[str]:
    names: set[str] = set()
    for pattern in (each for group in _table() for each in group["files"].split()):
        parts = pattern.strip("/").split("/")
        # Of `.vscode/*`, the directory itself is looked for.
        names.add(parts[-2] if parts[-1] == "*" and len(parts) > 1 else parts[-1])
    return re.compile("|".join(map(translate, sorted(names))))


@cache
def _table() -> Sequence[Mapping[str, str]]:
    document = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return cast("Sequence[Mapping[str, str]]", document["group"])


def _expressions(patterns: Sequence[str]) -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        found.append(translate(pattern.removeprefix("/")))
        if not pattern.startswith("/"):
            found.append(translate(f"*/{pattern}"))
    return found
