"""The latest diagnostics that the editor reported for each file.

Independent of how they arrive and of how they are used.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from acp_server.startup.fast_dataclass import frozen

MOST_FILES = 500
MOST_PROBLEMS = 200
"""Limits: the first problems of a file, and the most recently reported files."""

Severity = Literal["error", "warning", "info", "hint"]


@frozen
class Problem:
    """A diagnostic in a file. Lines are 1-based."""

    severity: Severity
    message: str
    line: int
    end_line: int | None = None
    source: str = ""
    """The program that reported it."""
    code: str = ""
    """That program's code for it."""


@frozen
class _Sheet:
    arrival: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class DiagnosticsBoard:
    """The diagnostics of one session's files."""

    now: int = field(default=0, init=False)
    """Counts the reports; a logical clock that separates new reports from old ones."""
    _sheets: OrderedDict[Path, _Sheet] = field(
        default_factory=OrderedDict[Path, _Sheet], init=False
    )
    _news: anyio.Event = field(default_factory=anyio.Event, init=False)

    @property
    def is_used(self) -> bool:
        """Whether the editor has ever sent diagnostics."""
        return self.now > 0

    def receive(self, path: Path, problems: Sequence[Problem]) -> None:
        """Replace the diagnostics of a file."""
        self.now += 1
        self._sheets[path] = _Sheet(self.now, tuple(problems[:MOST_PROBLEMS]))
        self._sheets.move_to_end(path)
        if len(self._sheets) > MOST_FILES:
            self._sheets.popitem(last=False)
        # An anyio event cannot be cleared: waiters get the old one, later waiters a new one.
        news, self._news = self._news, anyio.Event()
        news.set()

    def problems(self, path: Path) -> tuple[Problem, ...]:
        """Return the latest diagnostics of a file."""
        sheet = self._sheets.get(path)
        return () if sheet is None else sheet.problems

    async def newer(self, path: Path, than: int) -> tuple[Problem, ...]:
        """Wait for a report on a file that is newer than the clock value `than`; return it."""
        while (sheet := self._sheets.get(path)) is None or sheet.arrival <= than:
            await self._news.wait()
        return sheet.problems
