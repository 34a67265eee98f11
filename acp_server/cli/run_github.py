"""GitHub Actions output of a run: log group, annotations, job summary and step outputs."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import click

from acp_server.cli.run_files import clean_findings
from acp_server.config import settings
from acp_server.headless.run.github import GithubStep, format_command, neutralize_commands
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer

MAX_OUTPUT_CHARACTERS = 100_000
"""Longest answer in a step output; GitHub allows one megabyte for all outputs of a job."""


class GitHubStep:
    """The GitHub Actions step that this process runs in."""

    def __init__(self, workflow: GithubStep, cleaner: OutputSanitizer) -> None:
        self._workflow = workflow
        self._cleaner = cleaner

    def escape(self, text: str) -> str:
        """Return the text with everything escaped that the runner would read as a command."""
        return neutralize_commands(text)

    def write_report(self, report: RunReport) -> Iterator[str]:
        """Write annotations, summary and outputs for the finished run; yield a text per failure."""
        self._workflow.end_group()
        changed = [*(file.path for file in report.changes.files), *report.reviewed_files]
        if report.exit_code:
            self._workflow.send_command(
                format_command(
                    "error", self._cleaner.line(report.reason), title=f"run: {report.outcome}"
                )
            )
        hidden = self._workflow.annotate(clean_findings(report.findings, self._cleaner), changed)
        try:
            self._workflow.append_summary(self._summary(report, hidden))
            self._workflow.set_outputs(self._outputs(report))
        except OSError as error:
            yield f"the GitHub step summary and outputs cannot be written: {error}"

    def _outputs(self, report: RunReport) -> dict[str, str]:
        cost = report.usage.cost_usd
        return {
            "outcome": report.outcome,
            "exit-code": str(report.exit_code),
            "session-id": report.session_id,
            "text": self._cleaner.plain(report.text)[:MAX_OUTPUT_CHARACTERS],
            "cost-usd": "" if cost is None else f"{cost:.6f}",
            "files-changed": str(len(report.changes.files)),
        }

    def _summary(self, report: RunReport, hidden: int) -> str:
        cost = report.usage.cost_usd
        rows = {
            "Outcome": f"{report.outcome} ({report.exit_code})",
            "Reason": self._cleaner.line(report.reason),
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
        text = self._cleaner.plain(report.text)
        return f"### acp-server run\n\n| | |\n|---|---|\n{table}\n{text}\n"


@contextmanager
def open_step(is_requested: bool | None, cleaner: OutputSanitizer) -> Generator[GitHubStep | None]:  # noqa: FBT001  what an option says
    """Provide the step if this process runs in GitHub Actions, or if `is_requested`; else None.

    While it lasts, the runner ignores workflow commands in the output, except those of
    `GitHubStep`.
    """
    environment = settings.child_environment({})
    is_step = environment.get("GITHUB_ACTIONS") == "true" if is_requested is None else is_requested
    if not is_step:
        yield None
        return
    workflow = GithubStep(_write, environment)
    workflow.start_group("acp-server run")
    try:
        yield GitHubStep(workflow, cleaner)
    finally:
        workflow.resume_commands()


def _write(line: str) -> None:
    click.echo(line, err=True)
