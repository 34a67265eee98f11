"""`acp-server skills install|uninstall`: installs skills from others after a security scan."""

import json
from collections.abc import Sequence

import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.cli.skill_library import CliSkills, complete_installed, open_skills, report_failure
from acp_server.config import settings
from acp_server.skills.screening import scan_published
from acp_server.text.control_characters import escape_json
from skills_store.calls import ManageCall
from skills_store.errors import SkillError
from skills_store.guard.verdict import SkillTrust
from skills_store.install import InstallCandidate, Installer, InstallPlan
from skills_store.names import is_same_name
from skills_store.sources.errors import InstallError
from skills_store.sources.locations import is_listed_source
from skills_store.sources.repositories import GitCloner

MAX_FINDINGS = 20
INSTALL_ERRORS = (SkillError, InstallError, OSError)


@click.command(cls=ExampleCommand)
@click.argument("source", metavar="PATH_OR_GIT_URL")
@click.option("--skill", "names", multiple=True, help="Install only this skill. Repeatable.")
@click.option("--category", default="", help="Category for the installed skills.")
@click.option("--yes", "is_yes", is_flag=True, help="Do not ask; blocked skills stay blocked.")
@JSON
def install(
    source: str, names: tuple[str, ...], category: str, *, is_yes: bool, is_json: bool
) -> int:
    """Install skills from a directory, an archive (.zip, .tar.gz) or a git repository.

    URL@REF#DIRECTORY selects a branch, tag or commit, and a directory in it. Every file is scanned
    first, and the findings are shown. Skills that look dangerous are not installed; from sources
    that are not in the setting skills.trusted_sources, suspicious ones are not installed either.

    With --json: {"source", "commit", "trust", "skills": [{"name", "level", "findings",
    "problems", "folder"}]}; installs nothing without --yes.
    """
    skills = open_skills()
    installer = _installer(skills)
    trusted_sources = skills.configuration.settings.skills.trusted_sources
    trust: SkillTrust = "trusted" if is_listed_source(source, trusted_sources) else "community"
    click.echo(f"Fetching {source} ...", err=True)
    try:
        plan = installer.plan(source, trust)
    except INSTALL_ERRORS as error:
        return report_failure(error)
    chosen = [each for each in plan.candidates if not names or each.name in names]
    if missing := set(names) - {each.name for each in chosen}:
        return report_failure(f"the source contains no skill named {', '.join(sorted(missing))}")
    folders: dict[str, str] = {}
    failures = 0
    for each in chosen:
        _print_candidate(each, plan, is_json=is_json)
        if not each.is_installable:
            failures += 1
        elif is_yes or (
            not is_json
            and click.confirm(f"  Install {each.name}?", default=each.decision == "allow")
        ):
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
        _installer(skills).uninstall(name, archive)
    except INSTALL_ERRORS as error:
        return report_failure(error)
    click.echo(message)
    return 0


def _print_candidate(candidate: InstallCandidate, plan: InstallPlan, *, is_json: bool) -> None:
    """Print a skill, the findings of its scan and the reasons not to install it."""
    level, files = candidate.verdict.level, len(candidate.contents.files)
    description = " ".join(candidate.description.split())
    lines = [f"{candidate.name}: {level} ({files} files)  {description}"]
    findings = candidate.verdict.findings
    lines += [f"  {finding}" for finding in findings[:MAX_FINDINGS]]
    if len(findings) > MAX_FINDINGS:
        lines.append(f"  and {len(findings) - MAX_FINDINGS} more")
    lines += [f"  not installed: {problem}" for problem in candidate.problems]
    if candidate.decision == "block":
        trust = "trusted" if plan.origin.trust == "trusted" else "not trusted"
        lines.append(f"  not installed: the scan rated it {level}, and its source is {trust}")
    click.echo("\n".join(lines), err=is_json)


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


def _installer(skills: CliSkills) -> Installer:
    def is_taken(name: str) -> bool:
        found = skills.editor.catalog.list_skills()
        return any(not each.root.plugin and is_same_name(each.name, name) for each in found)

    git = GitCloner(settings.child_environment(dict.fromkeys(settings.load({}).secret_variables)))
    return Installer(skills.editor.home, git, is_taken, scan_published)
