"""Skill library of a directory for the CLI commands, as a session there sees it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.skills.service import SkillService
from skills_store.editor import SkillEditor
from skills_store.home import AgentHome
from skills_store.install import recover_updates
from skills_store.library import SkillLibrary
from skills_store.ownership import read_installed_names

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
CWD = click.option(
    "--cwd",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="Workspace whose own skills are included, if it is trusted.",
)


@dataclass(frozen=True, slots=True)
class CliSkills:
    """Services for the skills of a directory."""

    configuration: Configuration
    service: SkillService
    library: SkillLibrary
    editor: SkillEditor
    untrusted_workspace: Path | None = None
    """The workspace if it is not trusted: then its own skills are not included."""


def open_skills(cwd: Path | None = None) -> CliSkills:
    """Return the skills of a session in a directory; without `cwd`, only the user's own skills."""
    configuration = settings.load({})
    environment = settings.child_environment(dict.fromkeys(configuration.secret_variables))
    try:
        recover_updates(AgentHome(configuration.home))
    except OSError as error:
        click.echo(f"note: an unfinished update could not be finished: {error}", err=True)
    skill_service = SkillService(
        configuration.home, Path.home(), configuration.settings.skills, environment=environment
    )
    workspace = None if cwd is None else cwd.resolve()
    is_trusted = workspace is not None and skill_service.is_trusted(workspace)
    skill_roots = skill_service.skill_roots(workspace if is_trusted else None)
    waiting = None if is_trusted else workspace
    return CliSkills(configuration, skill_service, skill_roots.library, skill_roots.editor, waiting)


def report_failure(reason: object) -> int:
    """Print the reason of a failure to stderr and return exit code 1."""
    message = str(reason).replace("`skills_list`", "`acp-server skills list`")
    click.echo(f"acp-server skills: {message}", err=True)
    return 1


def _completer(find: Callable[[], Iterable[tuple[str, str]]]) -> Completer:
    """Return a completion function for the names and descriptions that `find` returns."""

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del context, parameter
        return [
            CompletionItem(name, help=description)
            for name, description in dict(find()).items()
            if name.startswith(incomplete)
        ]

    return complete


complete_name = _completer(
    lambda: ((each.full_name, each.description) for each in open_skills(Path()).library.skills())
)
complete_archived = _completer(
    lambda: ((each.name, each.reason) for each in open_skills().editor.archive.entries())
)
complete_installed = _completer(
    lambda: (
        (name, "") for name in sorted(read_installed_names(open_skills().editor.home).installed)
    )
)
