"""`acp-server skills setup`: asks for the variables that a skill declares, and stores them."""

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.skill_library import (
    CWD,
    CliSkills,
    complete_name,
    open_skills,
    report_failure,
)
from acp_server.config.settings import read_variables, store_variable
from acp_server.text.control_characters import replace_unprintable
from skills_store.errors import SkillError
from skills_store.viewing import SkillView

DECLARES_NOTHING = "The skill {name} declares no variables."


@click.command(cls=ExampleCommand)
@click.argument("name", shell_complete=complete_name)
@click.argument("variable", default="")
@click.option("--stdin", "is_stdin", is_flag=True, help="Read the value of VARIABLE from stdin.")
@CWD
def setup(name: str, variable: str, cwd: Path, *, is_stdin: bool) -> int:
    """Ask for the variables that a skill declares, and store them in HERMES_HOME/.env.

    Without VARIABLE, those that it requires and that are not set. The values are not shown, and the
    file can be read by you only. Commands get them once you have agreed in a session.
    """
    skills = open_skills(cwd)
    try:
        view = skills.library.view(name)
    except SkillError as error:
        return report_failure(error)
    found = read_variables(skills.configuration.home)
    declared = [each.name for each in view.variables]
    if not declared:
        click.echo(DECLARES_NOTHING.format(name=view.name))
        return 0
    if variable and variable not in declared:
        return report_failure(f"{view.name} declares {', '.join(declared)}, not {variable}")
    if is_stdin and not variable:
        return report_failure("name the variable whose value comes from stdin")
    _print_states(view, found)
    required = [each.name for each in view.variables if not each.is_optional]
    wanted = [variable] if variable else [each for each in required if not found.get(each)]
    return _store_values(skills, wanted, is_stdin=is_stdin)


def _store_values(skills: CliSkills, names: list[str], *, is_stdin: bool) -> int:
    """Ask for values and store them; return the exit code: 1 if one is still missing."""
    missing = 0
    for name in names:
        value = ""
        if is_stdin:
            value = sys.stdin.readline().strip()
        elif sys.stdin.isatty():
            prompt = f"{name} (empty: none)"
            value = str(click.prompt(prompt, default="", hide_input=True, show_default=False))
        if not value.strip():
            missing += 1
            continue
        try:
            store_variable(skills.configuration.home, name, value.strip())
        except (OSError, ValueError) as error:
            return report_failure(error)
        click.echo(f"{name} is stored in {skills.configuration.home / '.env'}.")
    return int(missing > 0)


def _print_states(view: SkillView, found: Mapping[str, str]) -> None:
    """Print which variables are set, and the author's words about the others."""
    for each in view.variables:
        is_missing = not found.get(each.name)
        state = "not set" if is_missing else "set"
        optional = " (optional)" if each.is_optional else ""
        click.echo(f"{each.name}: {state}{optional}")
        if is_missing and each.help:
            click.echo(f"  {replace_unprintable(each.help)}")
