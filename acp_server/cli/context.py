"""`acp-server context`: lists instruction files and trusts blocked ones."""

import json
from pathlib import Path

import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleGroup
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.server.config_mapping import content_trust
from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.threats import scan
from prompt_engine.trust import sha256_of

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=ExampleGroup)
def command() -> None:
    """List instruction files such as AGENTS.md, and trust a blocked one."""


@command.command("list")
@click.option("--cwd", type=FOLDER, default=".", help="Directory of the session.")
@JSON
def list_files(cwd: Path, *, is_json: bool) -> int:
    """List the instruction files of a directory and whether each is used."""
    trust = content_trust(settings.load({}).home)
    found = find_project_context(ContextRequest(cwd.resolve()), scan, trust.is_trusted)
    if is_json:
        rows: list[JsonValue] = [
            {
                "path": note.path,
                "outcome": note.outcome,
                "total_characters": note.total_characters,
                "kept_characters": note.kept_characters,
                "reason": note.reason,
                "findings": [
                    {"pattern": each.pattern, "line": each.line, "column": each.column}
                    for each in note.findings
                ],
            }
            for note in found.notes
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        click.echo("\n".join(map(_note_line, found.notes)) or "No instruction files found.")
    return 0


@command.command()
@click.argument("file", type=FILE)
def trust(file: Path) -> int:
    """Trust a blocked file with exactly its current content.

    Read the file first. If it changes, it is blocked again.
    """
    try:
        digest = sha256_of(file.read_bytes())
        content_trust(settings.load({}).home).trust(file, digest)
    except OSError as error:
        click.echo(f"acp-server context: {file} cannot be trusted: {error}", err=True)
        return 1
    click.echo(f"Trusted {file.resolve()} with its current content (SHA-256 {digest[:12]}…)")
    return 0


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
def untrust(file: Path) -> int:
    """Revoke the trust in a file."""
    try:
        was_trusted = content_trust(settings.load({}).home).revoke(file)
    except OSError as error:
        click.echo(f"acp-server context: the change cannot be saved: {error}", err=True)
        return 1
    click.echo(f"{file.resolve()} {'is no longer' if was_trusted else 'was not'} trusted")
    return 0


def _note_line(note: ContextFileNote) -> str:
    found = "; ".join(f"{each.pattern} in line {each.line}" for each in note.findings)
    reasons = "; ".join(part for part in (note.reason, found) if part)
    size = f"{note.kept_characters:,} of {note.total_characters:,} characters"
    return f"{note.outcome:11} {note.path} ({size})" + (f": {reasons}" if reasons else "")
