"""Where a search walks, and which rules keep it out of files. Reads folders, never contents.

Links are followed to the root itself and nowhere below it. A root that lies in the workspace by
its name and outside by its links is refused: whoever means the other place must name it.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from acp_server.frozen import frozen
from acp_server.tools.search.query import SearchError


@frozen
class Place:
    """A root that can be searched. `argument` names it for a process that runs in `cwd`."""

    workspace: Path
    cwd: Path
    argument: str
    is_file: bool
    rules: tuple[str, ...]
    launcher: tuple[str, ...] = ()
    """What stands in front of the searching program, so that it reads nothing else."""

    def path_of(self, name: bytes) -> Path:
        """Return the path of a file as ripgrep names it, in the caller's workspace."""
        return self.workspace / os.fsdecode(name.removeprefix(b"./"))


def place_of(root: Path, workspace_root: Path, exclude: Sequence[str]) -> Place:
    """Look at a root, relative ones from the workspace, and gather the rules that hold there.

    Raises:
        SearchError: there is nothing to search, or it is protected, or it leads elsewhere.
    """
    named = workspace_root / root
    is_file = _is_file(named)
    cwd = workspace_root.resolve()
    real = named.resolve()
    inside = real.is_relative_to(cwd)
    if not inside and named.is_relative_to(workspace_root):
        raise SearchError(f"{root} leads out of the workspace: give {real} if that is meant")
    relative = real.relative_to(cwd).as_posix() if inside else real.as_posix()
    _check_protection(relative, exclude)
    parent = real.parent if is_file else real
    return Place(
        workspace=workspace_root,
        cwd=cwd,
        argument=_argument(relative),
        is_file=is_file,
        rules=(*_parent_rules(parent, cwd), *(f"--iglob=!{glob}" for glob in exclude)),
    )


def _argument(relative: str) -> str:
    if relative == ".":
        return "./"
    return relative if Path(relative).is_absolute() else f"./{relative}"


def _is_file(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SearchError(f"cannot search {path}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise SearchError(f"cannot search {path!r}: give a path without NUL") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SearchError(f"cannot search {path}: give a folder or a regular file")
    return stat.S_ISREG(mode)


def _check_protection(relative: str, exclude: Sequence[str]) -> None:
    """Refuse a protected root: rules are not applied to what is named outright."""
    spec = GitIgnoreSpec.from_lines(glob.lower() for glob in exclude)
    name = relative.lower().removeprefix("/")
    if spec.match_file(name) or spec.match_file(f"{name}/"):
        raise SearchError(f"{relative} is protected and is not searched: choose another path")


def _parent_rules(folder: Path, workspace: Path) -> tuple[str, ...]:
    """Return the arguments for the ignore files above a root.

    In a repository ripgrep finds them and stops at its top. Elsewhere it would go up to the
    file system's root, so that a stray .gitignore in a home folder could hide everything; there
    only those from the workspace down are named.
    """
    if any((above / ".git").exists() for above in (folder, *folder.parents)):
        return ()
    chain = [above for above in reversed(folder.parents) if above.is_relative_to(workspace)]
    files = [above / name for above in chain for name in (".gitignore", ".ignore")]
    return ("--no-ignore-parent", *(f"--ignore-file={file}" for file in files if file.is_file()))
