"""Runs a task and prints exactly one result, as the last output, however the run ends."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_files import write_files
from acp_server.cli.run_github import GitHubStep, open_step
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.feeds import ProgressFeed, SilentFeed
from acp_server.headless.run.findings import files_in_diff
from acp_server.headless.run.lines import OutputLines, claim_stdout, json_line
from acp_server.headless.run.outcome import Outcome, outcome_of_signal
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.result import result_as_json
from acp_server.headless.run.runner import HeadlessRun
from acp_server.headless.run.sanitizing import OutputSanitizer, collect_secrets
from acp_server.headless.run.stream import StreamFeed
from acp_server.headless.run.wire_lines import AcpMessageWriter
from acp_server.headless.wire import ignore_line
from acp_server.server.config_mapping import configured_credential

OutputFormat = Literal["text", "json", "stream-json", "acp"]
COLOURS = {"quiet": "bright_black", "ok": "green", "problem": "red", "warning": "yellow"}

LineWriter = Callable[[str, str], None]


class OutputOptions(BaseModel):
    """Output options of a run: stdout format, files and GitHub Actions."""

    model_config = ConfigDict(frozen=True)

    format_: OutputFormat = "text"
    last_message: Path | None = None
    patch: Path | None = None
    junit: Path | None = None
    github: bool | None = None
    """None: only if this process runs as a step of GitHub Actions."""


def run_and_report(request: RunRequest, outputs: OutputOptions, signals: ShutdownSignals) -> int:
    """Run a task, write its output files, print its result and return the exit code."""
    with claim_stdout() as lines:
        cleaner = cleaner_for(request.configuration)
        with open_step(outputs.github, cleaner) as step:
            return _ReportedRun(outputs, lines, cleaner, step).run(request, signals)


def cleaner_for(configuration: Configuration) -> OutputSanitizer:
    """Return a cleaner that removes this process's secrets (keys, environment) from texts."""
    credential = configured_credential(configuration)
    known = () if credential is None else (credential.api_key or "", credential.auth_token or "")
    return OutputSanitizer(collect_secrets(settings.child_environment({}), known))


def print_failed_start(reason: str, format_: str, outcome: Outcome = "usage_error") -> None:
    """Print the JSON result of a run that could not start, if the format is JSON."""
    if format_ in {"json", "stream-json"}:
        report = RunReport(outcome=outcome, reason=reason)
        cleaner = OutputSanitizer(collect_secrets(settings.child_environment({})))
        click.echo(json_line(cleaner.json(result_as_json(report))))


class _ReportedRun:
    """Runs one request and writes its progress, files and result."""

    def __init__(
        self,
        outputs: OutputOptions,
        lines: OutputLines,
        cleaner: OutputSanitizer,
        step: GitHubStep | None,
    ) -> None:
        self._outputs = outputs
        self._lines = lines
        self._cleaner = cleaner
        self._step = step
        self._wire = AcpMessageWriter(lines.write_now, cleaner)

    def run(self, request: RunRequest, signals: ShutdownSignals) -> int:
        """Run the request and return the exit code; the result is printed even after a crash."""
        record = self._wire.add if self._outputs.format_ == "acp" else ignore_line
        task = HeadlessRun(request, self._make_feed(), record)
        task.report.reviewed_files = files_in_diff(request.prompt)
        try:
            _execute(task, signals)
        finally:
            # A pipeline reads the result, not the traceback: record the crash in it, print it, and
            # only then let the exception go on. The inner `finally` holds if writing files fails.
            _record_crash(task.report, sys.exception())
            try:
                self._write_files(task.report)
            finally:
                self._print(task.report)
        if self._lines.error:
            self._report_problem(task.report, f"the output cannot be written: {self._lines.error}")
        return task.report.exit_code

    def _write_files(self, report: RunReport) -> None:
        outputs = self._outputs
        files = {"last message": outputs.last_message, "patch": outputs.patch}
        for problem in write_files(report, {**files, "JUnit": outputs.junit}, self._cleaner):
            self._report_problem(report, problem)
        if self._step is not None:
            for problem in self._step.write_report(report):
                self._report_problem(report, problem)

    def _report_problem(self, report: RunReport, problem: str) -> None:
        self._print_line(problem, "problem")
        if not report.exit_code:
            report.outcome, report.reason = "internal_error", problem

    def _make_feed(self) -> SilentFeed | ProgressFeed | StreamFeed:
        match self._outputs.format_:
            case "stream-json":
                return StreamFeed(self._lines, self._cleaner)
            case "text" | "json":
                return ProgressFeed(self._print_line, self._cleaner)
            case "acp":
                return SilentFeed()

    def _print_line(self, line: str, style: str) -> None:
        shown = line if self._step is None else self._step.escape(line)
        click.secho(shown, err=True, fg=COLOURS[style])

    def _print(self, report: RunReport) -> None:
        match self._outputs.format_:
            case "text":
                text = self._cleaner.plain(report.text)
                if text:
                    self._lines.write_now(text if self._step is None else self._step.escape(text))
                for target in report.left_undone:
                    self._print_line(
                        self._cleaner.line(f"left undone: {target.description}"), "problem"
                    )
                if report.exit_code:
                    self._print_line(
                        f"{report.outcome}: {self._cleaner.line(report.reason)}", "problem"
                    )
            case "json" | "stream-json":
                self._lines.write_now(json_line(self._cleaner.json(result_as_json(report))))
            case "acp":
                self._wire.end()


def _record_crash(report: RunReport, error: BaseException | None) -> None:
    """Record an unexpected exception as the outcome, replacing any earlier one."""
    if error is not None:
        report.outcome = "internal_error"
        report.reason = crash_reason(error)


def crash_reason(error: BaseException) -> str:
    """Return the reason that a result gives for an unexpected exception."""
    return f"the run crashed: {type(error).__name__}: {error}"


def _execute(task: HeadlessRun, signals: ShutdownSignals) -> None:
    """Run the task; a signal cancels it and sets the outcome."""

    async def work() -> int:
        return (await task.execute()).exit_code

    # Differs only if a signal cancelled the run: a run that finished just before keeps its outcome.
    if run_until_signal(work, signals) != task.report.exit_code:
        task.report.outcome = outcome_of_signal(signals.signal_number)
        task.report.reason = "the run was stopped by a signal"
