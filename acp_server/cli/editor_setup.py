"""`acp-server setup --editor`: shows the change, asks, writes it and prints the next step.

`editor_settings` computes the new settings, `editor_files` changes the file.
"""

import sys
from pathlib import Path

import click

from acp_server.cli.commented_json import CommentedJsonError
from acp_server.cli.editor_detection import find_editors
from acp_server.cli.editor_files import (
    EditorFileError,
    PlannedFileChange,
    apply_change,
    plan_change,
)
from acp_server.cli.editor_settings import (
    NEXT_STEPS,
    TITLES,
    EditorName,
    FileEditor,
    Platform,
    server_command,
    settings_file,
    snippet,
    with_server,
)
from acp_server.cli.text_lines import diff_lines
from acp_server.config import settings

_COLOURS = {"+": "green", "-": "red"}


class SetupCommand(click.Command):
    """Click command that sets up an editor if `--editor` is given, else runs as usual."""

    def invoke(self, ctx: click.Context) -> int:
        """Remove the editor options and run either the editor setup or the command itself.

        Raises:
            click.UsageError: The options cannot be used together.
        """
        editor: EditorName | None = ctx.params.pop("editor")
        is_sure: bool = ctx.params.pop("is_sure")
        only_prints: bool = ctx.params.pop("only_prints")
        if editor is None:
            if is_sure or only_prints:
                raise click.UsageError("--yes and --print can only be used with --editor", ctx)
            given = {name for name, value in ctx.params.items() if value}
            if "local" in given and len(given) > 1:
                raise click.UsageError("--local cannot be used with other options", ctx)
            if given >= {"is_used", "forget"}:
                raise click.UsageError("--use cannot be used with --forget", ctx)
            return super().invoke(ctx)
        if any(ctx.params.values()):
            raise click.UsageError("--editor can only be used with --yes and --print", ctx)
        return set_up_editor(editor, is_sure=is_sure, only_prints=only_prints)


def set_up_editor(editor: EditorName, *, is_sure: bool, only_prints: bool) -> int:
    """Add this program to an editor's settings after asking; return the exit code.

    If stdin is not a terminal, nothing is asked, and the file is written only if `is_sure`.
    """
    if editor in ("neovim", "emacs") or only_prints:
        click.echo(snippet(editor, server_command()), nl=False)
        click.echo(NEXT_STEPS[editor], err=True)
        return 0
    machine = Platform(sys.platform, Path.home(), settings.child_environment({}))
    file = settings_file(editor, machine)
    try:
        change = plan_change(
            file, machine.home, lambda text: with_server(editor, text, server_command())
        )
        if not change.is_needed:
            click.echo(f"{TITLES[editor]} is already set up in {change.file}.", err=True)
            return 0
        _print_change(editor, change, machine.home)
        if not _confirm_write(change, is_sure=is_sure):
            return 0
        backup = apply_change(change)
    except (EditorFileError, CommentedJsonError, OSError) as error:
        location = f"{file}: " if isinstance(error, CommentedJsonError) else ""
        click.echo(f"acp-server setup: {location}{error}", err=True)
        click.echo(
            f"Nothing was changed. Run `acp-server setup --editor {editor} --print`", err=True
        )
        click.echo("to see the settings to add by hand.", err=True)
        return 1
    click.echo(f"Written{f'; the old file is saved as {backup.name}' if backup else ''}.", err=True)
    click.echo(NEXT_STEPS[editor], err=True)
    return 0


def _print_change(editor: FileEditor, change: PlannedFileChange, home: Path) -> None:
    if TITLES[editor] not in {each.name for each in find_editors(home)}:
        click.echo(f"{TITLES[editor]} does not seem to be installed on this machine.", err=True)
    click.echo(f"{change.file}{'' if change.old_bytes is not None else ' (new)'}:", err=True)
    for line in diff_lines(change.old_text, change.new_text):
        text = "…" if line.sign == "gap" else f"{line.sign} {line.text}"
        click.secho(text, fg=_COLOURS.get(line.sign))


def _confirm_write(change: PlannedFileChange, *, is_sure: bool) -> bool:
    if is_sure:
        return True
    if not sys.stdin.isatty():
        click.echo("Nothing was written: stdin is not a terminal. Add --yes to write it.", err=True)
        return False
    if click.confirm(f"Write this to {change.file}?", default=True, err=True):
        return True
    click.echo("Nothing was written.", err=True)
    return False
