"""`acp-server doctor`: runs the checks and prints a report, JSON or a zip archive."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.text import Text

from acp_server.cli.async_runner import run_async
from acp_server.cli.bundle import BundleContents, build_bundle, write_bundle
from acp_server.cli.doctor_checks import CheckResult, run_checks, worst_status
from acp_server.cli.editor_detection import find_editors
from acp_server.cli.examples import ExampleCommand
from acp_server.cli.known_secrets import create_redactor
from acp_server.cli.options import JSON
from acp_server.cli.screen import TerminalScreen, printable
from acp_server.cli.setting_rows import changed_rows, setting_rows
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.text.quantities import count
from acp_server.version import __version__

FILE = click.Path(path_type=Path, dir_okay=False)
LABEL_COLUMNS = 15


@click.command(cls=ExampleCommand)
@JSON
@click.option("--bundle", "file", type=FILE, help="Write a zip archive for a bug report.")
@click.option("--force", "is_forced", is_flag=True, help="With --bundle: replace an existing file.")
def command(file: Path | None, *, is_json: bool, is_forced: bool) -> int:
    """Check this installation and suggest fixes.

    Checks the command, the settings and their origins, the stored data, the skills, the editors and
    git, contacts the model's endpoint, and starts the server once as an editor does. The exit code
    is 1 if there is a problem; warnings do not count.

    The archive of --bundle also contains the end of the log. Keys, tokens and the path of your home
    directory are removed.
    """
    if file is not None and not is_forced and os.path.lexists(file):
        raise click.BadParameter(f"{file} exists; add --force to replace it", param_hint="--bundle")
    configuration = settings.load({})
    findings: list[CheckResult] = []
    exit_code = run_async(partial(_run_checks, configuration, findings, is_json=is_json))
    if file is None:
        return exit_code
    try:
        write_bundle(_build_bundle(configuration, findings), file, is_forced=is_forced)
    except OSError as error:
        click.echo(f"acp-server doctor: {file} cannot be written: {error.strerror}", err=True)
        return 1
    click.echo(f"Wrote {file}. Review it before you share it.", err=True)
    return exit_code


def _build_bundle(configuration: Configuration, findings: Sequence[CheckResult]) -> bytes:
    redactor = create_redactor(configuration)
    contents = BundleContents(
        findings=findings,
        rows=list(setting_rows(configuration)),
        editors=find_editors(Path.home()),
        environment=settings.child_environment({}),
        log_file=configuration.settings.log_file,
    )
    return build_bundle(contents, redactor)


async def _run_checks(
    configuration: Configuration, findings: list[CheckResult], *, is_json: bool
) -> int:
    rows = list(setting_rows(configuration))
    if is_json:
        await run_checks(configuration, findings.append)
        document = {
            "version": __version__,
            "status": worst_status(findings),
            "findings": [asdict(finding) for finding in findings],
            "settings": [asdict(row) for row in rows],
        }
        click.echo(json.dumps(document, indent=2))
        return int(worst_status(findings) == "problem")
    screen = TerminalScreen()
    screen.print()
    screen.print_parts(("acp-server doctor", "title"))
    screen.print()

    def report(finding: CheckResult) -> None:
        findings.append(finding)
        print_result(screen, finding)

    await run_checks(configuration, report)
    screen.print()
    changed = len(changed_rows(rows))
    if changed:
        shown_by = "`acp-server config show` lists them"
        screen.print_parts((f"{count(changed, 'setting')} changed: {shown_by}", "quiet"))
    numbers = Counter(finding.status for finding in findings)
    parts = [count(numbers[noun], noun) for noun in ("problem", "warning") if numbers[noun]]
    screen.print()
    screen.print_parts((" and ".join(parts) or "No problems found.", worst_status(findings)))
    screen.print()
    return int(worst_status(findings) == "problem")


def print_result(screen: TerminalScreen, finding: CheckResult) -> None:
    """Print the result of a check, and the advice below it."""
    signs = screen.symbols
    by_status = {"ok": signs.ok, "warning": signs.warning, "problem": signs.problem}
    label = Text.assemble(
        (f"  {by_status[finding.status]} ", finding.status), finding.name.ljust(LABEL_COLUMNS)
    )
    style = "quiet" if finding.status == "ok" else finding.status
    screen.print_parts((printable(finding.fact), style), first_prefix=label)
    if finding.advice:
        arrow = Text.styled(f"{signs.arrow} ".rjust(LABEL_COLUMNS + 6), "accent")
        screen.print_parts(printable(finding.advice), first_prefix=arrow)
