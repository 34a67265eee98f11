"""Where a file is: what was given, the path that it means, and where that really leads.

Knows the file system's names and links only. It opens nothing, and whether a place outside the
workspace may be used is not for it to say.
"""

import os
import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp_server.frozen import frozen
from acp_server.permissions.links import followed
from acp_server.session.session import Workspace
from acp_server.tools.files.errors import ChangedMeanwhileError, InvalidPathError

MAX_NAME_BYTES = 255
_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")


@frozen
class Place:
    """A file's place, whether or not there is a file.

    `given` is what it was called, `path` the absolute path without dots, `real` the same with all
    links followed, `is_inside` whether that lies in a root of the workspace. `stands` is where the
    path itself is, the links of its folders followed, if it is a link.
    """

    given: str
    path: Path
    real: Path
    is_inside: bool
    stands: Path | None = None

    @property
    def own(self) -> Path:
        """What is deleted or moved: of a link, the link."""
        return self.stands or self.real


def lexical_path(given: str, workspace: Workspace, home: Path) -> Path:
    """Return the absolute path that a name means, without asking the file system.

    Relative names start at the workspace's `cwd`, `~` is `home`; `file:` URIs are taken too.

    Raises:
        InvalidPathError: it cannot be a path.
    """
    name = _path_of_uri(given) if given.lower().startswith("file:/") else given
    _check(name)
    start, name = (
        (home, name[1:].lstrip("/")) if re.match(r"~(/|$)", name) else (workspace.cwd, name)
    )
    normal = os.path.normpath(start / name)
    return Path(re.sub(r"^//(?=[^/])", "/", normal) if os.sep == "/" else normal)


def place_of(given: str, workspace: Workspace, home: Path) -> Place:
    """Return the place that a name means, its links followed as far as it exists. It blocks.

    Raises:
        InvalidPathError: it cannot be a path.
    """
    path = lexical_path(given, workspace, home)
    real = real_path(path)
    stands = path if real == path else real_path(path.parent) / path.name
    is_inside = _is_in_roots(real, workspace)
    return Place(given, path, real, is_inside, None if stands == real else stands)


def real_path(path: Path) -> Path:
    """Return where an absolute path leads; what does not exist leads to itself. It blocks.

    Raises:
        ChangedMeanwhileError: it is a link at one moment and none at the next.
    """
    try:
        return followed(path)
    except OSError:
        raise ChangedMeanwhileError(str(path), "it keeps changing") from None


def lies_below(path: Path, workspace: Workspace) -> bool:
    """Whether a path lies in a root of the workspace by its name alone."""
    return any(path.is_relative_to(root) for root in _roots(workspace))


def folded(path: Path) -> str:
    """Return a name that is the same for all spellings which some system takes for one file.

    Two files may share it where a system tells the spellings apart: good for waiting in line,
    not for knowing which is which.
    """
    return unicodedata.normalize("NFC", str(path)).casefold()


def _path_of_uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise InvalidPathError(f"{uri!r} is no URI of a file: {error}") from None
    if parts.netloc.lower() not in {"", "localhost"}:
        raise InvalidPathError(f"{uri!r} lies on another machine; only local files can be used")
    path = unquote(parts.path, errors="surrogateescape")
    return path[1:] if os.name == "nt" and _WINDOWS_DRIVE.match(path) else path


def _check(name: str) -> None:
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


def _is_in_roots(real: Path, workspace: Workspace) -> bool:
    return any(_lies_in(real, real_path(root)) for root in _roots(workspace))


def _lies_in(real: Path, root: Path) -> bool:
    """Whether a place lies in a root: by name, or because a folder above it is the root.

    The latter where a system takes several spellings for one name (case, composed characters).
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


def _roots(workspace: Workspace) -> tuple[Path, ...]:
    return (workspace.cwd, *workspace.additional)
