"""The latest diagnostics that the editor reported for each file.

Independent of how they arrive and of how they are used.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_FILES = 500
MAX_DIAGNOSTICS_PER_FILE = 200
"""Limits: the first problems of a file, and the most recently reported files."""

Severity = Literal["error", "warning", "info", "hint"]


@frozen_dataclass
class FileDiagnostic:
    """A diagnostic in a file. Lines are 1-based."""

    severity: Severity
    message: str
    line: int
    end_line: int | None = None
    source: str = ""
    """The program that reported it."""
    code: str = ""
    """That program's code for it."""


@frozen_dataclass
class _FileReport:
    received_at: int
    diagnostics: tuple[FileDiagnostic, ...]


@dataclass(slots=True)
class DiagnosticsStore:
    """The diagnostics of one session's files."""

    clock: int = field(default=0, init=False)
    """Counts the reports; a logical clock that separates new reports from old ones."""
    _reports: OrderedDict[Path, _FileReport] = field(
        default_factory=OrderedDict[Path, _FileReport], init=False
    )
    _changed: anyio.Event = field(default_factory=anyio.Event, init=False)

    @property
    def has_reports(self) -> bool:
        """Whether the editor has ever sent diagnostics."""
        return self.clock > 0

    def receive(self, path: Path, diagnostics: Sequence[FileDiagnostic]) -> None:
        """Replace the diagnostics of a file."""
        self.clock += 1
        self._reports[path] = _FileReport(self.clock, tuple(diagnostics[:MAX_DIAGNOSTICS_PER_FILE]))
        # Assigning to a known key keeps its place, so the file could be dropped as the oldest.
        self._reports.move_to_end(path)
        if len(self._reports) > MAX_FILES:
            self._reports.popitem(last=False)
        # An anyio event cannot be cleared: waiters get the old one, later waiters a new one.
        changed_event, self._changed = self._changed, anyio.Event()
        changed_event.set()

    def latest(self, path: Path) -> tuple[FileDiagnostic, ...]:
        """Return the latest diagnostics of a file."""
        report = self._reports.get(path)
        return () if report is None else report.diagnostics

    def all(self) -> Sequence[tuple[Path, tuple[FileDiagnostic, ...]]]:
        """Return the latest diagnostics of all files that have some, the newest report last."""
        reports = self._reports.items()
        return [(path, each.diagnostics) for path, each in reports if each.diagnostics]

    async def wait_newer(self, path: Path, clock: int) -> tuple[FileDiagnostic, ...]:
        """Wait for a report on a file that is newer than the clock value `clock`; return it."""
        # A loop: a report on any file sets the event.
        while (report := self._reports.get(path)) is None or report.received_at <= clock:
            await self._changed.wait()
        return report.diagnostics
