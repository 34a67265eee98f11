"""`acp-server doctor`: the checks as a page for a person, or as JSON for a program."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import click
from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from acp_server import settings
from acp_server.cli.checks import STATUSES, Finding, SettingRow, Status, examine, setting_rows
from acp_server.cli.interrupts import run
from acp_server.cli.screen import Indented, Screen, count, printable
from acp_server.settings import Configuration
from acp_server.version import __version__

LABEL_COLUMNS = 15


@click.command(
    epilog="""\
\b
Examples:
  acp-server doctor
  acp-server doctor --json | jq .status
"""
)
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object instead of a page.")
def command(*, is_json: bool) -> int:
    """Check this installation and say what to do about it.

    Looks at the command, the configuration and where each value came from, and starts the server
    once as an editor does. The exit code is 1 if there is a problem; warnings are none.
    """
    return run(partial(_examine, settings.load({}), is_json=is_json))


async def _examine(configuration: Configuration, *, is_json: bool) -> int:
    findings: list[Finding] = []
    if is_json:
        await examine(configuration, findings.append)
        report = as_json(findings, list(setting_rows(configuration)))
        click.echo(json.dumps(report, indent=2))
    else:
        page = Page(Screen())
        page.begin()

        def tell(finding: Finding) -> None:
            findings.append(finding)
            page.finding(finding)

        await examine(configuration, tell)
        page.settings(list(setting_rows(configuration)))
        page.end(findings)
    return int(worst(findings) == "problem")


def worst(findings: Sequence[Finding]) -> Status:
    """Return how bad it is altogether."""
    found: Status = "ok"
    for finding in findings:
        if STATUSES.index(finding.status) > STATUSES.index(found):
            found = finding.status
    return found


def as_json(findings: Sequence[Finding], rows: Sequence[SettingRow]) -> JsonValue:
    """Return the report of a whole examination."""
    return {
        "version": __version__,
        "status": worst(findings),
        "findings": [asdict(finding) for finding in findings],
        "settings": [asdict(row) for row in rows],
    }


class Page:
    """The report as a person reads it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def begin(self) -> None:
        """Print the title."""
        self._screen.print()
        self._screen.say(("acp-server doctor", "title"))
        self._screen.print()

    def finding(self, finding: Finding) -> None:
        """Print a finding, and under it what to do."""
        signs = self._screen.signs
        by_status = {"ok": signs.ok, "warning": signs.warning, "problem": signs.problem}
        label = Text.assemble(
            (f"  {by_status[finding.status]} ", finding.status),
            finding.name.ljust(LABEL_COLUMNS),
        )
        style = "quiet" if finding.status == "ok" else finding.status
        self._screen.say((printable(finding.fact), style), first_prefix=label)
        if finding.advice:
            arrow = Text.styled(f"{signs.arrow} ".rjust(LABEL_COLUMNS + 6), "accent")
            self._screen.say(printable(finding.advice), first_prefix=arrow)

    def settings(self, rows: Sequence[SettingRow]) -> None:
        """Print the settings, their values and where these came from."""
        table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False, header_style="quiet")
        for heading in ("setting", "value", "from", "option"):
            table.add_column(heading, overflow="fold")
        for row in rows:
            cells = (row.name, row.value, row.origin, row.option)
            styles = ("", "title" if row.origin != "default" else "quiet", "quiet", "quiet")
            table.add_row(
                *(Text(printable(c), style=s) for c, s in zip(cells, styles, strict=True))
            )
        self._screen.print()
        self._screen.print(Indented(table), end="")

    def end(self, findings: Sequence[Finding]) -> None:
        """Print the verdict."""
        problems = sum(finding.status == "problem" for finding in findings)
        warnings = sum(finding.status == "warning" for finding in findings)
        parts = [count(n, noun) for n, noun in ((problems, "problem"), (warnings, "warning")) if n]
        self._screen.print()
        self._screen.say((" and ".join(parts) or "All is well.", worst(findings)))
        self._screen.print()
