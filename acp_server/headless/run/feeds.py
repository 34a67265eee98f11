"""Live progress of a run, for people: plain lines on stderr; the answer goes to stdout.

On a terminal the lines are colored. Output of models and tools is sanitized: no escapes.
"""

from collections.abc import Callable

import anyio

from acp_server.headless.run.denials import Denial
from acp_server.headless.run.report import Report
from acp_server.headless.run.sanitizing import Cleaner
from acp_server.headless.tool_call_state import CallState, RunningCalls
from acp_server.headless.updates import Update
from acp_server.protocol.updates import Notice, ToolCallProgress, ToolCallStart

LONG = frozenset({"execute", "fetch", "other"})
"""Kinds of tool calls that may take minutes: commands, web pages, MCP tools and tasks."""

Say = Callable[[str, str], None]
"""Called with a line and its style: `quiet`, `ok`, `problem` or `warning`."""


class SilentFeed:
    """Feed that shows nothing."""

    async def begin(self, report: Report) -> None:
        """Show nothing."""

    async def show(self, update: Update) -> None:
        """Show nothing."""

    async def deny(self, denial: Denial) -> None:
        """Show nothing."""

    async def end(self) -> None:
        """Hold nothing back."""


class ProgressFeed:
    """Feed with a line per tool call, notice and denial; long calls have one at the start too."""

    def __init__(self, say: Say, cleaner: Cleaner) -> None:
        self._say = say
        self._cleaner = cleaner
        self._calls = RunningCalls()
        self._begun: set[str] = set()
        """Ids of running calls whose start was shown."""

    async def begin(self, report: Report) -> None:
        """Show the session id."""
        self._say(f"session {report.session_id}", "quiet")

    async def show(self, update: Update) -> None:
        """Show ended calls, started long calls and notices."""
        match update:
            case ToolCallStart() | ToolCallProgress():
                self._tell(update.tool_call_id, self._calls.take(update, anyio.current_time()))
            case Notice():
                style = "warning" if update.severity != "info" else "quiet"
                self._say(self._cleaner.line(update.title), style)
            case _:
                return

    async def deny(self, denial: Denial) -> None:
        """Show a denial; only the first clause of its reason, the rest is advice to the model."""
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
            self._say(f"{state.kind}: {title}: started", "quiet")
