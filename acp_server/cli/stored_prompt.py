"""Prints the stored system prompt of a session, exactly as it was sent."""

import json

import click

from acp_server.cli.async_runner import run
from acp_server.cli.stored_sessions import KeptSessions, NoSuchSessionError
from acp_server.config import settings
from acp_server.session.errors import SessionError
from acp_server.session.ports.archive import SavedSystem


def show_kept(beginning: str, *, is_json: bool) -> int:
    """Print the prompt of the session with this id prefix; return the exit code."""

    async def work() -> int:
        session_id, system = await _kept(beginning)
        if is_json:
            written_at = system.written_at.isoformat()
            kept = {"session": session_id, "model": system.model_id, "written_at": written_at}
            report = {"text": system.text, "report": system.state.get("report"), "notices": []}
            click.echo(json.dumps(kept | report, ensure_ascii=False, indent=2))
        else:
            click.echo(system.text)
        return 0

    try:
        return run(work)
    except SessionError as error:
        click.echo(f"acp-server prompt: {error}", err=True)
        return 1


async def _kept(beginning: str) -> tuple[str, SavedSystem]:
    """Return the full id and the stored prompt of the session with this id prefix.

    Raises:
        NoSuchSessionError: No session or several sessions match, or it has no stored prompt.
        ArchiveError: The database cannot be read.
    """
    sessions = KeptSessions(settings.load({}).home)
    past = await sessions.meant(beginning)
    system: SavedSystem | None = None
    if past.source == "acp-server":
        async with sessions.archive() as archive:
            system = None if archive is None else (await archive.read(past.id)).facts.system
    if system is None:
        problem = f"session {past.id} has no stored system prompt"
        raise NoSuchSessionError(problem)
    return past.id, system
