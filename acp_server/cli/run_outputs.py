"""Runs a task and prints exactly one result, as the last output, however the run ends."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict

from acp_server.cli.async_runner import run_until_asked
from acp_server.cli.run_files import write_files
from acp_server.cli.run_github import Step, step_for
from acp_server.cli.shutdown_signals import Endings
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.feeds import ProgressFeed, SilentFeed
from acp_server.headless.run.findings import files_in_diff
from acp_server.headless.run.lines import Lines, claimed_stdout, json_line
from acp_server.headless.run.outcome import Outcome, outcome_of_signal
from acp_server.headless.run.report import Report
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.result import result_of
from acp_server.headless.run.runner import Run
from acp_server.headless.run.sanitizing import Cleaner, secrets_in
from acp_server.headless.run.stream import StreamFeed
from acp_server.headless.run.wire_lines import WireLines
from acp_server.headless.wire import record_nothing
from acp_server.server.config_mapping import configured_credential

Format = Literal["text", "json", "stream-json", "acp"]
COLOURS = {"quiet": "bright_black", "ok": "green", "problem": "red", "warning": "yellow"}

Say = Callable[[str, str], None]


class Outputs(BaseModel):
    """Output options of a run: stdout format, files and GitHub Actions."""

    model_config = ConfigDict(frozen=True)

    format_: Format = "text"
    last_message: Path | None = None
    patch: Path | None = None
    junit: Path | None = None
    github: bool | None = None
    """None: only if this process runs as a step of GitHub Actions."""


def run_to_its_end(request: RunRequest, outputs: Outputs, endings: Endings) -> int:
    """Run a task, write its output files, print its result and return the exit code."""
    with claimed_stdout() as lines:
        cleaner = cleaner_for(request.configuration)
        with step_for(outputs.github, cleaner) as step:
            return _Printed(outputs, lines, cleaner, step).run(request, endings)


def cleaner_for(configuration: Configuration) -> Cleaner:
    """Return a cleaner that removes this process's secrets (keys, environment) from texts."""
    credential = configured_credential(configuration)
    known = () if credential is None else (credential.api_key or "", credential.auth_token or "")
    return Cleaner(secrets_in(settings.child_environment({}), known))


def refuse(reason: str, format_: str, outcome: Outcome = "usage_error") -> None:
    """Print the JSON result of a run that could not start, if the format is JSON."""
    if format_ in {"json", "stream-json"}:
        report = Report(outcome=outcome, reason=reason)
        cleaner = Cleaner(secrets_in(settings.child_environment({})))
        click.echo(json_line(cleaner.json(result_of(report))))


class _Printed:
    """Runs one request and writes its progress, files and result."""

    def __init__(self, outputs: Outputs, lines: Lines, cleaner: Cleaner, step: Step | None) -> None:
        self._outputs = outputs
        self._lines = lines
        self._cleaner = cleaner
        self._step = step
        self._wire = WireLines(lines.write_now, cleaner)

    def run(self, request: RunRequest, endings: Endings) -> int:
        """Run the request and return the exit code; the result is printed even after a crash."""
        record = self._wire.take if self._outputs.format_ == "acp" else record_nothing
        task = Run(request, self._feed(), record)
        task.report.reviewed = files_in_diff(request.prompt)
        try:
            _execute(task, endings)
        finally:
            # A pipeline reads the result, not the traceback: record the crash in it, print it, and
            # only then let the exception go on. The inner `finally` holds if writing files fails.
            _note_crash(task.report, sys.exception())
            try:
                self._leave_files(task.report)
            finally:
                self._print(task.report)
        if self._lines.fault:
            self._complain(task.report, f"the output cannot be written: {self._lines.fault}")
        return task.report.exit_code

    def _leave_files(self, report: Report) -> None:
        outputs = self._outputs
        files = {"last message": outputs.last_message, "patch": outputs.patch}
        for problem in write_files(report, {**files, "JUnit": outputs.junit}, self._cleaner):
            self._complain(report, problem)
        if self._step is not None:
            for problem in self._step.report(report):
                self._complain(report, problem)

    def _complain(self, report: Report, problem: str) -> None:
        self._say(problem, "problem")
        if not report.exit_code:
            report.outcome, report.reason = "internal_error", problem

    def _feed(self) -> SilentFeed | ProgressFeed | StreamFeed:
        match self._outputs.format_:
            case "stream-json":
                return StreamFeed(self._lines, self._cleaner)
            case "text" | "json":
                return ProgressFeed(self._say, self._cleaner)
            case "acp":
                return SilentFeed()

    def _say(self, line: str, style: str) -> None:
        shown = line if self._step is None else self._step.harmless(line)
        click.secho(shown, err=True, fg=COLOURS[style])

    def _print(self, report: Report) -> None:
        match self._outputs.format_:
            case "text":
                text = self._cleaner.plain(report.text)
                if text:
                    self._lines.write_now(text if self._step is None else self._step.harmless(text))
                for target in report.left_undone:
                    self._say(self._cleaner.line(f"left undone: {target.words}"), "problem")
                if report.exit_code:
                    self._say(f"{report.outcome}: {self._cleaner.line(report.reason)}", "problem")
            case "json" | "stream-json":
                self._lines.write_now(json_line(self._cleaner.json(result_of(report))))
            case "acp":
                self._wire.end()


def _note_crash(report: Report, error: BaseException | None) -> None:
    """Record an unexpected exception as the outcome, replacing any earlier one."""
    if error is not None:
        report.outcome = "internal_error"
        report.reason = crash_told(error)


def crash_told(error: BaseException) -> str:
    """Return the reason that a result gives for an unexpected exception."""
    return f"the run crashed: {type(error).__name__}: {error}"


def _execute(task: Run, endings: Endings) -> None:
    """Run the task; a signal cancels it and sets the outcome."""

    async def work() -> int:
        return (await task.execute()).exit_code

    # Differs only if a signal cancelled the run: a run that finished just before keeps its outcome.
    if run_until_asked(work, endings) != task.report.exit_code:
        task.report.outcome = outcome_of_signal(endings.number)
        task.report.reason = "the run was stopped by a signal"
