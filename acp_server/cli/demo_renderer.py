"""Renders the demo on the terminal: the session, with headings, measurements and a summary."""

from pathlib import Path

from rich.rule import Rule
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS
from acp_server.cli.demo_results import DemoStep, DemoSummary, DemoTurn
from acp_server.cli.screen import TerminalScreen, count, duration, printable
from acp_server.cli.session_view import SessionView, options_line
from acp_server.protocol.initialize_request import Implementation
from acp_server.protocol.initialize_response import InitializeResponse
from acp_server.protocol.sessions import NewSessionResponse

UNNAMED_AGENT = Implementation(name="unnamed agent", version="")
INTRODUCTION = "A real server over stdio with a scripted model; this terminal is the editor."
NEXT_STEPS = {
    "acp-server doctor": "check the installation",
    "acp-server demo --json": "see the protocol messages of this demo",
    "acp-server serve": "the command for your editor; see the README",
}


class DemoRenderer:
    """Shows what `view` does not: the project, headings, measurements and the summary."""

    def __init__(self, screen: TerminalScreen, folder: Path, file_count: int) -> None:
        self.view = SessionView(screen)
        self._screen = screen
        self._project = f"{folder} ({count(file_count, 'file')}, one commit)"

    def show_initialized(self, answer: InitializeResponse, seconds: float) -> None:
        """Show the agent and its response time, measured from the start of the process."""
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
        self._print_result(
            "initialize", f"answered {duration(seconds)} after the process was started"
        )

    def show_session(self, session: NewSessionResponse, seconds: float) -> None:
        """Show the project, the modes and the config options; `session/new` took `seconds`."""
        self._print_result("session/new", f"answered after {duration(seconds)}")
        self.view.print_fact("project", self._project)
        if session.modes is not None:
            names = [mode.name for mode in session.modes.available_modes]
            self.view.print_fact("modes", self._screen.join(*names))
        if session.config_options:
            options = options_line(self._screen, session.config_options)
            self.view.print_fact("options", options)

    def show_prompt(self, step: DemoStep, number: int, total: int) -> None:
        """Show the prompt below a heading."""
        screen = self._screen
        self.view.settle()
        heading = Text(screen.join(f"{number} of {total}", step.caption), style="quiet")
        screen.print()
        screen.print(Rule(heading, align="left", style="quiet", characters=screen.symbols.rule))
        screen.print()
        sign = Text.styled(f"  {screen.symbols.prompt} ", "accent")
        screen.print_parts((printable(step.prompt), "prompt"), first_prefix=sign)

    def show_turn_end(self, turn: DemoTurn) -> None:
        """Show how the turn ended and how long it took."""
        self.view.settle()
        self._screen.print()
        if turn.cancelled_at is not None:
            sent = f"sent after {turn.step.cancel_after_chunks} words"
            self._print_result("session/cancel", sent, "warning")
            delay = duration(turn.ended_at - turn.cancelled_at)
            self._print_result(turn.stop_reason, f"answered {delay} later")
            return
        calls = f"{count(len(turn.call_ids), 'call')} and " if turn.call_ids else ""
        timing = duration(turn.ended_at - turn.started_at)
        if turn.chunks > 1 and turn.first_chunk_at is not None:
            timing += f", the first after {duration(turn.first_chunk_at - turn.started_at)}"
        self._print_result(turn.stop_reason, f"{calls}{count(turn.chunks, 'chunk')} in {timing}")

    def show_summary(self, summary: DemoSummary) -> None:
        """Show the verification, the summary and the next steps."""
        screen = self._screen
        screen.print()
        screen.print(Rule(style="quiet", characters=screen.symbols.rule))
        screen.print()
        for finding in summary.findings:
            style = "problem" if finding.problems else "ok"
            self._print_result(finding.name, finding.result, style)
        if summary.exit is not None:
            result = f"the server exited after {duration(summary.exit.seconds)}"
            self._print_result("stdin closed", f"{result} with exit code {summary.exit.code}")
        for problem in summary.problems:
            self._print_result("problem", problem, "problem")
        screen.print()
        screen.print_parts((screen.join(*summary.counts), "title"))
        screen.print()
        width = max(map(len, NEXT_STEPS))
        for command, reason in NEXT_STEPS.items():
            label = Text.styled(f"  {command.ljust(width)}   ", "accent")
            screen.print_parts((reason, "quiet"), first_prefix=label)
        screen.print()

    def _print_result(self, subject: str, result: str, style: str = "ok") -> None:
        signs = self._screen.symbols
        sign = {"ok": signs.ok, "warning": signs.stopped, "problem": signs.problem}[style]
        label = Text.assemble((f"  {sign} ", style), subject.ljust(LABEL_COLUMNS))
        self._screen.print_parts((printable(result), "quiet"), first_prefix=label)
