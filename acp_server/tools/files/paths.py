"""Resolves file names: from the name that was given to an absolute path with links followed.

Reads only names and links and opens no file. Whether a path outside the workspace may be used is
the permission gate's decision.
"""

import os
import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp_server.permissions.symlinks import resolve_links
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.errors import FileChangedError, InvalidPathError

MAX_NAME_BYTES = 255
_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")


@frozen_dataclass
class ResolvedPath:
    """Resolved path of a file, which need not exist.

    Attributes:
        raw_path: The name as it was given.
        path: The absolute, normalized path.
        real: The same with all links followed.
        is_in_workspace: Whether `real` is inside a root of the workspace.
        link_path: If the path itself is a link, where that link is, with the links of its parent
            directories followed; else None.
    """

    raw_path: str
    path: Path
    real: Path
    is_in_workspace: bool
    link_path: Path | None = None

    @property
    def entry_path(self) -> Path:
        """The directory entry that a deletion or a move affects: of a link, the link itself."""
        return self.link_path or self.real


def names_of_file(path: Path) -> tuple[str, ...]:
    """Return names of which two paths to the same file have one in common. Blocks.

    They are the absolute path, the path with links followed and, of a file that exists, its
    identity: hard links and, on some file systems, other spellings lead to the same file.

    Raises:
        OSError: the path keeps changing between a link and something else.
    """
    real = resolve_links(path)
    try:
        status = real.stat()
    except OSError:
        return (str(path), str(real))
    return (str(path), str(real), f"{status.st_dev}:{status.st_ino}")


def lexical_path(raw_path: str, workspace: SessionWorkspace, home: Path) -> Path:
    """Return the absolute path that a name means, without accessing the file system.

    Relative names start at the workspace's `cwd`, `~` is `home`; `file:` URIs are accepted too.

    Raises:
        InvalidPathError: It cannot be a path.
    """
    name = _path_of_uri(raw_path) if raw_path.lower().startswith("file:/") else raw_path
    _check_name(name)
    base, name = (
        (home, name[1:].lstrip("/")) if re.match(r"~(/|$)", name) else (workspace.cwd, name)
    )
    # `..` is removed by name, so `link/..` is the link's own directory, not that of its target.
    normal = os.path.normpath(base / name)
    # POSIX allows a leading `//` to mean something else, and normpath keeps it: make it one `/`.
    return Path(re.sub(r"^//(?=[^/])", "/", normal) if os.sep == "/" else normal)


def resolve_path(raw_path: str, workspace: SessionWorkspace, home: Path) -> ResolvedPath:
    """Resolve a name; links are followed as far as the path exists. It blocks.

    Raises:
        InvalidPathError: It cannot be a path.
        FileChangedError: Its links keep changing.
    """
    path = lexical_path(raw_path, workspace, home)
    real = follow_links(path)
    entry_path = path if real == path else follow_links(path.parent) / path.name
    is_inside = any(_is_within(real, follow_links(root)) for root in workspace.roots)
    return ResolvedPath(raw_path, path, real, is_inside, None if entry_path == real else entry_path)


def follow_links(path: Path) -> Path:
    """Return an absolute path with all links followed, as far as it exists. It blocks.

    Raises:
        FileChangedError: A part of it keeps changing between a link and something else.
    """
    try:
        return resolve_links(path)
    except OSError:
        raise FileChangedError(str(path), "it keeps changing") from None


def is_below_root(path: Path, workspace: SessionWorkspace) -> bool:
    """Whether a path is inside a root of the workspace by name, without following links."""
    return any(path.is_relative_to(root) for root in workspace.roots)


def lock_key(path: Path) -> str:
    """Return a key that is equal for all spellings that some file system treats as one file.

    On a case-sensitive file system, two files may share a key. Use it for locks only, not to
    identify a file.
    """
    return unicodedata.normalize("NFC", str(path)).casefold()


def _path_of_uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise InvalidPathError(f"{uri!r} is not a file URI: {error}") from None
    if parts.netloc.lower() not in {"", "localhost"}:
        raise InvalidPathError(f"{uri!r} is on another machine; only local files can be used")
    path = unquote(parts.path, errors="surrogateescape")
    return path[1:] if os.name == "nt" and _WINDOWS_DRIVE.match(path) else path


def _check_name(name: str) -> None:
    if not name.strip():
        raise InvalidPathError("the path is empty; name a file")
    if "\0" in name:
        raise InvalidPathError(f"the path {name!r} has a NUL character in it")
    try:
        parts = [os.fsencode(part) for part in Path(name).parts]
    except UnicodeEncodeError:
        raise InvalidPathError(f"the path {name!r} has half a character in it") from None
    if any(len(part) > MAX_NAME_BYTES for part in parts):
        raise InvalidPathError(f"a name in the path is longer than {MAX_NAME_BYTES} bytes")


def _is_within(real: Path, root: Path) -> bool:
    """Whether a path is inside a root: by name, or because one of its parents is the root.

    The latter is compared by inode, for file systems where several spellings (letter case, Unicode
    composition) name the same directory.
    """
    if real.is_relative_to(root):
        return True
    identity = _identity(root)
    return identity is not None and identity in map(_identity, (real, *real.parents))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
