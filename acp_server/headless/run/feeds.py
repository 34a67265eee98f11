"""Live progress of a run, for people: plain lines on stderr; the answer goes to stdout.

On a terminal the lines are colored. Output of models and tools is sanitized: no escapes.
"""

from collections.abc import Callable, Sequence
from shlex import quote

import anyio

from acp_server.headless.run.denials import Denial
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.tool_call_state import RunningToolCalls, ToolCallState
from acp_server.headless.updates import Update
from acp_server.mcp.tool_names import SEPARATOR
from acp_server.protocol.updates import Notice, ToolCallProgress, ToolCallStart

LONG_RUNNING_KINDS = frozenset({"execute", "fetch", "other"})
"""Kinds of tool calls that may take minutes: commands, web pages, MCP tools and tasks."""

MAX_REASON_CHARACTERS = 300
NOT_SAVED = "the session is not saved (--ephemeral): it cannot be resumed, nor its changes undone"

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


class RunFeeds(RunFeed):
    """Passes the events of a run to several feeds."""

    def __init__(self, feeds: Sequence[RunFeed]) -> None:
        self._feeds = feeds

    async def begin(self, report: RunReport) -> None:
        """Pass on that the session is open."""
        for each in self._feeds:
            await each.begin(report)

    async def show(self, update: Update) -> None:
        """Pass on a session update."""
        for each in self._feeds:
            await each.show(update)

    async def deny(self, denial: Denial) -> None:
        """Pass on a denial."""
        for each in self._feeds:
            await each.deny(denial)

    async def end(self) -> None:
        """Pass on the end of the turn."""
        for each in self._feeds:
            await each.end()


class ProgressFeed(RunFeed):
    """Feed with a line per tool call, notice and denial; long calls have one at the start too."""

    def __init__(self, print_line: PrintLine, cleaner: OutputSanitizer) -> None:
        self._print_line = print_line
        self._cleaner = cleaner
        self._calls = RunningToolCalls()
        self._denied: set[str] = set()
        """Ids of calls whose denial was shown."""

    async def begin(self, report: RunReport) -> None:
        """Show the session id, if the session can be continued by it."""
        line = f"session {report.session_id}" if report.is_saved else NOT_SAVED
        self._print_line(line, "quiet")

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
        hint = f"; allow it with --allow {quote(denial.allow_rule)}" if denial.allow_rule else ""
        self._denied.add(denial.call_id)
        self._print_line(self._cleaner.line(f"denied: {targets}: {reason}{hint}"), "problem")

    def _show_call(self, call_id: str, state: ToolCallState) -> None:
        title, label = self._cleaner.line(state.title), _label(state)
        if state.has_ended:
            if state.status == "completed":
                self._print_line(f"{label}: {title}: done", "quiet")
            elif call_id not in self._denied:  # a denial has a line of its own
                reason = self._cleaner.line(_failure(state))
                text = f"{label}: {title}: failed: {reason[:MAX_REASON_CHARACTERS]}"
                self._print_line(text.removesuffix(": "), "problem")
        elif (
            state.status == "in_progress"
            and state.kind in LONG_RUNNING_KINDS
            and not state.is_start_shown
        ):
            state.is_start_shown = True
            self._print_line(f"{label}: {title}: started", "quiet")


def _label(state: ToolCallState) -> str:
    """Return the kind of a call, as shown: ACP has no kind for the tools of MCP servers."""
    return "mcp" if state.kind == "other" and SEPARATOR in state.name else state.kind


def _failure(state: ToolCallState) -> str:
    """Return why a call failed: its first line, or a command's last line and exit code."""
    lines = [each for each in state.text.splitlines() if each.strip().strip("`")]
    return " ".join(lines[-2:] if state.kind == "execute" else lines[:1])
