"""`acp-server report`: writes the reports of runs with many tasks, also of shards together."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.cli.run_outputs import open_step
from acp_server.config import settings
from acp_server.fleet.reports.loading import ReportError, load_units
from acp_server.fleet.reports.writing import write_reports
from acp_server.headless.run.outcome import EXIT_CODES
from acp_server.headless.run.sanitizing import OutputSanitizer, collect_secrets

FOLDER = click.Path(path_type=Path, file_okay=False)
NEW_FOLDER = click.Path(path_type=Path, file_okay=False)
RATE = click.FloatRange(0, 1)


@click.command(cls=ExampleCommand)
@click.argument("folders", metavar="FOLDER...", type=FOLDER, nargs=-1, required=True)
@click.option(
    "--output", type=NEW_FOLDER, help="Folder for the reports. Default: FOLDER, if it is one."
)
@click.option(
    "--min-pass", type=RATE, metavar="RATE", help="Exit with 0 if this share of the tasks passed."
)
@JSON
def command(
    folders: tuple[Path, ...], *, output: Path | None, min_pass: float | None, is_json: bool
) -> int:
    """Write reports on the tasks in FOLDER, the --output of `acp-server run --tasks`.

    Several folders are merged: the shards of one run, or runs of the same tasks. A task that is in
    several counts where it ran last. Writes report.json, summary.md, report.html and junit.xml, and
    with findings findings.sarif and gl-code-quality-report.json.
    """
    if output is None and len(folders) > 1:
        raise click.UsageError("--output is needed for the reports of several folders together")
    directory = output or next(iter(folders))
    return report_on(folders, directory, min_pass, is_json=is_json)


def report_on(
    folders: Sequence[Path],
    output: Path,
    min_pass: float | None,
    is_step: bool | None = None,  # noqa: FBT001  what an option says
    *,
    is_json: bool,
) -> int:
    """Write the reports on these folders together, and return the exit code.

    Raises:
        click.UsageError: A folder has no results.
    """
    try:
        units = load_units(folders)
    except ReportError as error:
        raise click.UsageError(str(error)) from None
    cleaner = OutputSanitizer(collect_secrets(settings.child_environment({})))
    try:
        written = write_reports(units, output, cleaner, min_pass=min_pass)
    except OSError as error:
        click.echo(f"acp-server report: the reports cannot be written: {error}", err=True)
        return 1
    if is_json:
        report = {"outcome": written.outcome, "summary": written.summary.as_json()}
        click.echo(json.dumps(report))
    else:
        click.echo("\n".join(map(str, written.files)))
    with open_step(is_step) as step:
        if step is not None:
            step.append_summary(written.markdown)
    return EXIT_CODES[written.outcome]
