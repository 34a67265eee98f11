"""Live progress of a run, for people: plain lines on stderr; the answer goes to stdout.

On a terminal the lines are colored. Output of models and tools is sanitized: no escapes.
"""

from collections.abc import Callable

import anyio

from acp_server.headless.run.denials import Denial
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.tool_call_state import RunningToolCalls, ToolCallState
from acp_server.headless.updates import Update
from acp_server.protocol.updates import Notice, ToolCallProgress, ToolCallStart

LONG_RUNNING_KINDS = frozenset({"execute", "fetch", "other"})
"""Kinds of tool calls that may take minutes: commands, web pages, MCP tools and tasks."""

PrintLine = Callable[[str, str], None]
"""Called with a line and its style: `quiet`, `ok`, `problem` or `warning`."""


class RunFeed:
    """Receives the events of a run; this one shows nothing."""

    async def begin(self, report: RunReport) -> None:
        """Handle that the session is open; the report has its id and model."""

    async def show(self, update: Update) -> None:
        """Handle a session update."""

    async def deny(self, denial: Denial) -> None:
        """Handle a denial."""

    async def end(self) -> None:
        """Handle the end of the turn."""


class ProgressFeed(RunFeed):
    """Feed with a line per tool call, notice and denial; long calls have one at the start too."""

    def __init__(self, print_line: PrintLine, cleaner: OutputSanitizer) -> None:
        self._print_line = print_line
        self._cleaner = cleaner
        self._calls = RunningToolCalls()
        self._started: set[str] = set()
        """Ids of running calls whose start was shown."""

    async def begin(self, report: RunReport) -> None:
        """Show the session id."""
        self._print_line(f"session {report.session_id}", "quiet")

    async def show(self, update: Update) -> None:
        """Show ended calls, started long calls and notices."""
        match update:
            case ToolCallStart() | ToolCallProgress():
                self._show_call(
                    update.tool_call_id, self._calls.apply(update, anyio.current_time())
                )
            case Notice():
                style = "warning" if update.severity != "info" else "quiet"
                self._print_line(self._cleaner.line(update.title), style)
            case _:
                return

    async def deny(self, denial: Denial) -> None:
        """Show a denial; only the first clause of its reason, the rest is advice to the model."""
        targets = ", ".join(target.description for target in denial.targets) or denial.tool
        reason, _, _ = denial.reason.partition(";")
        self._print_line(self._cleaner.line(f"denied: {targets}: {reason}"), "problem")

    def _show_call(self, call_id: str, state: ToolCallState) -> None:
        title = self._cleaner.line(state.title)
        if state.has_ended:
            self._started.discard(call_id)
            is_done = state.status == "completed"
            sign, style = ("done", "quiet") if is_done else ("failed", "problem")
            self._print_line(f"{state.kind}: {title}: {sign}", style)
        elif (
            state.status == "in_progress"
            and state.kind in LONG_RUNNING_KINDS
            and call_id not in self._started
        ):
            self._started.add(call_id)
            self._print_line(f"{state.kind}: {title}: started", "quiet")
