"""What of a run is shown while it goes on, for people: plain lines on stderr, the answer on stdout.

On a terminal the same lines have colours; nothing that a model says can steer it.
"""

from collections.abc import Callable

import anyio

from acp_server.headless.call_state import CallState, RunningCalls
from acp_server.headless.run.cleaning import Cleaner
from acp_server.headless.run.denials import Denial
from acp_server.headless.run.report import Report
from acp_server.headless.updates import Update
from acp_server.protocol.updates import Notice, ToolCallProgress, ToolCallStart

LONG = frozenset({"execute", "fetch", "other"})
"""Kinds of calls that may take minutes: commands, pages, tools of servers and tasks."""

Say = Callable[[str, str], None]
"""Takes a line and its style: one of `quiet`, `ok`, `problem`, `warning`."""


class SilentFeed:
    """Shows nothing."""

    async def begin(self, report: Report) -> None:
        """Show nothing."""

    async def show(self, update: Update) -> None:
        """Show nothing."""

    async def deny(self, denial: Denial) -> None:
        """Show nothing."""

    async def end(self) -> None:
        """Hold nothing back."""


class ProgressFeed:
    """Shows a line for each call, each notice and each denial; for what may take long, two."""

    def __init__(self, say: Say, cleaner: Cleaner) -> None:
        self._say = say
        self._cleaner = cleaner
        self._calls = RunningCalls()
        self._begun: set[str] = set()
        """Calls that may take long, and have begun."""

    async def begin(self, report: Report) -> None:
        """Show which session it is."""
        self._say(f"session {report.session_id}", "quiet")

    async def show(self, update: Update) -> None:
        """Show a call that has ended, or a long one that has begun, or a notice."""
        match update:
            case ToolCallStart() | ToolCallProgress():
                self._tell(update.tool_call_id, self._calls.take(update, anyio.current_time()))
            case Notice():
                style = "warning" if update.severity != "info" else "quiet"
                self._say(self._cleaner.line(update.title), style)
            case _:
                return

    async def deny(self, denial: Denial) -> None:
        """Show that something was not let through; what follows in a reason is for the model."""
        deeds = ", ".join(target.words for target in denial.targets) or denial.tool
        reason, _, _ = denial.reason.partition(";")
        self._say(self._cleaner.line(f"denied: {deeds}: {reason}"), "problem")

    async def end(self) -> None:
        """Hold nothing back."""

    def _tell(self, call_id: str, state: CallState) -> None:
        title = self._cleaner.line(state.title)
        if state.is_over:
            self._begun.discard(call_id)
            is_done = state.status == "completed"
            sign, style = ("done", "quiet") if is_done else ("failed", "problem")
            self._say(f"{state.kind}: {title}: {sign}", style)
        elif state.status == "in_progress" and state.kind in LONG and call_id not in self._begun:
            self._begun.add(call_id)
            self._say(f"{state.kind}: {title}: begun", "quiet")
