"""Ignore files (`.hermesignore`): name the files that require permission in a workspace.

An ignore file is read again whenever it has changed. One that exists but cannot be read or parsed
names everything. All calls block.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.reading import read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".hermesignore"
MAX_BYTES = 100_000

_Stamp = tuple[int, int, int, int]
_EVERYTHING = ("*",)
_ANCHORED = re.compile(r"/.*[^/]")  # a slash before the end anchors a pattern at the root


@frozen_dataclass
class AgentIgnoreRules:
    """Patterns of one ignore file, as written and case-folded for case-insensitive disks."""

    lines: tuple[str, ...] = ()
    exact: "GitIgnoreSpec | None" = None
    """None if there are no lines, as in nearly all workspaces."""
    folded: "GitIgnoreSpec | None" = None

    def matches(self, relative: str, *, is_file: bool = False) -> bool:
        """Return whether they match a path relative to their root.

        Unless `is_file`, the path may be a directory, so directory patterns match as well.
        """
        if _matches(self.exact, relative, is_file=is_file):
            return True
        # On a case-insensitive disk `Secrets/` and `secrets/` are one directory.
        folded = _folded(relative)
        if self.folded is self.exact and folded == relative:
            return False
        return _matches(self.folded, folded, is_file=is_file)


def _matches(spec: "GitIgnoreSpec | None", path: str, *, is_file: bool) -> bool:
    if spec is None:
        return False
    return spec.match_file(path) or (not is_file and spec.match_file(f"{path}/"))


NO_RULES = AgentIgnoreRules()


@dataclass(slots=True)
class IgnoreFiles:
    """Cache of the ignore files of some roots."""

    other_lines: Callable[[], Sequence[str]] = tuple[str, ...]
    """Returns patterns of other files that hold in addition, in every root."""
    _known: dict[Path, tuple[_Stamp | None, Sequence[str], AgentIgnoreRules]] = field(
        default_factory=dict[Path, tuple[_Stamp | None, Sequence[str], AgentIgnoreRules]],
        init=False,
    )

    def rules(self, root: Path) -> AgentIgnoreRules:
        """Return the current rules of a root's ignore file."""
        file, others = root / IGNORE_FILE, self.other_lines()
        stamp: _Stamp | None = None
        try:
            status = file.stat()
        except FileNotFoundError:
            # Only a missing file means "no rules"; any other error must not disable the rules.
            if not others:
                return NO_RULES
        except OSError:
            return _rules(_EVERYTHING)
        else:
            # A program can set mtime back, but not ctime.
            stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known = self._known.get(root)
        if known is None or known[0] != stamp or known[1] != others:
            own = () if stamp is None else _lines(file)
            # Behind the file's own lines, whose exceptions must not lift them.
            known = (stamp, others, _rules((*own, *others)))
            self._known[root] = known
        return known[2]


def search_globs(rules: AgentIgnoreRules, *, is_first_root: bool) -> Sequence[str]:
    """Return the patterns that a search leaves out; it anchors patterns at its first root only.

    Exceptions (`!`) are dropped: the search leaves out too much rather than too little.
    """
    lines = [line for line in rules.lines if line.strip() and not line.startswith(("#", "!"))]
    if is_first_root:
        return lines
    return [f"**/{line.lstrip('/')}" if _ANCHORED.search(line) else line for line in lines]


def _rules(lines: Sequence[str]) -> AgentIgnoreRules:
    from pathspec import GitIgnoreSpec

    try:
        exact = GitIgnoreSpec.from_lines(lines)
        folded_lines = [_folded(line) for line in lines]
        folded = exact if folded_lines == [*lines] else GitIgnoreSpec.from_lines(folded_lines)
    except ValueError:
        return _rules(_EVERYTHING)
    return AgentIgnoreRules(tuple(lines), exact, folded)


def _lines(file: Path) -> Sequence[str]:
    try:
        content = read_regular(file, MAX_BYTES)
    except OSError:
        return _EVERYTHING
    if not content.is_complete:
        return _EVERYTHING
    text = content.data.decode("utf-8-sig", errors="surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
