"""Runs a task and prints exactly one result, as the last output, however the run ends.

Also writes the output files and, in GitHub Actions, log group, annotations, summary and outputs.
"""

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from pydantic import JsonValue

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_options import OutputFormat, OutputOptions
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.feeds import ProgressFeed, RunFeed, RunFeeds
from acp_server.headless.run.finding_formats import code_quality_report, sarif_report
from acp_server.headless.run.findings import ReviewFinding, files_in_diff
from acp_server.headless.run.github import GithubStep, format_command, neutralize_commands
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.lines import OutputLines, claim_stdout, json_line
from acp_server.headless.run.outcome import Outcome, outcome_of_signal
from acp_server.headless.run.report import RunReport, result_as_json
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.runner import HeadlessRun
from acp_server.headless.run.sanitizing import OutputSanitizer, collect_secrets
from acp_server.headless.run.stream import StreamFeed
from acp_server.headless.run.wire_lines import AcpMessageWriter
from acp_server.headless.wire import ignore_line
from acp_server.server.config_mapping import configured_credential
from acp_server.text.quantities import count, duration

MAX_OUTPUT_CHARACTERS = 100_000
"""Longest answer in a step output; GitHub allows one megabyte for all outputs of a job."""
COLOURS = {"quiet": "bright_black", "ok": "green", "problem": "red", "warning": "yellow"}


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

    def write_step_report(self, report: RunReport, summary: str = "") -> Iterator[str]:
        """Report to the step, if this is one; yield a text per failure.

        `summary` is Markdown that takes the place of a table about the one run.
        """
        if self.step is not None:
            yield from write_report(self.step, report, self.cleaner, summary)


@contextmanager
def open_output(outputs: OutputOptions, configuration: Configuration) -> Generator[RunOutput]:
    """Claim stdout, and start the GitHub Actions step, for the time of a run."""
    with claim_stdout() as lines, open_step(outputs.github) as step:
        yield RunOutput(lines, cleaner_for(configuration), step)


def run_and_report(request: RunRequest, outputs: OutputOptions, signals: ShutdownSignals) -> int:
    """Run a task, write its output files, print its result and return the exit code.

    The result is printed even after a crash.
    """
    with (
        open_output(outputs, request.configuration) as output,
        _open_transcript(outputs.transcript, output) as transcript,
    ):
        wire = AcpMessageWriter(output.lines.write_now, output.cleaner)
        task = HeadlessRun(
            request,
            RunFeeds((_make_feed(outputs, output), *transcript)),
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
        for line in task.recording.report_lines():
            output.print_line(output.cleaner.plain(line), "quiet")
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


@contextmanager
def _open_transcript(file: Path | None, output: RunOutput) -> Generator[Sequence[RunFeed]]:
    """Open the file of `--transcript`; yield its feed, none without the option.

    Raises:
        click.UsageError: The file cannot be written.
    """
    if file is None:
        yield ()
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = file.open("wb", buffering=0)
    except OSError as error:
        raise click.UsageError(f"the transcript cannot be written: {error}") from None
    with opened:
        lines = OutputLines(opened.fileno())
        yield (StreamFeed(lines, output.cleaner),)
        if lines.error:
            output.print_line(f"the transcript cannot be written: {lines.error}", "problem")


def _write_files(report: RunReport, outputs: OutputOptions, output: RunOutput) -> None:
    """Write the requested files and the report to the step; each failure is a problem."""
    cleaner = output.cleaner
    reason, text = cleaner.line(report.reason), cleaner.plain(report.text)
    case = JunitCase("task", report.duration_seconds, report.outcome, reason, text)
    findings = clean_findings(report.findings, cleaner)
    files = (
        ("last message", outputs.last_message, f"{text}\n".encode()),
        ("patch", outputs.patch, cleaner.patch(report.changes.patch)),
        ("JUnit", outputs.junit, junit_report([case], findings)),
        ("SARIF", outputs.sarif, sarif_report(findings)),
        ("Code Quality report", outputs.code_quality, code_quality_report(findings)),
    )
    for name, path, data in files:
        problem = "" if path is None else write_bytes(path, data)
        if problem:
            _report_problem(report, f"the {name} cannot be written: {problem}", output)
    for problem in output.write_step_report(report):
        _report_problem(report, problem, output)


def _report_problem(report: RunReport, problem: str, output: RunOutput) -> None:
    """Print a problem; it becomes the outcome of a run that has succeeded otherwise."""
    output.print_line(problem, "problem")
    if not report.exit_code:
        report.outcome, report.reason = "internal_error", problem


def _print_result(report: RunReport, format_: OutputFormat, output: RunOutput) -> None:
    if format_ == "text":
        text = output.cleaner.plain(_answer_text(report))
        if text:
            output.lines.write_now(output.escape(text))
    else:
        output.write_json(result_as_json(report))
    if format_ == "stream-json":  # it has no progress on stderr either
        return
    for target in report.left_undone:
        output.print_line(output.cleaner.line(f"left undone: {target.description}"), "problem")
    if report.exit_code:
        output.print_line(f"{report.outcome}: {output.cleaner.line(report.reason)}", "problem")
    output.print_line(output.cleaner.line(summarize_use(report)), "quiet")


def _answer_text(report: RunReport) -> str:
    """Return the answer for people: with --findings, a line per finding as compilers print them."""
    if not isinstance(report.answer, dict) or "findings" not in report.answer:
        return report.text
    lines = [describe_finding(each) for each in report.findings] or ["No findings."]
    summary = report.answer.get("summary")
    return "\n".join((*([summary] if isinstance(summary, str) and summary else []), *lines))


def describe_finding(finding: ReviewFinding) -> str:
    """Return a finding as `path:line: severity: title`, its message indented below."""
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    first = f"{place}: {finding.severity}: {finding.title}"
    return "\n".join((first, *(f"    {line}" for line in finding.message.splitlines())))


def summarize_use(report: RunReport) -> str:
    """Return what a run took, in one line: time, requests, tokens and cost."""
    usage, cost = report.usage.usage, report.usage.cost_usd
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    cached = f" ({usage.cache_read_tokens / read:.0%} cached)" if usage.cache_read_tokens else ""
    parts = (
        duration(report.duration_seconds),
        count(report.usage.requests, "request"),
        f"{read:,} tokens in{cached}, {usage.output_tokens:,} out",
        *(() if cost is None else (f"${cost:.4f}",)),
    )
    return ", ".join(parts)


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


def write_bytes(path: Path, data: bytes) -> str:
    """Write a file and its parent directories; return the error text, or "" on success."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        return str(error)
    return ""


def clean_findings(
    findings: Iterable[ReviewFinding], cleaner: OutputSanitizer
) -> tuple[ReviewFinding, ...]:
    """Return the findings with secrets and terminal control characters removed."""
    return tuple(
        finding.model_copy(
            update={
                "path": cleaner.line(finding.path),
                "title": cleaner.line(finding.title),
                "message": cleaner.plain(finding.message),
            }
        )
        for finding in findings
    )


def write_report(
    step: GithubStep, report: RunReport, cleaner: OutputSanitizer, summary: str = ""
) -> Iterator[str]:
    """Write annotations, summary and outputs for the finished run; yield a text per failure."""
    step.end_group()
    changed = [*(file.path for file in report.changes.files), *report.reviewed_files]
    if report.exit_code:
        title = f"run: {report.outcome}"
        step.send_command(format_command("error", cleaner.line(report.reason), title=title))
    hidden = step.annotate(clean_findings(report.findings, cleaner), changed)
    text, cost = cleaner.plain(report.text), report.usage.cost_usd
    rows = {
        "Outcome": f"{report.outcome} ({report.exit_code})",
        "Reason": cleaner.line(report.reason),
        "Model calls": str(report.usage.requests),
        "Cost": "" if cost is None else f"${cost:.4f}",
        "Files changed": str(len(report.changes.files)),
        "Denied": str(len(report.denials)),
        "Findings": str(len(report.findings)) if report.findings else "",
        "Findings not shown": str(hidden) if hidden else "",
    }
    table = "".join(
        f"| {name} | {value.replace('|', chr(92) + '|')} |\n"
        for name, value in rows.items()
        if value
    )
    outputs = {
        "outcome": report.outcome,
        "exit-code": str(report.exit_code),
        "session-id": report.saved_session_id,
        "text": text[:MAX_OUTPUT_CHARACTERS],
        "cost-usd": "" if cost is None else f"{cost:.6f}",
        "files-changed": str(len(report.changes.files)),
    }
    try:
        step.append_summary(summary or f"### acp-server run\n\n| | |\n|---|---|\n{table}\n{text}\n")
        step.set_outputs(outputs)
    except OSError as error:
        yield f"the GitHub step summary and outputs cannot be written: {error}"


@contextmanager
def open_step(is_requested: bool | None) -> Generator[GithubStep | None]:  # noqa: FBT001  what an option says
    """Provide the step if this process runs in GitHub Actions, or if `is_requested`; else None.

    While it lasts, the runner ignores workflow commands in the output, except those of the step.
    """
    environment = settings.child_environment({})
    is_step = environment.get("GITHUB_ACTIONS") == "true" if is_requested is None else is_requested
    if not is_step:
        yield None
        return
    step = GithubStep(partial(click.echo, err=True), environment)
    step.start_group("acp-server run")
    try:
        yield step
    finally:
        step.resume_commands()
