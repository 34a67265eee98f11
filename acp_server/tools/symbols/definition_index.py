"""Which files of a tree define a name. Built in the background, by a child process, at first use.

The index holds names and files, no texts and no lines: a file that it leads to is read and parsed
again, as the permission gate allows. So a wrong entry costs time, and shows nothing.
"""

import logging
import os
import subprocess
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import TypeAdapter

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.isolation import isolated_python
from skills_store.reading import Stamp, stamp_of

logger = logging.getLogger(__name__)

MAX_TREES = 3
"""Trees whose index is kept; the one that was not used for longest is dropped."""
MAX_CHANGED_FILES = 40
"""With more new or changed files than this, the index is out of date."""
MAX_NAMES = 500_000
"""With more names than this, the index grows no further."""
MAX_LINE_BYTES = 4 * 1024 * 1024
BUILD_SECONDS = 300.0
WORKER = "acp_server.tools.symbols.index_worker"

Spawn = Callable[[TaskFunction], None]
"""Starts a task in the background."""


@frozen_dataclass
class _IndexedFile:
    stamp: Stamp
    names: tuple[str, ...]


@dataclass(slots=True)
class DefinitionIndex:
    """The names that the files of one tree define, as far as they are known."""

    environment: Mapping[str, str]
    """The environment of the child process: without secrets."""
    _files: dict[str, _IndexedFile] = field(default_factory=dict[str, _IndexedFile], init=False)
    _paths: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]], init=False
    )
    """Files by the name that they define."""
    _is_building: bool = field(default=False, init=False)

    @property
    def file_count(self) -> int:
        """The number of files that are known."""
        return len(self._files)

    @property
    def name_count(self) -> int:
        """The number of different names."""
        return len(self._paths)

    def files_with(self, name: str) -> Collection[str]:
        """Return the files that define a name."""
        return self._paths.get(name, ())

    async def find_changed(self, paths: Sequence[str]) -> list[str]:
        """Return the files that are new or have changed, and forget those that are gone."""
        stamps = await to_thread.run_sync(_read_stamps, paths)
        for path in self._files.keys() - stamps.keys():
            self._forget(path)
        return [
            path
            for path, stamp in stamps.items()
            if (known := self._files.get(path)) is None or known.stamp != stamp
        ]

    async def update(self, paths: Sequence[str]) -> None:
        """Parse files in a child process, and take what they define; ends early on any problem."""
        if self._is_building or self.name_count >= MAX_NAMES:
            return
        self._is_building = True
        try:
            with anyio.move_on_after(BUILD_SECONDS):
                await self._run_worker(paths)
        except (OSError, ValueError, anyio.BrokenResourceError) as error:
            logger.warning("the index of definitions was not completed: %s", error)
        finally:
            self._is_building = False

    async def _run_worker(self, paths: Sequence[str]) -> None:
        command = isolated_python("-m", WORKER)
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=self.environment,
        )
        async with process:
            try:
                if process.stdin is not None:
                    await process.stdin.send(b"\0".join(map(os.fsencode, paths)))
                    await process.stdin.aclose()
                if process.stdout is not None:
                    await self._take_rows(BufferedByteReceiveStream(process.stdout), paths)
            finally:
                if process.returncode is None:
                    process.kill()

    async def _take_rows(self, rows: BufferedByteReceiveStream, paths: Sequence[str]) -> None:
        while True:
            try:
                line = await rows.receive_until(b"\n", MAX_LINE_BYTES)
            except (anyio.IncompleteRead, anyio.EndOfStream, anyio.DelimiterNotFound):
                return
            number, modified_at, size, names = _row_adapter().validate_json(line)
            self._take(paths[number], _IndexedFile((modified_at, size), tuple(names)))

    def _take(self, path: str, file: _IndexedFile) -> None:
        self._forget(path)
        self._files[path] = file
        alone = (path,)  # shared by all names that only this file defines
        for name in file.names:
            others = self._paths.get(name)
            self._paths[name] = alone if others is None else (*others, path)

    def _forget(self, path: str) -> None:
        file = self._files.pop(path, None)
        for name in () if file is None else file.names:
            left = tuple(each for each in self._paths.get(name, ()) if each != path)
            if left:
                self._paths[name] = left
            else:
                self._paths.pop(name, None)


@cache
def _row_adapter() -> TypeAdapter[tuple[int, int, int, list[str]]]:
    return TypeAdapter(tuple[int, int, int, list[str]])


def _read_stamps(paths: Sequence[str]) -> dict[str, Stamp]:
    """Return the stamps of the files that are there. Blocks."""
    stamps: dict[str, Stamp] = {}
    for path in paths:
        with suppress(OSError):
            stamps[path] = stamp_of(os.lstat(path))
    return stamps


class DefinitionIndexes:
    """The indexes of the trees that were used last, shared by all sessions."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._trees: OrderedDict[Path, DefinitionIndex] = OrderedDict()

    def of(self, root: Path) -> DefinitionIndex:
        """Return the index of a tree; a new one is empty."""
        index = self._trees.setdefault(root, DefinitionIndex(self._environment))
        self._trees.move_to_end(root)
        if len(self._trees) > MAX_TREES:
            self._trees.popitem(last=False)
        return index


async def find_candidates(
    index: DefinitionIndex, name: str, paths: Sequence[Path], spawn: Spawn
) -> Sequence[Path] | None:
    """Return the files of a tree that may define a name; None while the index is out of date.

    An index that is not up to date is brought up to date in the background.
    """
    by_text = {str(path): path for path in paths}
    changed = await index.find_changed([*by_text])
    if changed:
        spawn(partial(index.update, changed))
    if len(changed) > MAX_CHANGED_FILES:
        return None
    wanted = {*changed, *index.files_with(name)}
    return [path for text, path in by_text.items() if text in wanted]
