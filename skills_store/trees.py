"""Directory trees as values: capture, copy and restore them byte for byte.

Handles files, modes and symlinks (never followed). Knows nothing about skills.
"""

import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from skills_store.atomic import write_atomically
from skills_store.json_file import Json, JsonObject

EntryKind = Literal["file", "link", "folder"]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree. `digest` is the SHA-256 of a file's bytes or of a link's target."""

    kind: EntryKind
    mode: int
    digest: str


Tree: TypeAlias = Mapping[str, TreeEntry]
"""Content of a directory by relative path with `/`."""

IsExcluded: TypeAlias = Callable[[str], bool]


def capture_tree(folder: Path, is_excluded: IsExcluded = lambda _: False) -> Tree:
    """Return the content of a directory without excluded paths; empty if it does not exist.

    Raises:
        OSError: An entry cannot be read.
    """
    tree: dict[str, TreeEntry] = {}
    for path, status in _walk(folder, "", is_excluded):
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            tree[path] = TreeEntry("folder", mode, "")
        elif stat.S_ISLNK(status.st_mode):
            target = os.fsencode((folder / path).readlink())
            tree[path] = TreeEntry("link", 0, digest_of(target))
        else:
            with (folder / path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            tree[path] = TreeEntry("file", mode, digest)
    return tree


def copy_tree(source: Path, target: Path, tree: Tree) -> None:
    """Copy the entries of a tree, with the modes it gives, to `target`, which is created.

    Raises:
        OSError: A read or write failed; the target may be incomplete.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(tree):
        if tree[path].kind == "folder":
            (target / path).mkdir(exist_ok=True)
        else:
            shutil.copy2(source / path, target / path, follow_symlinks=False)
        if tree[path].kind == "file":
            (target / path).chmod(tree[path].mode)
    for path in directories_inside_out(tree):
        (target / path).chmod(tree[path].mode)


def restore_tree(folder: Path, copies: Path, target: Tree, current: Tree) -> None:
    """Restore a directory from `current` to `target`, taking file contents from `copies`.

    Each file is replaced atomically, so after a crash it has its old or new bytes, and calling this
    again completes the restore.

    Raises:
        OSError: A read or write failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, entry in current.items():
        if name in target and target[name].kind != entry.kind:
            _remove_entry(folder / name)
    for name in sorted(target):
        if current.get(name) != target[name]:
            _restore_entry(folder / name, copies / name, target[name])
    for name in sorted(current, reverse=True):
        path = folder / name
        if name in target:
            continue
        if current[name].kind != "folder":
            path.unlink(missing_ok=True)
        elif path.is_dir() and not any(path.iterdir()):  # it may hold unknown files
            path.rmdir()
    for name in directories_inside_out(target):
        (folder / name).chmod(target[name].mode)


def directories_inside_out(tree: Tree) -> Iterator[str]:
    """Return the directories of a tree, children before parents: a parent may become read-only."""
    return (path for path in sorted(tree, reverse=True) if tree[path].kind == "folder")


def make_writable(tree: Tree) -> Tree:
    """Return a tree whose entries are writable by their owner."""
    bits = {"file": stat.S_IWUSR, "folder": stat.S_IRWXU, "link": 0}
    return {
        path: replace(entry, mode=entry.mode | bits[entry.kind]) for path, entry in tree.items()
    }


def serialize_tree(tree: Tree) -> JsonObject:
    """Return a tree as JSON for a record."""
    return {path: [entry.kind, entry.mode, entry.digest] for path, entry in tree.items()}


def parse_tree(value: Json) -> Tree:
    """Parse a tree from a record.

    Raises:
        ValueError: It is not a tree, or names a path outside its directory.
    """
    if not isinstance(value, dict):
        message = "a record holds no tree"
        raise ValueError(message)
    tree: dict[str, TreeEntry] = {}
    for path, entry in value.items():
        if not is_inside(path):
            message = f"a record names a file outside of its folder: {path}"
            raise ValueError(message)
        match entry:
            case ["file" | "link" | "folder" as kind, int() as mode, str() as digest]:
                tree[path] = TreeEntry(kind, mode, digest)
            case _:
                message = "a record holds something that is no file, link or folder"
                raise ValueError(message)
    return tree


def _walk(
    folder: Path, prefix: str, is_excluded: IsExcluded
) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        status = entry.stat(follow_symlinks=False)
        mode = status.st_mode
        is_copyable = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
        if is_excluded(path) or not is_copyable:  # no sockets, pipes and devices
            continue
        yield path, status
        if stat.S_ISDIR(mode):
            yield from _walk(Path(entry.path), f"{path}/", is_excluded)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def _remove_entry(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _restore_entry(path: Path, copy: Path, entry: TreeEntry) -> None:
    match entry.kind:
        case "folder":
            path.mkdir(parents=True, exist_ok=True)
        case "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, copy.read_bytes(), mode=entry.mode)
        case "link":
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{secrets.token_hex(8)}")
            temporary.symlink_to(copy.readlink())
            temporary.replace(path)
        case _:
            assert_never(entry.kind)


def is_inside(path: str) -> bool:
    """Return whether a path from a record stays within its directory."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")
