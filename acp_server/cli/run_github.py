"""GitHub Actions output of a run: log group, annotations, job summary and step outputs."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial

import click

from acp_server.cli.run_files import clean_findings
from acp_server.config import settings
from acp_server.headless.run.github import GithubStep, format_command
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer

MAX_OUTPUT_CHARACTERS = 100_000
"""Longest answer in a step output; GitHub allows one megabyte for all outputs of a job."""


def write_report(step: GithubStep, report: RunReport, cleaner: OutputSanitizer) -> Iterator[str]:
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
        "session-id": report.session_id,
        "text": text[:MAX_OUTPUT_CHARACTERS],
        "cost-usd": "" if cost is None else f"{cost:.6f}",
        "files-changed": str(len(report.changes.files)),
    }
    try:
        step.append_summary(f"### acp-server run\n\n| | |\n|---|---|\n{table}\n{text}\n")
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
