"""A run as a step of a GitHub workflow: what its log folds, what stands at lines, its summary."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import click

from acp_server import settings
from acp_server.cli.run_files import cleaned
from acp_server.headless.run.cleaning import Cleaner
from acp_server.headless.run.github import Workflow, command, harmless
from acp_server.headless.run.report import Report

MOST_OUTPUT_CHARACTERS = 100_000
"""Of an answer as a step's output; all outputs of a job together may have a megabyte."""


class Step:
    """The step that this process is."""

    def __init__(self, workflow: Workflow, cleaner: Cleaner) -> None:
        self._workflow = workflow
        self._cleaner = cleaner

    def harmless(self, text: str) -> str:
        """Return a text in which the runner finds no command."""
        return harmless(text)

    def report(self, report: Report) -> Iterator[str]:
        """Tell the runner how the run ended; yield what went wrong."""
        self._workflow.end_group()
        changed = [*(file.path for file in report.changes.files), *report.reviewed]
        if report.exit_code:
            self._workflow.tell(
                command("error", self._cleaner.line(report.reason), title=f"run: {report.outcome}")
            )
        hidden = self._workflow.annotate(cleaned(report.findings, self._cleaner), changed)
        try:
            self._workflow.summarise(self._summary(report, hidden))
            self._workflow.put_out(self._outputs(report))
        except OSError as error:
            yield f"the summary and the outputs of the step cannot be written: {error}"

    def _outputs(self, report: Report) -> dict[str, str]:
        cost = report.spent.cost_usd
        return {
            "outcome": report.outcome,
            "exit-code": str(report.exit_code),
            "session-id": report.session_id,
            "text": self._cleaner.plain(report.text)[:MOST_OUTPUT_CHARACTERS],
            "cost-usd": "" if cost is None else f"{cost:.6f}",
            "files-changed": str(len(report.changes.files)),
        }

    def _summary(self, report: Report, hidden: int) -> str:
        cost = report.spent.cost_usd
        rows = {
            "Outcome": f"{report.outcome} ({report.exit_code})",
            "Reason": self._cleaner.line(report.reason),
            "Model calls": str(report.spent.requests),
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
def step_for(is_wanted: bool | None, cleaner: Cleaner) -> Generator[Step | None]:  # noqa: FBT001  what an option says
    """Provide the step, if this is one; the runner takes no commands but ours while it lasts."""
    environment = settings.child_environment({})
    is_step = environment.get("GITHUB_ACTIONS") == "true" if is_wanted is None else is_wanted
    if not is_step:
        yield None
        return
    workflow = Workflow(_write, environment)
    workflow.begin_group("acp-server run")
    try:
        yield Step(workflow, cleaner)
    finally:
        workflow.end()


def _write(line: str) -> None:
    click.echo(line, err=True)
