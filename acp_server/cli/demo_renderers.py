"""Renderers of the demo: on the terminal, or one summary line on stderr with `--json`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import click
from rich.rule import Rule
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS
from acp_server.cli.demo_project import DemoProject
from acp_server.cli.demo_runner import DemoStep, DemoSummary, DemoTurn
from acp_server.cli.screen import TerminalScreen, count, duration, printable
from acp_server.cli.session_view import SessionView, options_line
from acp_server.headless.updates import Update
from acp_server.headless.view import show_update
from acp_server.protocol.initialize_request import Implementation
from acp_server.protocol.initialize_response import InitializeResponse
from acp_server.protocol.sessions import NewSessionResponse
from acp_server.protocol.tool_calls import PermissionOption, RequestPermissionRequest

ResultKind: TypeAlias = Literal["ok", "stopped", "problem"]
UNNAMED_AGENT = Implementation(name="unnamed agent", version="")
INTRODUCTION = "A real server over stdio with a scripted model; this terminal is the editor."
NEXT_STEPS = (
    ("acp-server doctor", "check the installation"),
    ("acp-server demo --json", "see the protocol messages of this demo"),
    ("acp-server serve", "the command for your editor; see the README"),
)


class TerminalDemoRenderer:
    """Renders the demo on a terminal."""

    def __init__(self, screen: TerminalScreen, workspace: DemoProject) -> None:
        self._screen = screen
        self._workspace = workspace
        self._view = SessionView(screen)

    def show_initialized(self, answer: InitializeResponse, seconds: float) -> None:
        """Show the agent's name, version and response time."""
        screen, agent = self._screen, answer.agent_info or UNNAMED_AGENT
        program = f"{agent.name} {agent.version}"
        version = f"ACP version {answer.protocol_version}"
        screen.print()
        screen.print_parts(
            (agent.title or agent.name, "title"),
            "   ",
            (screen.join(program, version), "quiet"),
        )
        screen.print_parts((INTRODUCTION, "quiet"))
        screen.print()
        self._print_ok("initialize", f"answered {duration(seconds)} after the process was started")

    def show_session(self, session: NewSessionResponse, seconds: float) -> None:
        """Show the project, the modes and the config options."""
        screen, workspace = self._screen, self._workspace
        self._print_ok("session/new", f"answered after {duration(seconds)}")
        files = f"{count(workspace.file_count, 'file')}, one commit"
        self._view.print_fact("project", f"{workspace.directory} ({files})")
        if session.modes is not None:
            names = [mode.name for mode in session.modes.available_modes]
            self._view.print_fact("modes", screen.join(*names))
        if session.config_options:
            self._view.print_fact("options", options_line(screen, session.config_options))

    def show_prompt(self, step: DemoStep, number: int, total: int) -> None:
        """Show the prompt below a heading."""
        screen = self._screen
        self._view.settle()
        heading = Text(screen.join(f"{number} of {total}", step.caption), style="quiet")
        screen.print()
        screen.print(Rule(heading, align="left", style="quiet", characters=screen.symbols.rule))
        screen.print()
        sign = Text.styled(f"  {screen.symbols.prompt} ", "accent")
        screen.print_parts((printable(step.prompt), "prompt"), first_prefix=sign)

    def show_update(self, update: Update) -> None:
        """Show an update of the session."""
        show_update(self._view, update)

    def show_permission_request(self, request: RequestPermissionRequest) -> None:
        """Show a permission request."""
        self._view.show_permission_request(request)

    def show_permission_answer(
        self, request: RequestPermissionRequest, answer: PermissionOption | None
    ) -> None:
        """Show the answer to a permission request."""
        self._view.show_permission_answer(request, answer)

    def show_written_file(self, path: Path) -> None:
        """Show that a file was written."""
        self._view.show_written_file(path)

    def show_turn_end(self, turn: DemoTurn) -> None:
        """Show how the turn ended and how long it took."""
        self._view.settle()
        self._screen.print()
        if turn.cancelled_at is None:
            first = (
                ""
                if turn.first_chunk_at is None
                else duration(turn.first_chunk_at - turn.started_at)
            )
            timing = f"{duration(turn.ended_at - turn.started_at)}"
            timing += f", the first after {first}" if turn.chunks > 1 else ""
            calls = f"{count(turn.calls, 'call')} and " if turn.calls else ""
            self._print_ok(turn.stop_reason, f"{calls}{count(turn.chunks, 'chunk')} in {timing}")
            return
        self._print_result(
            "stopped", "session/cancel", f"sent after {turn.step.cancel_after_chunks} words"
        )
        delay = duration(turn.ended_at - turn.cancelled_at)
        self._print_ok(turn.stop_reason, f"answered {delay} later")

    def show_summary(self, summary: DemoSummary) -> None:
        """Show the verification, the summary and the next steps."""
        screen = self._screen
        screen.print()
        screen.print(Rule(style="quiet", characters=screen.symbols.rule))
        screen.print()
        for finding in summary.verdict.findings:
            self._print_result(
                "problem" if finding.problems else "ok", finding.name, finding.result
            )
        if summary.exit is not None:
            result = f"the server exited after {duration(summary.exit.seconds)}"
            self._print_ok("stdin closed", f"{result} with exit code {summary.exit.code}")
        for problem in summary.problems:
            self._print_result("problem", "problem", problem)
        screen.print()
        screen.print_parts((screen.join(*summary_parts(summary)), "title"))
        screen.print()
        width = max(len(command) for command, _ in NEXT_STEPS)
        for command, reason in NEXT_STEPS:
            label = Text.styled(f"  {command.ljust(width)}   ", "accent")
            screen.print_parts((reason, "quiet"), first_prefix=label)
        screen.print()

    def close(self) -> None:
        """Print the rest and restore the terminal."""
        self._view.settle()

    def _print_ok(self, subject: str, result: str) -> None:
        self._print_result("ok", subject, result)

    def _print_result(self, kind: ResultKind, subject: str, result: str) -> None:
        signs = self._screen.symbols
        sign, style = {
            "ok": (signs.ok, "ok"),
            "stopped": (signs.stopped, "warning"),
            "problem": (signs.problem, "problem"),
        }[kind]
        label = Text.assemble((f"  {sign} ", style), subject.ljust(LABEL_COLUMNS))
        self._screen.print_parts((printable(result), "quiet"), first_prefix=label)


class SummaryDemoRenderer:
    """Renders only a summary line on stderr: stdout carries the protocol messages."""

    def show_initialized(self, answer: InitializeResponse, seconds: float) -> None:
        """Say nothing."""

    def show_session(self, session: NewSessionResponse, seconds: float) -> None:
        """Say nothing."""

    def show_prompt(self, step: DemoStep, number: int, total: int) -> None:
        """Say nothing."""

    def show_update(self, update: Update) -> None:
        """Say nothing."""

    def show_permission_request(self, request: RequestPermissionRequest) -> None:
        """Say nothing."""

    def show_permission_answer(
        self, request: RequestPermissionRequest, answer: PermissionOption | None
    ) -> None:
        """Say nothing."""

    def show_written_file(self, path: Path) -> None:
        """Say nothing."""

    def show_turn_end(self, turn: DemoTurn) -> None:
        """Say nothing."""

    def show_summary(self, summary: DemoSummary) -> None:
        """Print the problems and the summary line."""
        for problem in summary.problems:
            click.echo(f"acp-server demo: problem: {problem}", err=True)
        click.echo(f"acp-server demo: {', '.join(summary_parts(summary))}", err=True)

    def close(self) -> None:
        """Say nothing."""


def summary_parts(summary: DemoSummary) -> Sequence[str]:
    """Return the counts and the duration of the demo as texts."""
    return (
        count(len(summary.turns), "prompt"),
        count(summary.updates, "update"),
        count(summary.chunks, "chunk"),
        count(summary.calls, "call"),
        count(summary.questions, "question"),
        duration(summary.seconds),
    )
