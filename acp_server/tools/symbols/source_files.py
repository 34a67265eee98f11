"""The source files below a directory that a call may read: listed by ripgrep, read one by one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.search.pattern_search import TIMEOUT_SECONDS
from acp_server.tools.search.ranking import path_rank
from acp_server.tools.search.records import NAME_RECORD, FileCollector, decode_name
from acp_server.tools.search.ripgrep import find_ripgrep, run_ripgrep
from acp_server.tools.search.search_root import SearchRoot, resolve_search_root
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.symbols.grammars import language_of
from acp_server.tools.symbols.outline import MAX_SOURCE_BYTES

MAX_LISTED_FILES = 20_000
"""Files of a workspace that are looked at; further ones are left out."""
_WORD = re.compile(r"\w+")


@frozen_dataclass
class SourceFile:
    """A source file as the editor or the disk has it."""

    resolved: ResolvedPath
    language: str
    """Its name in `languages.toml`, or empty."""
    text: str

    @property
    def data(self) -> bytes:
        """The text as the parser reads it: UTF-8."""
        return self.text.encode("utf-8", "surrogatepass")

    @property
    def lines(self) -> list[str]:
        """Its lines, as the parser counts them."""
        return self.text.split("\n")


@frozen_dataclass
class SourceTree:
    """The source files below a root that the user has permitted to read."""

    services: EditServices
    sandbox: SessionSandbox | None
    root: ResolvedPath
    is_protected: bool
    """Whether the root itself is protected: the user was asked about it, and agreed."""

    @classmethod
    async def below(
        cls, services: EditServices, sandbox: SessionSandbox | None, root: ResolvedPath
    ) -> "SourceTree":
        """Return the tree below a root; the caller has asked for permission to read it."""
        is_protected = not await services.gate.can_preview(root.path)
        return cls(services, sandbox, root, is_protected)

    async def find_files(self, word: str | None) -> tuple[Sequence[Path], bool]:
        """Return the files that hold a word (None: all), and whether these are all of them.

        Source comes before tests and documents. Ignored and protected files are left out, and so
        are files without a known grammar.

        Raises:
            SearchError: ripgrep cannot be started, or the root cannot be searched.
        """
        search_root = await self._search_root()
        collector = FileCollector(
            NAME_RECORD, lambda name: language_of(name) is not None, MAX_LISTED_FILES
        )
        wanted = ("--files",)
        if word is not None:
            is_word = _WORD.fullmatch(word) is not None
            pattern = (*(("--word-regexp",) if is_word else ()), f"--regexp={word}")
            wanted = ("--files-with-matches", "--fixed-strings", *pattern)
        result = await run_ripgrep(
            (
                *wanted,
                f"--max-filesize={MAX_SOURCE_BYTES}",
                *search_root.ignore_arguments,
                "--",
                search_root.argument,
            ),
            search_root,
            collector.feed,
            TIMEOUT_SECONDS,
        )
        names = sorted(collector.files, key=_rank)
        return [search_root.resolve_name(name) for name, _ in names], result.is_complete

    async def _search_root(self) -> SearchRoot:
        gate, workspace = self.services.gate, self.services.workspace
        excludes = () if self.is_protected else gate.search_excludes()
        search_root = await to_thread.run_sync(
            resolve_search_root, self.root.real, workspace.cwd, excludes
        )
        launcher: tuple[str, ...] = ()
        if self.sandbox is not None:
            program = await to_thread.run_sync(find_ripgrep, workspace.roots)
            launcher = await self.sandbox.wrap_search(
                self.root.real, program, hides_private_paths=not self.is_protected
            )
        return replace(search_root, launcher=launcher, program_free_roots=workspace.roots)

    async def read(self, path: Path) -> SourceFile | None:
        """Return a file below the root; None if it may not be read, or cannot be parsed."""
        return None if language_of(path.name) is None else await self.read_any(path)

    async def read_any(self, path: Path) -> SourceFile | None:
        """Return a text file below the root; None if it may not be read."""
        try:
            resolved = await self.services.resolve(str(path))
            if not await self.may_read(resolved):
                return None
            snapshot = await self.services.files.read_if_exists(resolved)
        except FileError:  # no text, or it has changed meanwhile
            return None
        if snapshot is None or len(snapshot.text) > MAX_SOURCE_BYTES:
            return None
        text = snapshot.text.replace("\r\n", "\n")
        return SourceFile(resolved, language_of(path.name) or "", text)

    async def may_read(self, resolved: ResolvedPath) -> bool:
        """Return whether the permission for the root covers a file below it.

        Security: that of a workspace does not cover its protected files, nor what a link in it
        leads to.
        """
        if not resolved.real.is_relative_to(self.root.real):
            return False
        if self.is_protected:
            return True
        gate = self.services.gate
        return await gate.can_preview(resolved.path) and await gate.can_preview(resolved.real)


def _rank(file: tuple[bytes, int]) -> tuple[int, str]:
    name = decode_name(file[0])
    return path_rank(name), name
