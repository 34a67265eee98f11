"""`acp-server setup --editor`: shows the change, asks, writes it and prints the next step.

`editor_settings` computes the new settings. The file is changed atomically, with a backup. A
symlink is followed only to the user's own file below the home directory, and the file is written
only if it still has the content that the change was planned from.
"""

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from acp_server.cli.commented_json import CommentedJsonError
from acp_server.cli.editor_detection import find_editors
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
from acp_server.cli.examples import ExampleCommand
from acp_server.cli.text_lines import diff_lines
from acp_server.config import settings
from skills_store.atomic import write_atomically

MAX_BYTES = 4_000_000
MAX_BACKUPS = 1_000
BACKUP_SUFFIX = ".before-acp-server"
_COLOURS = {"+": "green", "-": "red"}


class EditorFileError(Exception):
    """A file that must not be changed."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} {reason}")
        self.file = file
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PlannedFileChange:
    """A planned change of a file."""

    file: Path
    """Path of the file, with symlinks resolved."""
    old_bytes: bytes | None
    """Current content; None if the file does not exist."""
    old_text: str
    new_text: str

    @property
    def is_needed(self) -> bool:
        """Whether the text changes."""
        return self.new_text != self.old_text


def plan_change(file: Path, home: Path, edit: Callable[[str], str]) -> PlannedFileChange:
    """Return the change that `edit` makes to a file; nothing is written.

    Raises:
        EditorFileError: It is not a regular UTF-8 file of this user, or a symlink leads elsewhere.
        OSError: The file cannot be read.
        ValueError: Raised by `edit`.
    """
    real = _resolve_symlink(file, home)
    old = _read_own_file(real)
    try:
        text = (old or b"").decode()
    except UnicodeDecodeError:
        raise EditorFileError(real, "is not UTF-8") from None
    return PlannedFileChange(real, old, text, edit(text))


def apply_change(change: PlannedFileChange) -> Path | None:
    """Write a change; return the path of the backup, or None if there was no old content.

    Raises:
        EditorFileError: The file changed since the change was planned.
        OSError: Writing failed; the file is unchanged, but the backup may exist.
    """
    change.file.parent.mkdir(parents=True, exist_ok=True)
    # The user may have answered minutes after the plan was made, and editors write their settings
    # at any time: compare again, so that nothing newer is overwritten.
    if _read_own_file(change.file) != change.old_bytes or change.file.is_symlink():
        raise EditorFileError(change.file, "changed in the meantime; nothing was written")
    backup = None
    if change.old_bytes is not None:
        backup = _unused_backup_path(change.file)
        write_atomically(backup, change.old_bytes, stat.S_IMODE(change.file.stat().st_mode))
    write_atomically(change.file, change.new_text.encode())
    return backup


def _resolve_symlink(file: Path, home: Path) -> Path:
    if not file.is_symlink():
        return file
    real = file.resolve()
    if not real.is_relative_to(home.resolve()):
        raise EditorFileError(file, f"is a symlink to {real}, outside your home directory")
    if not real.exists():
        raise EditorFileError(file, f"is a symlink to {real}, which does not exist")
    return real


def _read_own_file(file: Path) -> bytes | None:
    """Return the content of a regular file of this user; nothing else is opened."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise EditorFileError(file, "is not a regular file")
    if status.st_size > MAX_BYTES:
        raise EditorFileError(file, "is too large for a settings file")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise EditorFileError(file, "belongs to another user")
    return file.read_bytes()


def _unused_backup_path(file: Path) -> Path:
    """Return an unused path for the backup, so that earlier backups stay."""
    for number in range(1, MAX_BACKUPS):
        name = f"{file.name}{BACKUP_SUFFIX}{'' if number == 1 else f'-{number}'}"
        if not os.path.lexists(file.with_name(name)):
            return file.with_name(name)
    raise EditorFileError(file, "has too many backups; delete some of them")


class SetupCommand(ExampleCommand):
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

    If stdin is not a terminal, nothing is asked, and the file is written only if `is_sure`; else
    the exit code is 1.
    """
    if editor in ("neovim", "emacs") or only_prints:
        click.echo(snippet(editor, server_command()), nl=False)
        if editor in ("neovim", "emacs"):  # for the others, something has to be written first
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
        if not is_sure and not sys.stdin.isatty():
            text = "Nothing was written: stdin is not a terminal. Add --yes to write it."
            click.echo(text, err=True)
            return 1
        if not is_sure and not _confirm_write(change):
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


def _confirm_write(change: PlannedFileChange) -> bool:
    if click.confirm(f"Write this to {change.file}?", default=True, err=True):
        return True
    click.echo("Nothing was written.", err=True)
    return False
