"""What the editor says is wrong with files: the newest of each, in the order of their arrival.

Knows nothing of how they came, or of what they are used for.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from acp_server.frozen import frozen

MOST_FILES = 500
MOST_PROBLEMS = 200
"""How much is kept; of a file its first problems, of files those that were told of last."""

Severity = Literal["error", "warning", "info", "hint"]


@frozen
class Problem:
    """Something wrong with a file. Lines are counted from 1."""

    severity: Severity
    message: str
    line: int
    end_line: int | None = None
    source: str = ""
    """The program that says so."""
    code: str = ""
    """What that program calls it."""


@frozen
class _Sheet:
    arrival: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class DiagnosticsBoard:
    """The problems in the files of one session."""

    now: int = field(default=0, init=False)
    """Counts the arrivals: the time by which news are told from what is old."""
    _sheets: OrderedDict[Path, _Sheet] = field(
        default_factory=OrderedDict[Path, _Sheet], init=False
    )
    _news: anyio.Event = field(default_factory=anyio.Event, init=False)

    @property
    def is_used(self) -> bool:
        """Whether the editor has ever told anything."""
        return self.now > 0

    def receive(self, path: Path, problems: Sequence[Problem]) -> None:
        """Take all that is wrong with a file, in the place of what was before."""
        self.now += 1
        self._sheets[path] = _Sheet(self.now, tuple(problems[:MOST_PROBLEMS]))
        self._sheets.move_to_end(path)
        if len(self._sheets) > MOST_FILES:
            self._sheets.popitem(last=False)
        news, self._news = self._news, anyio.Event()
        news.set()

    def problems(self, path: Path) -> tuple[Problem, ...]:
        """Return what was said last of a file."""
        sheet = self._sheets.get(path)
        return () if sheet is None else sheet.problems

    async def newer(self, path: Path, than: int) -> tuple[Problem, ...]:
        """Wait for what is said of a file after a moment (`now`), and return it."""
        while (sheet := self._sheets.get(path)) is None or sheet.arrival <= than:
            await self._news.wait()
        return sheet.problems
