"""Prints the stored system prompt of a session, exactly as it was sent."""

import json

import click

from acp_server.cli.async_runner import run_async
from acp_server.cli.stored_sessions import SessionIdError, StoredSessions
from acp_server.config import settings
from acp_server.session.errors import SessionError
from acp_server.session.ports.archive import SavedSystem


def show_stored_prompt(id_prefix: str, *, is_json: bool) -> int:
    """Print the prompt of the session with this id prefix; return the exit code."""

    async def work() -> int:
        sessions = StoredSessions(settings.load({}).home)
        session = await sessions.resolve(id_prefix)
        system: SavedSystem | None = None
        if session.source == "acp-server":
            async with sessions.open_archive() as archive:
                system = None if archive is None else (await archive.read(session.id)).facts.system
        if system is None:
            problem = f"session {session.id} has no stored system prompt"
            raise SessionIdError(problem)
        if is_json:
            written_at = system.written_at.isoformat()
            facts = {"session": session.id, "model": system.model_id, "written_at": written_at}
            report = {"text": system.text, "report": system.state.get("report"), "notices": []}
            click.echo(json.dumps(facts | report, ensure_ascii=False, indent=2))
        else:
            click.echo(system.text)
        return 0

    try:
        return run_async(work)
    except SessionError as error:
        click.echo(f"acp-server prompt: {error}", err=True)
        return 1
