"""`acp-server sessions`: lists, shows, searches, exports and deletes past sessions."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import click
from anyio import to_thread
from pydantic import JsonValue

from acp_server.cli.examples import ExampleGroup
from acp_server.cli.html_document import html_document
from acp_server.cli.known_secrets import create_redactor
from acp_server.cli.options import JSON
from acp_server.cli.screen import TerminalScreen
from acp_server.cli.session_printer import SessionPrinter
from acp_server.cli.stored_sessions import SessionIdError, StoredSessions, reporting_session_errors
from acp_server.cli.stored_transcript import (
    facts_as_json,
    foreign_transcript,
    json_lines,
    markdown,
    search_facts_as_json,
    spoken_texts,
    stored_transcript,
)
from acp_server.cli.transcript import Transcript
from acp_server.config import settings
from acp_server.session.ports.archive import StoredSession
from acp_server.session.ports.session_search import PastSession, SessionQuery, Sort
from acp_server.text.control_characters import escape_json
from acp_server.text.quantities import count
from acp_server.text.redaction import Redactor

FOLDER = click.Path(path_type=Path, file_okay=False)
CWD = click.option("--cwd", type=FOLDER, help="Only sessions started in this directory.")

REPORTING_ERRORS = reporting_session_errors("acp-server sessions")

MAX_MESSAGES_READ = 100_000
MIN_HITS_TO_FILTER = 50
"""Hits to fetch when `--cwd` filters them: the search itself cannot filter by directory."""
SECONDS_PER_UNIT = {"h": 3_600, "d": 86_400, "w": 604_800, "m": 2_592_000, "y": 31_536_000}
_AGE = re.compile(r"(\d{1,6})([hdwmy])")

ExportFormat = Literal["jsonl", "md", "html", "json"]


def parse_age(context: click.Context, parameter: click.Parameter, value: str) -> timedelta:
    """Parse an age such as 12h, 90d, 8w, 6m or 1y; a month has 30 days, and the limit is 100 years.

    Raises:
        click.BadParameter: It is not an age.
    """
    del context, parameter
    found = _AGE.fullmatch(value.strip().lower())
    if found is None:
        raise click.BadParameter(f"{value!r} is not an age; write it like 12h, 90d, 8w, 6m or 1y")
    seconds = int(found[1]) * SECONDS_PER_UNIT[found[2]]
    return timedelta(seconds=min(seconds, 100 * SECONDS_PER_UNIT["y"]))


@click.group(cls=ExampleGroup)
def command() -> None:
    """List, show, search, export and delete past sessions.

    An ID may be shortened to a unique prefix. The exit code is 1 if a session cannot be found or
    read.
    """


@command.command("list")
@CWD
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@JSON
@REPORTING_ERRORS
async def list_sessions(cwd: Path | None, limit: int, *, is_json: bool) -> int:
    """List sessions, most recently used first."""
    # One more than shown, to know whether there are more.
    found = await _stored_sessions().list_sessions(_absolute(cwd), limit + 1)
    if is_json:
        _print_json([facts_as_json(each) for each in found[:limit]])
    else:
        SessionPrinter(TerminalScreen()).print_list(found[:limit])
        if len(found) > limit:  # on stderr: the list may go into a pipe
            click.echo(f"There are more: use --limit {2 * limit}.", err=True)
    return 0


@command.command()
@click.argument("session_id", metavar="ID")
@click.option("--subagents", is_flag=True, help="Include the work of sub-agents.")
@click.option("--tasks", "subagents_by_old_name", is_flag=True, hidden=True)
@JSON
@REPORTING_ERRORS
async def show(
    session_id: str, *, subagents: bool, subagents_by_old_name: bool, is_json: bool
) -> int:
    """Print the messages and tool calls of a session."""
    with_tasks = subagents or subagents_by_old_name
    session, stored, transcript = await _load(session_id, with_tasks=with_tasks)
    facts = search_facts_as_json(session) if stored is None else facts_as_json(stored.facts)
    if is_json:
        said: list[JsonValue] = [
            {"speaker": speaker, "text": text} for speaker, text in spoken_texts(transcript)
        ]
        _print_json({**facts, "said": said})
    else:
        lines = [f"{name}: {value}" for name, value in facts.items() if value not in {"", None}]
        SessionPrinter(TerminalScreen()).print_session(session.title, lines, transcript)
    return 0


@command.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
)
@CWD
@JSON
@REPORTING_ERRORS
async def search(
    words: Sequence[str], limit: int, sort: Sort, cwd: Path | None, *, is_json: bool
) -> int:
    """Search the text of sessions, including those of Hermes Agent.

    All words must match. Also possible: "an exact phrase", a OR b, -excluded, prefix*. Put -- in
    front of a query that starts with -.
    """
    max_hits = limit if cwd is None else max(limit, MIN_HITS_TO_FILTER)
    findings = await _stored_sessions().past_sessions.search(
        SessionQuery(" ".join(words), max_hits, sort)
    )
    root = _absolute(cwd)
    found = [hit for hit in findings.hits if root is None or hit.session.cwd == str(root)]
    findings = replace(findings, hits=tuple(found[:limit]))
    if not is_json:
        SessionPrinter(TerminalScreen()).print_search_results(findings)
        return 0
    hits: list[JsonValue] = [
        search_facts_as_json(hit.session)
        | {
            "matches": hit.matches,
            "message_id": hit.text.id,
            "role": hit.text.role,
            "snippet": hit.snippet,
        }
        for hit in findings.hits
    ]
    _print_json({"hits": hits, "notes": list(findings.notes)})
    return 0


@command.command()
@click.argument("session_id", metavar="ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "md", "html", "json"]),
    default="jsonl",
    show_default=True,
    help="md, html, json: the conversation, without secrets; html is one file that needs nothing "
    "else. jsonl: all stored data as it is, one object per line.",
)
@REPORTING_ERRORS
async def export(session_id: str, form: ExportFormat) -> int:
    """Print a complete session."""
    session, stored, transcript = await _load(session_id)
    if form != "jsonl":
        redactor = await to_thread.run_sync(_load_redactor)
        click.echo(_readable(session, transcript, form, redactor))
    elif stored is not None:
        for line in json_lines(stored):
            click.echo(line)
    else:
        raise SessionIdError(_foreign_session_error(session, "export it with --format md"))
    return 0


def _load_redactor() -> Redactor:
    return create_redactor(settings.load({}))


def _readable(
    session: PastSession,
    transcript: Transcript,
    form: Literal["md", "html", "json"],
    redactor: Redactor,
) -> str:
    """Return a session for other people: without secrets and home directories."""
    if form == "html":
        return html_document(session.title, session.cwd, session.updated_at, transcript, redactor)
    if form == "md":
        text = markdown(session.title, session.cwd, session.updated_at, transcript)
        return redactor.redact(text)
    said: list[JsonValue] = [
        {"speaker": speaker, "text": redactor.redact(text)}
        for speaker, text in spoken_texts(transcript)
    ]
    facts = search_facts_as_json(session)
    shown = {
        name: redactor.redact(value) if isinstance(value, str) else value
        for name, value in facts.items()
    }
    return escape_json(json.dumps({**shown, "said": said}, ensure_ascii=False))


@command.command()
@click.argument("session_id", metavar="ID")
@JSON
@REPORTING_ERRORS
async def delete(session_id: str, *, is_json: bool) -> int:
    """Delete a session permanently; searches no longer find it."""
    sessions = _stored_sessions()
    session = await sessions.resolve(session_id)
    if session.source != "acp-server":
        raise SessionIdError(_foreign_session_error(session, "delete it there"))
    await sessions.delete(session.id)
    if is_json:
        _print_json({"deleted": [session.id]})
    else:
        click.echo(f"Deleted {session.id}")
    return 0


@command.command()
@click.option(
    "--older-than",
    "age",
    metavar="AGE",
    callback=parse_age,
    required=True,
    help="Age: 12h, 90d, 8w, 6m, 1y.",
)
@click.option("--dry-run", "is_dry_run", is_flag=True, help="List the sessions; delete nothing.")
@CWD
@JSON
@REPORTING_ERRORS
async def prune(age: timedelta, cwd: Path | None, *, is_dry_run: bool, is_json: bool) -> int:
    """Delete sessions not used for longer than an age; open sessions are kept."""
    before = datetime.now(UTC) - age
    pruned = await _stored_sessions().prune(before, _absolute(cwd), is_dry_run=is_dry_run)
    ids = [each.id for each in pruned.deleted]
    if is_json:
        in_use: list[JsonValue] = [each.id for each in pruned.in_use]
        _print_json({"deleted": [*ids], "in_use": in_use, "is_dry_run": is_dry_run})
        return 0
    if is_dry_run:
        SessionPrinter(TerminalScreen()).print_list(pruned.deleted)
    verb = "would be deleted" if is_dry_run else "deleted"
    click.echo(f"{count(len(ids), 'session')} {verb}")
    if pruned.in_use:
        click.echo(f"{count(len(pruned.in_use), 'session')} in use, kept")
    return 0


def _stored_sessions() -> StoredSessions:
    return StoredSessions(settings.load({}).home)


def _absolute(cwd: Path | None) -> Path | None:
    return None if cwd is None else cwd.expanduser().absolute()


async def _load(
    id_prefix: str, *, with_tasks: bool = False
) -> tuple[PastSession, StoredSession | None, Transcript]:
    """Return a session, its stored data (None if another program stores it) and its transcript."""
    sessions = _stored_sessions()
    session = await sessions.resolve(id_prefix)
    if session.source == "acp-server":
        async with sessions.open_archive() as archive:
            if archive is not None:
                stored = await archive.read(session.id)
                return session, stored, stored_transcript(stored, with_tasks=with_tasks)
    excerpt = await sessions.past_sessions.read(session.id, MAX_MESSAGES_READ)
    return session, None, foreign_transcript(excerpt.texts)


def _foreign_session_error(session: PastSession, advice: str) -> str:
    return f"{session.id} is stored by Hermes Agent: {advice}"


def _print_json(value: JsonValue | Sequence[JsonValue]) -> None:
    click.echo(escape_json(json.dumps(value, ensure_ascii=False, indent=2)))
