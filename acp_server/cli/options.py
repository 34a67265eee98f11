"""Options that several commands share, and the user's editor."""

import sys
from pathlib import PurePath

import click

from acp_server.config import settings

JSON = click.option("--json", "is_json", is_flag=True, help="Print JSON.")
FALLBACK_EDITOR = "vi"
TERMINAL_EDITORS = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "micro", "hx", "helix", "kak", "joe", "mcedit"}
)
"""Editors that wait for ever, or fail, if they are not run in a terminal."""


def choose_editor() -> str:
    """Return the user's editor: $VISUAL, $EDITOR or `vi`.

    Raises:
        click.ClickException: It needs a terminal, and this process has none.
    """
    environment = settings.child_environment({})
    editor = environment.get("VISUAL") or environment.get("EDITOR") or FALLBACK_EDITOR
    program = PurePath((editor.split() or [editor])[0]).name
    has_terminal = all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if program in TERMINAL_EDITORS and not has_terminal:
        reason = (
            f"{program} needs a terminal; run this in one, or set VISUAL or EDITOR to an editor "
            "that has its own window"
        )
        raise click.ClickException(reason)
    return editor
