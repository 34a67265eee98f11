"""`acp-server skills search|update`: finds skills in indexes, and updates installed ones."""

import json

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.cli.skill_indexes import read_indexes
from acp_server.cli.skill_installer import INSTALL_ERRORS, open_installer, print_candidate
from acp_server.cli.skill_library import CliSkills, complete_installed, open_skills, report_failure
from acp_server.text.control_characters import escape_json
from skills_store.guard.verdict import SkillTrust
from skills_store.hub import search_entries
from skills_store.install import InstallCandidate, Installer, InstallPlan
from skills_store.sources.errors import SourceError
from skills_store.sources.locations import is_listed_source

index_option = click.option(
    "--index", "indexes", multiple=True, help="Look in this index instead. Repeatable."
)


@click.command(cls=ExampleCommand)
@click.argument("query", nargs=-1)
@index_option
@click.option("--limit", type=click.IntRange(1, 200), default=20, help="Default: 20.")
@JSON
def search(query: tuple[str, ...], indexes: tuple[str, ...], limit: int, *, is_json: bool) -> int:
    """Search indexes for skills; `skills install NAME` installs one.

    Indexes are the repositories and index files of the setting skills.indexes, and those that you
    have added to Hermes' hub. One that cannot be read is reported, and the others are searched.
    """
    skills = open_skills()
    try:
        entries = read_indexes(skills, indexes)
    except SourceError as error:
        return report_failure(error)
    found = search_entries(entries, " ".join(query), limit)
    if is_json:
        listed = [
            {"name": e.name, "description": e.description, "source": e.source, "index": e.index}
            for e in found
        ]
        click.echo(escape_json(json.dumps(listed, ensure_ascii=False, indent=2)))
        return 0
    for entry in found:
        click.echo(f"{entry.name:28} {entry.description}\n{'':28} {entry.source}")
    if not found:
        click.echo(f"No skill fits, among {len(entries)}.", err=True)
    return 0


@click.command(cls=ExampleCommand)
@click.argument("names", nargs=-1, shell_complete=complete_installed)
@click.option("--check", "is_check", is_flag=True, help="Only show what could be updated.")
@click.option("--yes", "is_yes", is_flag=True, help="Do not ask; blocked skills stay blocked.")
@click.option("--force", "is_forced", is_flag=True, help="Also update skills that were changed.")
def update(names: tuple[str, ...], *, is_check: bool, is_yes: bool, is_forced: bool) -> int:
    """Update installed skills from where they came from.

    Each source is fetched again and scanned as at installation. A skill whose files were changed
    here is left as it is. The version before the last update is kept in
    HERMES_HOME/acp/skill_updates. With --check the exit code is 1 if there is an update.
    """
    skills = open_skills()
    installer = open_installer(skills)
    installed = installer.installed()
    if missing := sorted(set(names) - installed.keys()):
        return report_failure(f"not installed from a source: {', '.join(missing)}")
    failures = available = 0
    for name in names or sorted(installed):
        try:
            found = _find_update(skills, installer, name)
        except INSTALL_ERRORS as error:
            failures += 1
            report_failure(error)
            continue
        if found is None:
            click.echo(f"{name}: up to date")
            continue
        plan, candidate = found
        changed, available = installer.changed_files(candidate), available + 1
        click.echo(f"{name}: {len(changed)} files differ: {', '.join(changed[:5])}")
        if is_check:
            continue
        if (own := installer.locally_changed_files(name)) and not is_forced:
            click.echo(f"  left as it is, because it was changed here: {', '.join(own)}")
            failures += 1
            continue
        failures += not _apply(installer, plan, candidate, is_yes=is_yes)
    return int(failures > 0 or (is_check and available > 0))


def _find_update(
    skills: CliSkills, installer: Installer, name: str
) -> tuple[InstallPlan, InstallCandidate] | None:
    """Return a newer form of an installed skill; None if it is the same.

    Raises:
        InstallError: the source cannot be read, or no longer holds the skill.
    """
    record = installer.installed()[name]
    values = record if isinstance(record, dict) else {}
    source, ref = str(values.get("source", "")), str(values.get("ref") or "")
    if ref:
        url, sign, folder = source.partition("#")
        source = f"{url}@{ref}{sign}{folder}"
    trusted = skills.configuration.settings.skills.trusted_sources
    trust: SkillTrust = "trusted" if is_listed_source(source, trusted) else "community"
    plan = installer.plan(source, trust, updates=name)
    candidate = next((each for each in plan.candidates if each.name == name), None)
    if candidate is None:
        raise SourceError(source, f"it no longer holds the skill {name!r}")
    return (plan, candidate) if installer.changed_files(candidate) else None


def _apply(
    installer: Installer, plan: InstallPlan, candidate: InstallCandidate, *, is_yes: bool
) -> bool:
    """Show a candidate, ask, and update; return whether it was updated."""
    print_candidate(candidate, plan, is_json=False)
    if not candidate.is_installable:
        return False
    if not is_yes and not click.confirm(
        f"  Update {candidate.name}?", default=candidate.decision == "allow"
    ):
        return False
    try:
        folder = installer.update(plan, candidate, is_approved=True)
    except INSTALL_ERRORS as error:
        report_failure(error)
        return False
    click.echo(f"  updated in {folder}")
    return True
