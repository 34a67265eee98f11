"""Search root: the directory or file that is walked and the ignore rules above it.

Reads directories, never file contents. Symlinks are followed to the root itself and nowhere below
it. Security: a root that is named inside the workspace but resolves outside is rejected; the real
path must be named instead.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from acp_server.permissions.file_kinds import exists, is_permitted, is_regular_file
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.query import SearchError


@frozen_dataclass
class SearchRoot:
    """A validated search root. `argument` names it for a process with working directory `cwd`."""

    workspace: Path
    cwd: Path
    argument: str
    is_file: bool
    ignore_arguments: tuple[str, ...]
    launcher: tuple[str, ...] = ()
    """Arguments in front of the search program that confine its reads."""
    program_free_roots: tuple[Path, ...] = ()
    """The directories of the workspace: the search program is not taken from there."""

    def resolve_name(self, name: bytes) -> Path:
        """Return the path of a file as ripgrep names it, in the caller's workspace."""
        return self.workspace / os.fsdecode(name.removeprefix(b"./"))


def resolve_search_root(root: Path, workspace_root: Path, exclude: Sequence[str]) -> SearchRoot:
    """Validate a root, relative ones from the workspace, and collect its ignore rules.

    Raises:
        SearchError: The root does not exist, is protected, or leaves the workspace by a symlink.
    """
    path = workspace_root / root
    is_file = _is_file(path)
    cwd = workspace_root.resolve()
    real = path.resolve()
    is_inside = real.is_relative_to(cwd)
    if not is_inside and path.is_relative_to(workspace_root):
        raise SearchError(f"{root} leads out of the workspace: if you mean that place, give {real}")
    relative = real.relative_to(cwd).as_posix() if is_inside else real.as_posix()
    # A protected root is rejected: ripgrep does not apply ignore rules to its arguments. Lower case
    # on both sides: on file systems that ignore case, another spelling names the same file.
    spec = GitIgnoreSpec.from_lines(glob.lower() for glob in exclude)
    name = relative.lower().removeprefix("/")
    if spec.match_file(name) or spec.match_file(f"{name}/"):
        raise SearchError(f"{relative} is protected and is not searched: choose another path")
    parent = real.parent if is_file else real
    return SearchRoot(
        workspace=workspace_root,
        cwd=cwd,
        argument="./" if relative == "." else f"./{relative}" if is_inside else relative,
        is_file=is_file,
        ignore_arguments=(
            *_parent_ignore_arguments(parent, cwd),
            *(f"--iglob=!{glob}" for glob in exclude),
        ),
    )


def _is_file(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SearchError(f"cannot search {path}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise SearchError(f"cannot search {path!r}: give a path without NUL") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SearchError(f"cannot search {path}: give a folder or a regular file")
    # ripgrep would find nothing there.
    if not is_permitted(path, os.R_OK):
        raise SearchError(f"cannot search {path}: you have no permission to read it")
    return stat.S_ISREG(mode)


def _parent_ignore_arguments(folder: Path, workspace: Path) -> tuple[str, ...]:
    """Return the arguments for the ignore files above a root.

    In a repository ripgrep finds them and stops at the repository's top. Elsewhere it would ascend
    to the file system's root, so a stray .gitignore in a home directory could hide everything; so
    only those from the workspace down are passed.
    """
    if any(exists(parent / ".git") for parent in (folder, *folder.parents)):
        return ()
    ancestors = [parent for parent in reversed(folder.parents) if parent.is_relative_to(workspace)]
    files = [parent / name for parent in ancestors for name in (".gitignore", ".ignore")]
    return (
        "--no-ignore-parent",
        *(f"--ignore-file={file}" for file in files if is_regular_file(file)),
    )
