"""Plain files: our own, and the user's files that tools change and an undo restores."""

from collections.abc import Callable
from pathlib import Path

from acp_server.checkpoints import files as kept_files
from acp_server.checkpoints.files import FileImage
from acp_server.tools.files import disk as user_files
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import bytes_digest
from skills_store.atomic import write_atomically
from tests.faults.store_case import StoreCase, make_bytes_reader, prepare_nothing

OLD, NEW = b"old\n" * 2000, b"new and longer\n" * 3000


def write(content: bytes, name: str = "file") -> Callable[[Path], None]:
    """Return a function that writes a whole file."""
    return lambda folder: write_atomically(folder / name, content)


def create_old_file(folder: Path) -> None:
    """Create an old file with a second file next to it."""
    (folder / "file").write_bytes(OLD)


def create_hard_link(folder: Path) -> None:
    """Create an old file with a hard link."""
    create_old_file(folder)
    (folder / "other").hardlink_to(folder / "file")


def create_symlink(folder: Path) -> None:
    """Create a symlink in place of the file."""
    (folder / "file").symlink_to("elsewhere")


def edit_file(folder: Path) -> None:
    """Write a user's file as the tools do."""
    path = folder / "file"
    resolved = ResolvedPath("file", path, path, is_in_workspace=True)
    user_files.replace(resolved, NEW, user_files.disk_digest(resolved))


def restore_file(folder: Path) -> None:
    """Restore a file as an undo does."""
    found = kept_files.read_file_image(folder / "file")
    wanted = FileImage("file", NEW, 0o644)
    kept_files.replace_file(folder / "file", wanted, None if found is None else found.version)


def remove_file(folder: Path) -> None:
    """Delete a file as the tools do, unless it does not exist."""
    path = folder / "file"
    if path.exists():
        user_files.remove(ResolvedPath("file", path, path, is_in_workspace=True), bytes_digest(OLD))


def read_file_or_link(folder: Path) -> object:
    """Return the content of a file, or the target of a symlink."""
    path = folder / "file"
    return path.readlink() if path.is_symlink() else path.read_bytes() if path.exists() else None


FILES = [
    StoreCase("a new file", prepare_nothing, write(NEW), make_bytes_reader("file")),
    StoreCase("a file again", write(OLD), write(NEW), make_bytes_reader("file")),
    StoreCase("an edit", create_old_file, edit_file, make_bytes_reader("file"), (FileError,)),
    StoreCase(
        "an edit of a file with two names",
        create_hard_link,
        edit_file,
        make_bytes_reader("file", "other"),
        (FileError,),
    ),
    StoreCase(
        "a file that goes", create_old_file, remove_file, make_bytes_reader("file"), (FileError,)
    ),
    StoreCase("a file brought back", create_old_file, restore_file, make_bytes_reader("file")),
    StoreCase(
        "a file with two names brought back",
        create_hard_link,
        restore_file,
        make_bytes_reader("file", "other"),
    ),
    StoreCase(
        "a file brought back in a link's place", create_symlink, restore_file, read_file_or_link
    ),
]
