"""`acp-server prompt show`: prints the system prompt of a new or a stored session."""

import json
from pathlib import Path

import anyio
import click

from acp_server.cli.examples import ExampleGroup
from acp_server.cli.stored_sessions import SessionIdError, StoredSessions, reporting_session_errors
from acp_server.config import settings
from acp_server.permissions.trust import NoTrustAsker, TrustStore, WorkspaceTrust
from acp_server.server.app import open_model_catalog
from acp_server.server.config_mapping import prompt_config
from acp_server.session.ports.archive import SavedSystem
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.skills import SkillIndexRequest
from acp_server.session.project.settings import ProjectSettings, parse_project_settings
from acp_server.session.prompting.provider import SystemPromptRequest
from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.skills.service import SkillService
from acp_server.skills.session_skills import SessionSkills
from acp_server.text.control_characters import escape_json
from acp_server.tools.tool_names import offered_tool_names

UNKNOWN_MODEL = (
    "{model} is not a known model, so the prompt is that of a model with an assumed context "
    "window; `acp-server models` lists models"
)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.group(cls=ExampleGroup)
def command() -> None:
    """Show the system prompt."""


@command.command()
@click.option("--cwd", type=FOLDER, help="Directory of the session. Default: the current one.")
@click.option("--model", default="", help="Model to write the prompt for.")
@click.option("--session", "session_id", metavar="ID", help="Show a stored session's prompt.")
@click.option("--json", "is_json", is_flag=True, help="Print the text and a report as JSON.")
def show(cwd: Path | None, model: str, session_id: str | None, *, is_json: bool) -> int:
    """Print the system prompt of a new session, or of a stored one with --session.

    An ID may be shortened to a unique prefix. The exit code is 1 if there is no such session, or
    if it has no prompt yet.

    With --json: {"text", "report": {"characters", "estimated_tokens", "sections": [...]},
    "notices": [...]}; with --session also "session", "model" and "written_at".
    """
    if session_id is None:
        return _show_new(cwd or Path(), model, is_json=is_json)
    if cwd is not None or model:
        problem = (
            "--session cannot be used with --cwd or --model: it shows the prompt as it was sent"
        )
        raise click.UsageError(problem)
    return _show_stored(session_id, is_json=is_json)


def _show_new(cwd: Path, model: str, *, is_json: bool) -> int:
    configuration = settings.load({"--model": model} if model else {})
    prompt_provider = WorkspacePromptProvider(
        prompt_config(configuration), SessionWorkspace(cwd.resolve())
    )
    text, is_known = anyio.run(_write_prompt, configuration, prompt_provider, cwd.resolve(), model)
    notices = [] if is_known else [UNKNOWN_MODEL.format(model=model)]
    notices += prompt_provider.take_notices()
    if is_json:
        report = {"text": text, "report": prompt_provider.report, "notices": notices}
        click.echo(escape_json(json.dumps(report, ensure_ascii=False, indent=2)))
        return 0
    click.echo(text)
    for notice in notices:
        click.echo(f"note: {notice}", err=True)
    return 0


@reporting_session_errors("acp-server prompt")
async def _show_stored(id_prefix: str, *, is_json: bool) -> int:
    """Print the prompt of the session with this id prefix; return the exit code."""
    sessions = StoredSessions(settings.load({}).home)
    session = await sessions.resolve(id_prefix)
    system: SavedSystem | None = None
    if session.source == "acp-server":
        async with sessions.open_archive() as archive:
            system = (
                None if archive is None else (await archive.read_state(session.id)).facts.system
            )
    if system is None:
        raise SessionIdError(f"session {session.id} has no stored system prompt")
    if is_json:
        written_at = system.written_at.isoformat()
        facts = {"session": session.id, "model": system.model_id, "written_at": written_at}
        report = {"text": system.text, "report": system.state.get("report"), "notices": []}
        click.echo(escape_json(json.dumps(facts | report, ensure_ascii=False, indent=2)))
    else:
        click.echo(system.text)
    return 0


async def _write_prompt(
    configuration: settings.Configuration,
    prompt_provider: WorkspacePromptProvider,
    root: Path,
    model: str,
) -> tuple[str, bool]:
    """Write the prompt as a session's first turn would, without the external memory's section.

    Also return whether the model is known, if one is given.

    The project's settings are known only after a first pass; if the project is trusted, they can
    change the model, tools and skills, so the prompt is written a second time.
    """
    skill_service = SkillService(configuration.home, Path.home(), configuration.settings.skills)
    names = offered_tool_names(configuration.settings.memory, configuration.settings.toolsets)

    async def write(catalog: ModelCatalog, requested: ProjectSettings) -> str:
        configured = model or requested.model or configuration.settings.model
        model_id = configured or catalog.default_id
        tools = frozenset(requested.tools or names)
        index = await SessionSkills(skill_service, "", root).index(
            SkillIndexRequest(tools, requested.skills)
        )
        window = catalog.known_window_tokens(model_id)
        return await prompt_provider.write_prompt(
            SystemPromptRequest(model_id, window, tools, index)
        )

    async with open_model_catalog(configuration) as catalog:
        text = await write(catalog, parse_project_settings({}, ()))
        models = [choice.id for choice in catalog.choices()]
        is_known = not model or model in models or catalog.known_window_tokens(model) is not None
        requested = parse_project_settings(prompt_provider.project_settings(), models, names)
        if not requested.summary:
            return text, is_known
        store = TrustStore(configuration.home / "acp" / "trust.json")
        trust = WorkspaceTrust(store, NoTrustAsker(), root)
        if await trust.is_trusted(requested.summary):
            text = await write(catalog, requested)
        return text, is_known
