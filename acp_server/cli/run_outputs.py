"""Runs a task and prints exactly one result, as the last output, however the run ends."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict, JsonValue

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_files import write_files
from acp_server.cli.run_github import open_step, write_report
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.feeds import ProgressFeed, RunFeed
from acp_server.headless.run.findings import files_in_diff
from acp_server.headless.run.github import GithubStep, neutralize_commands
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


class OutputOptions(BaseModel):
    """Output options of a run: stdout format, files and GitHub Actions."""

    model_config = ConfigDict(frozen=True)

    format_: OutputFormat = "text"
    last_message: Path | None = None
    patch: Path | None = None
    junit: Path | None = None
    github: bool | None = None
    """None: only if this process runs as a step of GitHub Actions."""


@dataclass(frozen=True, slots=True)
class RunOutput:
    """The sanitized output of a run: stdout, stderr and the GitHub Actions step, if it is one."""

    lines: OutputLines
    cleaner: OutputSanitizer
    step: GithubStep | None

    def escape(self, text: str) -> str:
        """Return a text without anything that the step's runner would read as a command."""
        return text if self.step is None else neutralize_commands(text)

    def print_line(self, line: str, style: str) -> None:
        """Print a line of progress, or a problem, on stderr."""
        click.secho(self.escape(line), err=True, fg=COLOURS[style])

    def write_json(self, value: JsonValue) -> None:
        """Write a JSON value as a line on stdout."""
        self.lines.write_now(json_line(self.cleaner.json(value)))

    def write_step_report(self, report: RunReport) -> Iterator[str]:
        """Report to the step, if this is one; yield a text per failure."""
        if self.step is not None:
            yield from write_report(self.step, report, self.cleaner)


@contextmanager
def open_output(outputs: OutputOptions, configuration: Configuration) -> Generator[RunOutput]:
    """Claim stdout, and start the GitHub Actions step, for the time of a run."""
    with claim_stdout() as lines, open_step(outputs.github) as step:
        yield RunOutput(lines, cleaner_for(configuration), step)


def run_and_report(request: RunRequest, outputs: OutputOptions, signals: ShutdownSignals) -> int:
    """Run a task, write its output files, print its result and return the exit code.

    The result is printed even after a crash.
    """
    with open_output(outputs, request.configuration) as output:
        wire = AcpMessageWriter(output.lines.write_now, output.cleaner)
        task = HeadlessRun(
            request,
            _make_feed(outputs, output),
            wire.add if outputs.format_ == "acp" else ignore_line,
        )
        report = task.report
        report.reviewed_files = files_in_diff(request.prompt)

        async def work() -> int:
            return (await task.execute()).exit_code

        try:
            # Differs only if a signal cancelled the run: a run that finished just before keeps its
            # outcome.
            if run_until_signal(work, signals) != report.exit_code:
                report.outcome = outcome_of_signal(signals.signal_number)
                report.reason = "the run was stopped by a signal"
        finally:
            # A pipeline reads the result, not the traceback: record the crash in it, print it, and
            # only then let the exception go on. The inner `finally` holds if writing files fails.
            error = sys.exception()
            if error is not None:
                report.outcome, report.reason = "internal_error", crash_reason(error)
            try:
                _write_files(report, outputs, output)
            finally:
                if outputs.format_ == "acp":
                    wire.end()
                else:
                    _print_result(report, outputs.format_, output)
        if output.lines.error:
            _report_problem(report, f"the output cannot be written: {output.lines.error}", output)
        return report.exit_code


def _make_feed(outputs: OutputOptions, output: RunOutput) -> RunFeed:
    match outputs.format_:
        case "stream-json":
            return StreamFeed(output.lines, output.cleaner)
        case "text" | "json":
            return ProgressFeed(output.print_line, output.cleaner)
        case "acp":
            return RunFeed()


def _write_files(report: RunReport, outputs: OutputOptions, output: RunOutput) -> None:
    paths = {"last message": outputs.last_message, "patch": outputs.patch, "JUnit": outputs.junit}
    for problem in write_files(report, paths, output.cleaner):
        _report_problem(report, problem, output)
    for problem in output.write_step_report(report):
        _report_problem(report, problem, output)


def _report_problem(report: RunReport, problem: str, output: RunOutput) -> None:
    """Print a problem; it becomes the outcome of a run that has succeeded otherwise."""
    output.print_line(problem, "problem")
    if not report.exit_code:
        report.outcome, report.reason = "internal_error", problem


def _print_result(report: RunReport, format_: OutputFormat, output: RunOutput) -> None:
    if format_ != "text":
        output.write_json(result_as_json(report))
        return
    text = output.cleaner.plain(report.text)
    if text:
        output.lines.write_now(output.escape(text))
    for target in report.left_undone:
        output.print_line(output.cleaner.line(f"left undone: {target.description}"), "problem")
    if report.exit_code:
        output.print_line(f"{report.outcome}: {output.cleaner.line(report.reason)}", "problem")


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


def crash_reason(error: BaseException) -> str:
    """Return the reason that a result gives for an unexpected exception."""
    return f"the run crashed: {type(error).__name__}: {error}"
