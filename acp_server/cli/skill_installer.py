"""The installer of the user's skills for the CLI commands, and how candidates are shown."""

import click

from acp_server.cli.skill_library import CliSkills
from acp_server.config import settings
from acp_server.skills.change_screening import scan_published
from acp_server.text.quantities import count
from skills_store.errors import SkillError
from skills_store.install import InstallCandidate, Installer, InstallPlan
from skills_store.names import is_same_name
from skills_store.sources.errors import InstallError
from skills_store.sources.repositories import GitCloner

MAX_FINDINGS = 20
INSTALL_ERRORS = (SkillError, InstallError, OSError)


def open_installer(skills: CliSkills) -> Installer:
    """Return the installer of the user's skills."""

    def is_taken(name: str) -> bool:
        found = skills.editor.catalog.list_skills()
        return any(not each.root.plugin and is_same_name(each.name, name) for each in found)

    git = GitCloner(settings.child_environment(dict.fromkeys(settings.load({}).secret_variables)))
    return Installer(skills.editor.home, git, is_taken, scan_published)


def print_candidate(candidate: InstallCandidate, plan: InstallPlan, *, is_json: bool) -> None:
    """Print a skill, the findings of its scan and the reasons not to install it."""
    level, files = candidate.verdict.level, count(len(candidate.contents.files), "file")
    description = " ".join(candidate.description.split())
    lines = [f"{candidate.name}: {level} ({files})  {description}"]
    findings = candidate.verdict.findings
    lines += [f"  {finding}" for finding in findings[:MAX_FINDINGS]]
    if len(findings) > MAX_FINDINGS:
        lines.append(f"  and {len(findings) - MAX_FINDINGS} more")
    lines += [f"  not installed: {problem}" for problem in candidate.problems]
    if candidate.decision == "block":
        trust = "trusted" if plan.origin.trust == "trusted" else "not trusted"
        lines.append(f"  not installed: the scan rated it {level}, and its source is {trust}")
    click.echo("\n".join(lines), err=is_json)
