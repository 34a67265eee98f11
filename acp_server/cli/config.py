"""`acp-server config`: shows, edits and checks the settings."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from pydantic import JsonValue

from acp_server.cli.config_files import (
    SettingsProblem,
    check_all_settings,
    check_settings_file,
    create_settings_file,
    set_setting,
)
from acp_server.cli.examples import ExampleGroup
from acp_server.cli.options import JSON, choose_editor
from acp_server.cli.project_rows import project_rows
from acp_server.cli.screen import TerminalScreen
from acp_server.cli.setting_rows import changed_rows, print_rows, setting_rows
from acp_server.config import settings
from acp_server.config.schema import config_schema as configuration_schema
from acp_server.config.yaml_files import parse_mapping
from acp_server.text.redaction import redact_secrets

FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.group(cls=ExampleGroup)
def command() -> None:
    """Show, edit and check the settings.

    Settings come from HERMES_HOME/config.yaml, from HERMES_HOME/acp/config.yaml (which takes
    precedence), from HERMES_HOME/.env, from the environment and from options. In a trusted project,
    .hermes.md may restrict them further.
    """


@command.command()
@click.option("--cwd", type=FOLDER, help="Apply the project settings of this directory.")
@click.option("--all", "shows_all", is_flag=True, help="Also show settings with their default.")
@JSON
def show(cwd: Path | None, *, shows_all: bool, is_json: bool) -> int:
    """Show the settings that differ from their defaults, with their origin. Secrets are hidden.

    With --cwd: the settings of sessions in that directory, if it is trusted (acp-server trust).
    Settings in its .hermes.md that are not used are listed below, with the reason.

    With --json, all settings: {"home", "settings": [{"name", "value", "origin", "option",
    "variable", "key"}], "problems": [...]}; with --cwd also "project": {"root", "is_trusted",
    "unused": [{"origin", "what"}]}.
    """
    configuration = settings.load({})
    project = project_rows(configuration, cwd.resolve()) if cwd is not None else None
    rows = list(setting_rows(configuration)) if project is None else project.rows
    problems = [redact_secrets(problem) for problem in configuration.problems]
    if is_json:
        report: dict[str, JsonValue] = {
            "home": str(configuration.home),
            "settings": [asdict(row) for row in rows],
            "problems": [*problems],
        }
        if project is not None:
            report["project"] = {
                "root": str(project.root),
                "is_trusted": project.is_trusted,
                "unused": [asdict(each) for each in project.unused],
            }
        click.echo(json.dumps(report, indent=2))
        return 0
    shown = rows if shows_all else changed_rows(rows)
    if shown:
        print_rows(TerminalScreen(), shown)
    else:
        click.echo("All settings have their defaults; `acp-server config show --all` lists them.")
    for problem in (*problems, *(() if project is None else project.unused)):
        click.echo(f"note: {problem}", err=True)
    return 0


@command.command()
@click.argument("file", type=FILE, required=False)
@JSON
def check(file: Path | None, *, is_json: bool) -> int:
    """Check the settings; the exit code is 1 if there are problems.

    Old names, and keys of Hermes that are not used here, are only reported.

    Without FILE, the files in HERMES_HOME and the environment are checked. A FILE is checked like
    HERMES_HOME/acp/config.yaml. With --json: [{"file", "line", "key", "reason"}].
    """
    if file is None:
        found = check_all_settings(settings.load({}))
    elif file.is_file():
        found = check_settings_file(file)
    else:
        raise click.BadParameter(f"{file} does not exist", param_hint="FILE")
    if is_json:
        rows = [
            {
                "file": each.source,
                "line": each.problem.line,
                "key": each.problem.key,
                "reason": redact_secrets(each.problem.reason),
            }
            for each in found
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        _print_problems(found)
    return int(_has_mistakes(found))


@command.command("set")
@click.argument("key")
@click.argument("value")
def set_key(key: str, value: str) -> int:
    """Set KEY in HERMES_HOME/acp/config.yaml to VALUE, and keep the comments of the file.

    KEY is written with dots, such as sandbox.network. VALUE is YAML, such as true, 5 or [a, b];
    null removes the key. An unknown key or an invalid value is refused.
    """
    home = settings.hermes_home(settings.child_environment({}))
    if not all(key.split(".")):
        raise click.BadParameter(f"{key!r} is not a key such as sandbox.network", param_hint="KEY")
    try:
        file, problems = set_setting(home, key, value)
    except (OSError, ValueError) as error:
        click.echo(f"acp-server config: {key} cannot be set: {error}", err=True)
        return 1
    for each in problems:
        click.echo(str(each), err=True)
    if problems:
        click.echo("Nothing was changed; `acp-server config show --all` lists the keys.", err=True)
        return 1
    if parse_mapping(f"value: {value}") == {"value": None}:
        click.echo(f"Removed {key} from {file}. New sessions use its default.", err=True)
    else:
        click.echo(f"Set {key} in {file}. New sessions use it.", err=True)
    return 0


@command.command()
def edit() -> int:
    """Edit HERMES_HOME/acp/config.yaml in $VISUAL or $EDITOR, then check it.

    If the file does not exist, it is created with every setting commented out.
    """
    file = settings.hermes_home(settings.child_environment({})) / "acp" / "config.yaml"
    try:
        editor = choose_editor()
        create_settings_file(file)
        while True:
            click.edit(filename=str(file), editor=editor)
            found = check_settings_file(file)
            _print_problems(found)
            if not _has_mistakes(found):
                return 0
            if not sys.stdin.isatty() or not click.confirm("Edit again?", default=True):
                return 1
    except (click.ClickException, OSError) as error:
        click.echo(f"acp-server config: {file} cannot be edited: {error}", err=True)
        return 1


@command.command()
def schema() -> int:
    """Print the JSON schema of config.yaml, for completion and checks in an editor."""
    click.echo(json.dumps(configuration_schema(), indent=2))
    return 0


def _has_mistakes(found: Sequence[SettingsProblem]) -> bool:
    """Whether there are problems besides notices, such as old names."""
    return any(not each.problem.is_notice for each in found)


def _print_problems(found: Sequence[SettingsProblem]) -> None:
    for each in found:
        click.echo(str(each))
    if not found:
        click.echo("No problems found.")
