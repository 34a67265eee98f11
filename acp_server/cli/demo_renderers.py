"""Renderers of the demo: on the terminal, or one summary line on stderr with `--json`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import click
from rich.rule import Rule
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS
from acp_server.cli.demo_project import Workspace
from acp_server.cli.demo_runner import Step, Summary, Turn
from acp_server.cli.screen import Screen, count, duration, printable
from acp_server.cli.session_view import SessionView, options_line
from acp_server.headless.updates import Update
from acp_server.headless.view import show_update
from acp_server.protocol.initialize_request import Implementation
from acp_server.protocol.initialize_response import InitializeResponse
from acp_server.protocol.sessions import NewSessionResponse
from acp_server.protocol.tool_calls import PermissionOption, RequestPermissionRequest

SignKind: TypeAlias = Literal["ok", "stopped", "problem"]
UNNAMED = Implementation(name="unnamed agent", version="")
INTRODUCTION = "A real server over stdio with a scripted model; this terminal is the editor."
NEXT_STEPS = (
    ("acp-server doctor", "check the installation"),
    ("acp-server demo --json", "see the protocol messages of this demo"),
    ("acp-server serve", "the command for your editor; see the README"),
)


class ScreenShow:
    """Renders the demo on a terminal."""

    def __init__(self, screen: Screen, workspace: Workspace) -> None:
        self._screen = screen
        self._workspace = workspace
        self._view = SessionView(screen)

    def greeted(self, answer: InitializeResponse, seconds: float) -> None:
        """Show the agent's name, version and response time."""
        screen, agent = self._screen, answer.agent_info or UNNAMED
        program = f"{agent.name} {agent.version}"
        version = f"ACP version {answer.protocol_version}"
        screen.print()
        screen.say(
            (agent.title or agent.name, "title"),
            "   ",
            (screen.join(program, version), "quiet"),
        )
        screen.say((INTRODUCTION, "quiet"))
        screen.print()
        self._done("initialize", f"answered {duration(seconds)} after the process was started")

    def opened(self, session: NewSessionResponse, seconds: float) -> None:
        """Show the project, the modes and the config options."""
        screen, workspace = self._screen, self._workspace
        self._done("session/new", f"answered after {duration(seconds)}")
        files = f"{count(workspace.files, 'file')}, one commit"
        self._view.fact("project", f"{workspace.folder} ({files})")
        if session.modes is not None:
            names = [mode.name for mode in session.modes.available_modes]
            self._view.fact("modes", screen.join(*names))
        if session.config_options:
            self._view.fact("options", options_line(screen, session.config_options))

    def asks(self, step: Step, number: int, total: int) -> None:
        """Show the prompt below a heading."""
        screen = self._screen
        self._view.settle()
        heading = Text(screen.join(f"{number} of {total}", step.caption), style="quiet")
        screen.print()
        screen.print(Rule(heading, align="left", style="quiet", characters=screen.signs.rule))
        screen.print()
        sign = Text.styled(f"  {screen.signs.prompt} ", "accent")
        screen.say((printable(step.prompt), "prompt"), first_prefix=sign)

    def update(self, update: Update) -> None:
        """Show an update of the session."""
        show_update(self._view, update)

    def asked(self, request: RequestPermissionRequest) -> None:
        """Show a permission request."""
        self._view.asked(request)

    def decided(self, request: RequestPermissionRequest, answer: PermissionOption | None) -> None:
        """Show the answer to a permission request."""
        self._view.decided(request, answer)

    def wrote(self, path: Path) -> None:
        """Show that a file was written."""
        self._view.wrote(path)

    def answered(self, turn: Turn) -> None:
        """Show how the turn ended and how long it took."""
        self._view.settle()
        self._screen.print()
        if turn.cancelled is None:
            first = "" if turn.first_chunk is None else duration(turn.first_chunk - turn.started)
            times = f"{duration(turn.ended - turn.started)}"
            times += f", the first after {first}" if turn.chunks > 1 else ""
            made = f"{count(turn.calls, 'call')} and " if turn.calls else ""
            self._done(turn.stop_reason, f"{made}{count(turn.chunks, 'chunk')} in {times}")
            return
        self._sign("stopped", "session/cancel", f"sent after {turn.step.cancel_after_chunks} words")
        later = duration(turn.ended - turn.cancelled)
        self._done(turn.stop_reason, f"answered {later} later")

    def left(self, summary: Summary) -> None:
        """Show the verification, the summary and the next steps."""
        screen = self._screen
        screen.print()
        screen.print(Rule(style="quiet", characters=screen.signs.rule))
        screen.print()
        for finding in summary.verdict.findings:
            self._sign("problem" if finding.problems else "ok", finding.what, finding.result)
        if summary.exit is not None:
            result = f"the server exited after {duration(summary.exit.seconds)}"
            self._done("stdin closed", f"{result} with exit code {summary.exit.code}")
        for problem in summary.problems:
            self._sign("problem", "problem", problem)
        screen.print()
        screen.say((screen.join(*numbers(summary)), "title"))
        screen.print()
        width = max(len(command) for command, _ in NEXT_STEPS)
        for command, reason in NEXT_STEPS:
            label = Text.styled(f"  {command.ljust(width)}   ", "accent")
            screen.say((reason, "quiet"), first_prefix=label)
        screen.print()

    def closed(self) -> None:
        """Print the rest and restore the terminal."""
        self._view.settle()

    def _done(self, what: str, result: str) -> None:
        self._sign("ok", what, result)

    def _sign(self, kind: SignKind, what: str, result: str) -> None:
        signs = self._screen.signs
        sign, style = {
            "ok": (signs.ok, "ok"),
            "stopped": (signs.stopped, "warning"),
            "problem": (signs.problem, "problem"),
        }[kind]
        label = Text.assemble((f"  {sign} ", style), what.ljust(LABEL_COLUMNS))
        self._screen.say((printable(result), "quiet"), first_prefix=label)


class WireShow:
    """Renders only a summary line on stderr: stdout carries the protocol messages."""

    def greeted(self, answer: InitializeResponse, seconds: float) -> None:
        """Say nothing."""

    def opened(self, session: NewSessionResponse, seconds: float) -> None:
        """Say nothing."""

    def asks(self, step: Step, number: int, total: int) -> None:
        """Say nothing."""

    def update(self, update: Update) -> None:
        """Say nothing."""

    def asked(self, request: RequestPermissionRequest) -> None:
        """Say nothing."""

    def decided(self, request: RequestPermissionRequest, answer: PermissionOption | None) -> None:
        """Say nothing."""

    def wrote(self, path: Path) -> None:
        """Say nothing."""

    def answered(self, turn: Turn) -> None:
        """Say nothing."""

    def left(self, summary: Summary) -> None:
        """Print the problems and the summary line."""
        for problem in summary.problems:
            click.echo(f"acp-server demo: problem: {problem}", err=True)
        click.echo(f"acp-server demo: {', '.join(numbers(summary))}", err=True)

    def closed(self) -> None:
        """Say nothing."""


def numbers(summary: Summary) -> Sequence[str]:
    """Return the counts and the duration of the demo as texts."""
    return (
        count(len(summary.turns), "prompt"),
        count(summary.updates, "update"),
        count(summary.chunks, "chunk"),
        count(summary.calls, "call"),
        count(summary.questions, "question"),
        duration(summary.seconds),
    )
