"""`acp-server skills install|uninstall`: installs skills from others after a security scan."""

import json
import sys
from collections.abc import Sequence

import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.cli.skill_indexes import find_in_indexes
from acp_server.cli.skill_installer import INSTALL_ERRORS, open_installer, print_candidate
from acp_server.cli.skill_library import CliSkills, complete_installed, open_skills, report_failure
from acp_server.text.control_characters import escape_json
from skills_store.calls import ManageCall
from skills_store.guard.verdict import SkillTrust
from skills_store.install import InstallCandidate, Installer, InstallPlan
from skills_store.sources.locations import is_listed_source


@click.command(cls=ExampleCommand)
@click.argument("source", metavar="PATH_OR_GIT_URL_OR_NAME")
@click.option("--skill", "names", multiple=True, help="Install only this skill. Repeatable.")
@click.option("--category", default="", help="Category for the installed skills.")
@click.option("--yes", "is_yes", is_flag=True, help="Do not ask; blocked skills stay blocked.")
@JSON
def install(
    source: str, names: tuple[str, ...], category: str, *, is_yes: bool, is_json: bool
) -> int:
    """Install skills from a directory, an archive (.zip, .tar.gz), a git repository or an index.

    A plain NAME is looked up in the indexes that `skills search` knows.
    URL@REF#DIRECTORY selects a branch, tag or commit, and a directory in it. Every file is scanned
    first, and the findings are shown. Skills that look dangerous are not installed; from sources
    that are not in the setting skills.trusted_sources, suspicious ones are not installed either.

    With --json: {"source", "commit", "trust", "skills": [{"name", "level", "findings",
    "problems", "folder"}]}; installs nothing without --yes.
    """
    skills = open_skills()
    installer = open_installer(skills)
    try:
        plan = _plan(skills, installer, source)
    except INSTALL_ERRORS as error:
        return report_failure(error)
    chosen = [each for each in plan.candidates if not names or each.name in names]
    if missing := set(names) - {each.name for each in chosen}:
        return report_failure(f"the source contains no skill named {', '.join(sorted(missing))}")
    folders: dict[str, str] = {}
    failures = 0
    for each in chosen:
        print_candidate(each, plan, is_json=is_json)
        if not each.is_installable:
            failures += 1
        elif is_yes or (not is_json and _confirm_install(each)):
            try:
                folder = installer.commit(plan, each, category, is_approved=True)
            except INSTALL_ERRORS as error:
                failures += 1
                report_failure(error)
            else:
                folders[each.name] = str(folder)
                click.echo(f"  installed in {folder}", err=is_json)
    if is_json:
        click.echo(
            escape_json(json.dumps(_as_json(plan, chosen, folders), ensure_ascii=False, indent=2))
        )
        return int(failures > 0)
    return int(len(folders) < len(chosen))


@click.command(cls=ExampleCommand)
@click.argument("name", shell_complete=complete_installed)
def uninstall(name: str) -> int:
    """Archive an installed skill; `restore` brings it back as one of your own."""
    skills = open_skills()
    editor, message = skills.editor, ""

    def archive(installed: str) -> None:
        nonlocal message
        call = ManageCall("delete", installed, origin="user", reason="uninstalled")
        message = editor.commit(editor.plan(call)).message

    try:
        open_installer(skills).uninstall(name, archive)
    except INSTALL_ERRORS as error:
        return report_failure(error)
    click.echo(message)
    return 0


def _confirm_install(candidate: InstallCandidate) -> bool:
    """Ask whether to install a skill.

    Raises:
        click.ClickException: There is no terminal, and stdin has no answer.
    """
    default = candidate.decision == "allow"
    question = f"  Install {candidate.name}?"
    if sys.stdin.isatty():
        return click.confirm(question, default=default)
    # Without an answer, the error alone says what to do.
    answer = sys.stdin.readline()
    if not answer:
        reason = "stdin is not a terminal: add --yes to install without asking"
        raise click.ClickException(reason)
    click.echo(f"{question} {answer.strip()}")
    return click.BOOL.convert(answer.strip(), None, None) if answer.strip() else default


def _plan(skills: CliSkills, installer: Installer, source: str) -> InstallPlan:
    """Fetch a source, or the one that an index has for a name, and examine it.

    Raises:
        InstallError: it cannot be read, or holds no skill.
        OSError: it cannot be read or unpacked.
    """
    source = find_in_indexes(skills, source)
    trusted_sources = skills.configuration.settings.skills.trusted_sources
    trust: SkillTrust = "trusted" if is_listed_source(source, trusted_sources) else "community"
    click.echo(f"Fetching {source} ...", err=True)
    return installer.plan(source, trust)


def _as_json(
    plan: InstallPlan, chosen: Sequence[InstallCandidate], folders: dict[str, str]
) -> JsonValue:
    origin = plan.origin
    return {
        "source": origin.source,
        "commit": origin.commit,
        "trust": origin.trust,
        "skills": [
            {
                "name": each.name,
                "level": each.verdict.level,
                "findings": [str(finding) for finding in each.verdict.findings],
                "problems": [*each.problems],
                "folder": folders.get(each.name),
            }
            for each in chosen
        ],
    }
