"""Corrects paths that models write with something around them. Reads names only, opens nothing."""

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import is_below_root, lexical_path

PATH_ARGUMENTS = {
    "read_file": "path",
    "write_file": "path",
    "patch": "path",
    "search_files": "path",
    "symbols": "path",
    "terminal": "workdir",
}
MAX_CHARACTERS = 4_096
_QUOTES = "\"'`"
_LINES = re.compile(
    r"(?P<path>.+?)(?::|#L|:L|\()(?P<first>\d+)(?:[-:,]L?(?P<last>\d+))?\)?:?", re.DOTALL
)


@frozen_dataclass
class CorrectedPath:
    """A path that exists, or that is free of marks, and the lines that stood behind it."""

    path: str
    first_line: int | None = None
    last_line: int | None = None


@frozen_dataclass
class PathCorrector:
    """Finds the one file that is meant by a path. All calls block."""

    workspace: SessionWorkspace
    home: Path

    def correct(self, raw_path: str, *, must_exist: bool) -> CorrectedPath | None:
        """Return the path that is meant; None if it is the given one, or unknown.

        A file that need not exist yet is only freed of quotes and blanks.
        """
        if not raw_path or len(raw_path) > MAX_CHARACTERS or self._exists(raw_path):
            return None
        for candidate in _candidates(raw_path, self.workspace.cwd.name):
            if self._exists(candidate.path):
                return candidate
        bare = _without_marks(raw_path)
        if not must_exist:
            return CorrectedPath(bare) if bare and bare != raw_path else None
        found = self._in_any_case(bare) or self._in_any_case(bare.removeprefix("@"))
        return None if found is None else CorrectedPath(found)

    def _exists(self, raw_path: str) -> bool:
        try:
            return os.path.lexists(lexical_path(raw_path, self.workspace, self.home))
        except (FileError, ValueError, OSError):
            return False

    def _in_any_case(self, raw_path: str) -> str | None:
        """Return the only path below the workspace that differs in case or composition alone."""
        try:
            path = lexical_path(raw_path.replace("\\", "/"), self.workspace, self.home)
        except FileError:
            return None
        if not is_below_root(path, self.workspace):
            return None
        roots = [root for root in self.workspace.roots if path.is_relative_to(root)]
        found = root = max(roots, key=lambda each: len(each.parts))
        for part in path.relative_to(root).parts:
            exact = found / part
            if os.path.lexists(exact):
                found = exact
                continue
            try:
                same = [each for each in found.iterdir() if _folded(each.name) == _folded(part)]
            except OSError:
                return None
            if len(same) != 1:
                return None
            found = same[0]
        cwd = self.workspace.cwd
        return str(found.relative_to(cwd) if found.is_relative_to(cwd) else found)


def _candidates(raw_path: str, folder_name: str) -> Iterator[CorrectedPath]:
    """Yield what may be meant, from the smallest change to the largest."""
    bare = _without_marks(raw_path)
    forms = [bare, bare.removeprefix("@"), bare.replace("\\", "/")]
    forms.append(forms[1].replace("\\", "/"))
    for form in dict.fromkeys(forms):
        yield CorrectedPath(form)
        found = _LINES.fullmatch(form)
        if found is not None:
            last = found["last"]
            yield CorrectedPath(found["path"], int(found["first"]), int(last) if last else None)
    plain = forms[-1]
    if plain.lower().startswith("file:"):  # `file://a.py`, where a.py is read as a host
        yield CorrectedPath(re.sub(r"(?i)^file:/*", "", plain))
    if plain.startswith("/"):  # the workspace taken for the root of the disk
        yield CorrectedPath(plain.lstrip("/"))
    if plain.startswith(("a/", "b/")):  # as in a diff
        yield CorrectedPath(plain[2:])
    if plain.startswith(f"{folder_name}/"):
        yield CorrectedPath(plain.removeprefix(f"{folder_name}/"))


def bare_path(raw_path: str) -> str:
    """Return the path that a file most likely has, by its name alone: a key, not to be opened."""
    path = _without_marks(raw_path).removeprefix("@").replace("\\", "/")
    found = _LINES.fullmatch(path)
    return path if found is None else found["path"]


def _without_marks(raw_path: str) -> str:
    """Return a path without blanks and quotes around it."""
    path = raw_path.strip()
    while len(path) > 1 and path[0] in _QUOTES and path[-1] == path[0]:
        path = path[1:-1].strip()
    return path


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
