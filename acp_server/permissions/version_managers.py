"""Shims of version managers: a file of the workspace chooses the program that they run.

`.tool-versions` and its like may name a program of the workspace (`python path:./mine`), so even
`python --version` may run it. `version_managers.toml` has the files. All calls block.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.reading import read_regular

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_MANIFEST_BYTES = 1_000_000
_SHIM_DIRECTORY = "shims"
_RYE_DIRECTORY = ".rye"
_VOLTA_SHIM = "volta-shim"
_AQUA_SHIM = "aqua-proxy"
_COREPACK_DIRECTORY = "corepack"
_MANIFEST = "package.json"
_MISE_PREFIXES = ("mise.", ".mise.")


@frozen_dataclass
class _Choosers:
    """Files that choose what a shim runs."""

    names: tuple[str, ...] = ()
    """Paths below a directory of the workspace or one above it."""
    manifest_keys: tuple[str, ...] = ()
    """`package.json` counts if it has one of these keys."""
    has_mise: bool = False
    """Whether files of mise count, too, which have many names."""


def find_version_file(
    program: Path, directories: Iterable[Path], roots: Sequence[Path]
) -> Path | None:
    """Return the file of the workspace that chooses what a shim runs in one of the directories.

    None if the program is no shim, or if there is no such file.
    """
    choosers = _choosers_of(program)
    if choosers is None:
        return None
    for directory in directories:
        for folder in (directory, *directory.parents):
            if not any(folder.is_relative_to(root) for root in roots):
                break
            found = _find_in(folder, choosers)
            if found is not None:
                return found
    return None


@cache
def _word_lists() -> Mapping[str, tuple[str, ...]]:
    return read_word_lists(__file__)


def _choosers_of(program: Path) -> _Choosers | None:
    """Return what chooses the program that a shim runs; None if it is no shim."""
    lists = _word_lists()
    links = _follow_links(program)
    if any(_VOLTA_SHIM in {link.name, link.stem} for link in links):
        # In a project that has a package with that program, its own copy runs.
        own = f"node_modules/.bin/{program.name}"
        return _Choosers((*lists["volta_files"], own), lists["volta_keys"])
    if any(link.name == _AQUA_SHIM for link in links):
        return _Choosers(lists["aqua_files"])
    if _COREPACK_DIRECTORY in links[-1].parts:
        return _Choosers(manifest_keys=lists["corepack_keys"])
    folders = [link.parent for link in links]
    if not any(folder.name == _SHIM_DIRECTORY for folder in folders):
        return None
    is_of_rye = any(folder.parent.name == _RYE_DIRECTORY for folder in folders)
    names = lists["version_files"] + (lists["rye_files"] if is_of_rye else ())
    return _Choosers(names, has_mise=True)


def _follow_links(program: Path) -> tuple[Path, ...]:
    """Return a program, the file that it is a link to, and the one at the end of all links."""
    try:
        target = program.parent / program.readlink()
    except OSError:
        target = program
    return (program, target, program.resolve())


def _find_in(folder: Path, choosers: _Choosers) -> Path | None:
    for name in choosers.names:
        # A link counts wherever it leads.
        if os.path.lexists(folder / name):
            return folder / name
    if choosers.manifest_keys and _has_key(folder / _MANIFEST, choosers.manifest_keys):
        return folder / _MANIFEST
    return next(_mise_files(folder), None) if choosers.has_mise else None


def _has_key(manifest: Path, keys: Iterable[str]) -> bool:
    """Return whether a `package.json` has one of these keys, as far as it can be read."""
    if not os.path.lexists(manifest):
        return False
    try:
        content = cast("JsonValue", json.loads(read_regular(manifest, MAX_MANIFEST_BYTES).data))
    except (OSError, ValueError, RecursionError):
        # Fail closed: the manager may read it in another way.
        return True
    return not isinstance(content, dict) or not content.keys().isdisjoint(keys)


def _mise_files(folder: Path) -> Iterator[Path]:
    """Yield the files of mise in a directory."""
    yield from (each for each in _toml_files(folder) if each.name.startswith(_MISE_PREFIXES))
    for name in _word_lists()["mise_directories"]:
        yield from _toml_files(folder / name)


def _toml_files(folder: Path) -> Sequence[Path]:
    try:
        return [each for each in folder.iterdir() if each.name.endswith(".toml")]
    except OSError:
        return []
