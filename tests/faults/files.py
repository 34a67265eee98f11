"""Plain files: our own, and the user's files that tools change and an undo restores."""

from collections.abc import Callable
from pathlib import Path

from acp_server.checkpoints import files as kept_files
from acp_server.checkpoints.files import Original
from acp_server.tools.files import disk as user_files
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import digest_of
from skills_store.atomic import write_atomically
from tests.faults.store_case import Store, bytes_of, nothing

OLD, NEW = b"old\n" * 2000, b"new and longer\n" * 3000


def write(content: bytes, name: str = "file") -> Callable[[Path], None]:
    """Return a function that writes a whole file."""
    return lambda folder: write_atomically(folder / name, content)


def put_plainly(folder: Path) -> None:
    """Create an old file with a second file next to it."""
    (folder / "file").write_bytes(OLD)


def with_second_name(folder: Path) -> None:
    """Create an old file with a hard link."""
    put_plainly(folder)
    (folder / "other").hardlink_to(folder / "file")


def with_link(folder: Path) -> None:
    """Create a symlink in place of the file."""
    (folder / "file").symlink_to("elsewhere")


def edit_file(folder: Path) -> None:
    """Write a user's file as the tools do."""
    path = folder / "file"
    place = Place("file", path, path, is_inside=True)
    user_files.replace(place, NEW, user_files.disk_digest(place))


def restore_file(folder: Path) -> None:
    """Restore a file as an undo does."""
    found = kept_files.original_at(folder / "file")
    wanted = Original("file", NEW, 0o644)
    kept_files.put(folder / "file", wanted, None if found is None else found.state)


def remove_file(folder: Path) -> None:
    """Delete a file as the tools do, unless it does not exist."""
    path = folder / "file"
    if path.exists():
        user_files.remove(Place("file", path, path, is_inside=True), digest_of(OLD))


def linked_or_not(folder: Path) -> object:
    """Return the content of a file, or the target of a symlink."""
    path = folder / "file"
    return path.readlink() if path.is_symlink() else path.read_bytes() if path.exists() else None


FILES = [
    Store("a new file", nothing, write(NEW), bytes_of("file")),
    Store("a file again", write(OLD), write(NEW), bytes_of("file")),
    Store("an edit", put_plainly, edit_file, bytes_of("file"), (FileError,)),
    Store(
        "an edit of a file with two names",
        with_second_name,
        edit_file,
        bytes_of("file", "other"),
        (FileError,),
    ),
    Store("a file that goes", put_plainly, remove_file, bytes_of("file"), (FileError,)),
    Store("a file brought back", put_plainly, restore_file, bytes_of("file")),
    Store(
        "a file with two names brought back",
        with_second_name,
        restore_file,
        bytes_of("file", "other"),
    ),
    Store("a file brought back in a link's place", with_link, restore_file, linked_or_not),
]
