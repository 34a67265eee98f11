"""Options that several commands share, and the user's editor."""

from pathlib import Path

import click

from acp_server.config import settings

JSON = click.option("--json", "is_json", is_flag=True, help="Print JSON.")
FALLBACK_EDITOR = "vi"


def open_in_editor(file: Path) -> None:
    """Open a file in $VISUAL or $EDITOR and wait for the editor to exit.

    Raises:
        click.ClickException: The editor cannot be started, or failed.
    """
    environment = settings.child_environment({})
    editor = environment.get("VISUAL") or environment.get("EDITOR") or FALLBACK_EDITOR
    click.edit(filename=str(file), editor=editor)
