"""`acp-server compare`: compares two runs of the same tasks."""

import json
from pathlib import Path

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.fleet.reports.comparison import compare_fleets
from acp_server.fleet.reports.loading import ReportError, load_units

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=ExampleCommand)
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@JSON
def command(first: Path, second: Path, *, is_json: bool) -> int:
    """Compare two runs of the same tasks, by their --output folders.

    Shows which tasks passed in one run only, with an exact paired test, and how cost, tokens and
    time differ: with another model, prompt, skill or version of acp-server.
    """
    try:
        before, after = load_units([first]), load_units([second])
    except ReportError as error:
        raise click.UsageError(str(error)) from None
    found = compare_fleets([each.result for each in before], [each.result for each in after])
    if not found.common:
        raise click.UsageError("the two folders have no task in common")
    if is_json:
        click.echo(json.dumps(found.as_json()))
        return 0
    names = first.name or str(first), second.name or str(second)
    if names[0] == names[1]:
        names = str(first), str(second)
    for line in found.lines(names):
        # Names of tasks and models are data of others; columns keep their spaces.
        click.echo("".join(character if character.isprintable() else " " for character in line))
    return 0
