"""Checks the git repositories that a command reaches for configured programs and for secrets.

All calls block.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from acp_server.permissions import reasons
from acp_server.permissions.file_kinds import exists, is_directory, is_link, is_regular_file
from acp_server.permissions.git_directories import (
    find_work_tree,
    git_directories_of,
    reads_other_files,
)
from acp_server.permissions.git_environment import git_hardening_variables
from acp_server.permissions.git_queries import (
    MAX_SECONDS,
    GitQueries,
    GitQueryError,
    IndexEntry,
    Setting,
)
from acp_server.permissions.protected_names import is_protected
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.shell.findings import Assessment, GitUse
from acp_server.permissions.word_lists import read_word_lists
from skills_store.programs import find_program
from skills_store.reading import read_regular

MAX_SETTINGS_BYTES = 100_000
MAX_SUBMODULES = 100
MAX_SETTINGS_FILES = 200
_SECRET_NAMES = ("extraheader", "password", "token")
_SETTINGS_FILES = ("config", "config.worktree", "modules/*/config", "worktrees/*/config.worktree")
_SECRET_FILES = ("credentials", ".git-credentials")
HOOK_REASON = "git runs it as a hook"


def find_git_doubt(
    assessment: Assessment, folder: Path, workspace: ResolvedWorkspace, variables: Mapping[str, str]
) -> str:
    """Return the reason to ask before running a command in a directory; empty if there is none.

    `variables` is the environment of commands.
    """
    # For every command, not only git: the program may run git itself.
    directories = {folder, *(Path(each) for use in assessment.git_uses for each in use.directories)}
    if any(_is_in_bare_repository(each, workspace) for each in directories):
        return reasons.GIT_OWN_FILES
    deadline = time.monotonic() + MAX_SECONDS
    for use in assessment.git_uses:
        for directory in map(Path, use.directories):
            if "GIT_DIR" not in variables and find_work_tree(directory) is None:
                continue
            roots = [root.path for root in workspace.roots]
            program = find_program("git", variables.get("PATH", os.defpath), outside=roots)
            if program is None or not is_directory(directory):
                return reasons.GIT_UNREADABLE
            environment = {**variables, **git_hardening_variables(variables, only_reads=True)}
            git = GitQueries(program, directory, environment, deadline)
            doubt = _find_shown_credentials(use, directory, workspace, variables)
            doubt = doubt or _find_use_doubt(use, git, workspace)
            if doubt:
                return doubt
    return ""


def find_hook_directories(
    workspace: ResolvedWorkspace, variables: Mapping[str, str]
) -> tuple[Path, ...]:
    """Return the directories that git takes the hooks of the workspace's repositories from.

    `core.hooksPath` may name any directory, also a tracked one.
    """
    deadline = time.monotonic() + MAX_SECONDS
    environment = {**variables, **git_hardening_variables(variables, only_reads=False)}
    roots = [root.path for root in workspace.roots]
    program = find_program("git", variables.get("PATH", os.defpath), outside=roots)
    found: list[Path] = []
    for work_tree in filter(None, map(find_work_tree, roots)):
        if program is None or _has_special_file(work_tree):
            continue
        try:
            found.append(GitQueries(program, work_tree, environment, deadline).hook_directory())
        # Git finds no repository, then, and runs no hooks.
        except GitQueryError:
            continue
    return tuple(found)


def _find_shown_credentials(
    use: GitUse, folder: Path, workspace: ResolvedWorkspace, variables: Mapping[str, str]
) -> str:
    """Return the reason to ask because git would print settings with credentials; empty if none."""
    if use.subcommand.split(" ")[0] not in {"remote", "config"}:
        return ""
    work_tree = find_work_tree(folder)
    directories = () if work_tree is None else git_directories_of(work_tree)
    has_secrets = any(
        has_git_secrets(each, workspace, variables, shows_text=False) for each in directories
    )
    return reasons.GIT_CREDENTIALS if has_secrets else ""


def _find_use_doubt(use: GitUse, git: GitQueries, workspace: ResolvedWorkspace) -> str:
    """Return the reason to ask before this use of git; empty if there is none.

    Some settings are overridden when a command runs. The remaining risk is programs that git runs
    to show or compare files, also those of submodules, and secrets among the files.
    """
    try:
        index = git.index() if not (doubt := _find_settings_doubt(git, workspace)) else []
        doubt = doubt or _find_submodule_doubt(git, index, workspace)
    except GitQueryError:
        return reasons.GIT_UNREADABLE
    try:
        return doubt or _find_content_doubt(use, git, index)
    except GitQueryError:
        return reasons.GIT_UNBOUNDED


def _find_submodule_doubt(
    git: GitQueries, index: Sequence[IndexEntry], workspace: ResolvedWorkspace
) -> str:
    """Return the reason to ask because of the settings of submodules; empty if none.

    Git looks for changes in submodules by running itself there.
    """
    submodules = list(_submodules_of(git.folder, index))
    # Their own submodules are appended while this loop runs.
    for count, submodule in enumerate(submodules):
        if count >= MAX_SUBMODULES:
            return reasons.GIT_SUBMODULES
        inner = git.in_folder(submodule)
        doubt = _find_settings_doubt(inner, workspace)
        if doubt:
            return doubt
        found = _submodules_of(submodule, inner.index())
        submodules += (each for each in found if each not in submodules)
    return ""


def _submodules_of(folder: Path, index: Sequence[IndexEntry]) -> Iterator[Path]:
    """Yield the submodules that are checked out."""
    for entry in index:
        if entry.is_submodule and os.path.lexists(folder / entry.name / ".git"):
            yield Path(os.path.normpath(folder / entry.name))


@cache
def _word_lists() -> Mapping[str, frozenset[str]]:
    lists = read_word_lists(str(Path(__file__).with_name("git_settings.py")))
    return {key: frozenset(words) for key, words in lists.items()}


def _find_settings_doubt(git: GitQueries, workspace: ResolvedWorkspace) -> str:
    """Return the reason to ask because of the repository of one directory; empty if none.

    It is in its settings, or in files that git reads besides them.
    """
    work_tree = find_work_tree(git.folder)
    if work_tree is not None and _has_special_file(work_tree):
        return reasons.GIT_UNREADABLE
    settings = git.settings()
    if not all(map(_is_harmless, settings)):
        return reasons.GIT_PROGRAMS
    top = work_tree or git.folder
    named_files = (each.value for each in settings if each.key in _word_lists()["files"])
    has_work_tree_setting = any(each.key == "core.worktree" for each in settings)
    if not all(_is_readable_file(each, top, workspace) for each in named_files) or (
        work_tree is not None
        and has_work_tree_setting
        and git.work_tree().resolve() != work_tree.resolve()
    ):
        return reasons.GIT_OTHER_FILES
    if work_tree is not None and reads_other_files(
        work_tree, workspace, has_work_tree_setting=has_work_tree_setting
    ):
        return reasons.GIT_LEADS_ELSEWHERE
    return ""


def _is_readable_file(name: str, top: Path, workspace: ResolvedWorkspace) -> bool:
    """Return whether a setting names a file that may be read without a question.

    Git shows lines of it that it does not understand.
    """
    # Git replaces these beginnings.
    if name.startswith(("~", ":", "%")):
        return False
    path = top / name
    return workspace.is_inside(path) and not workspace.is_protected(path)


def _has_special_file(work_tree: Path) -> bool:
    """Return whether git would wait for a pipe in place of one of its files."""
    return any(
        exists(folder / name) and not is_regular_file(folder / name)
        for folder in git_directories_of(work_tree)
        for name in ("config", "config.worktree", "index")
    )


def _is_harmless(setting: Setting) -> bool:
    """Return whether a setting of a repository makes git run no program and read no other one."""
    section, _, rest = setting.key.partition(".")
    has_subsection = "." in rest
    prefix = f"{section}.*." if has_subsection else f"{section}."
    names = {prefix, prefix + setting.key.rpartition(".")[2]}
    lists = _word_lists()
    if names & lists["refused"]:
        return False
    if names & lists["commands"] and setting.value.lstrip().startswith("!"):
        return False
    return bool(names & (lists["allowed"] | lists["overridden"] | lists["files"]))


def _find_content_doubt(use: GitUse, git: GitQueries, index: Sequence[IndexEntry]) -> str:
    """Return the reason to ask because git may show a tracked secret; empty if none.

    Raises:
        GitQueryError: There is too much to look at.
    """
    if not use.output:
        return ""
    is_any_file_shown = use.output in {"files", "any"}
    doubt = _find_secret(entry.name for entry in index) if is_any_file_shown else ""
    types = git.object_types(use.revisions) if use.revisions else []
    doubt = doubt or _find_revision_doubt(use, types, git, index)
    if doubt or use.output not in {"commits", "changes"}:
        return doubt
    if use.subcommand == "status":
        staged, unstaged = (git.changed_names("diff", each) for each in (("--cached",), ()))
        return _find_secret([*staged, *unstaged])
    return _find_secret(git.changed_names(use.subcommand, _listing_arguments(use, types)))


def _find_revision_doubt(
    use: GitUse,
    types: Sequence[tuple[str, str]],
    git: GitQueries,
    index: Sequence[IndexEntry],
) -> str:
    """Return the reason to ask because of an object that the command names; empty if none.

    `types` has the id and type of each revision.
    """
    for name, (object_id, kind) in zip(use.revisions, types, strict=True):
        # A path in a revision was judged by its name.
        if kind in {"blob", "tag"} and ":" not in name:
            doubt = _find_object_doubt(object_id, kind, git, index)
            if doubt:
                return doubt
        if use.output == "files" and kind in {"commit", "tag", "tree"}:
            doubt = _find_secret(git.tree_names(object_id))
            if doubt:
                return doubt
    return ""


def _find_object_doubt(
    object_id: str, kind: str, git: GitQueries, index: Sequence[IndexEntry]
) -> str:
    """Return the reason to ask because git may show an object by its id; empty if none."""
    if kind == "tag":
        object_id, kind = git.object_types([f"{object_id}^{{}}"])[0]
    if kind != "blob":
        return ""
    names = [entry.name for entry in index if entry.object_id == object_id]
    return _find_secret(names) if names else reasons.GIT_UNKNOWN_OBJECT


def _find_secret(names: Iterator[str] | Sequence[str]) -> str:
    tracked = next((name for name in names if is_protected(Path(name))), None)
    return reasons.tracked(tracked) if tracked else ""


def _listing_arguments(use: GitUse, types: Sequence[tuple[str, str]]) -> list[str]:
    """Return the arguments that list the names of everything the command may show, or more."""
    if not use.has_globs:
        paths = ("--", *use.paths) if use.paths else ()
        return [*use.selection, *use.revisions, *paths]
    # A pattern may match other files when the command runs: without paths, all are listed.
    return [
        *use.selection,
        *(
            name
            for name, (_, kind) in zip(use.revisions, types, strict=True)
            if kind or ".." in name or name.startswith("^")
        ),
        "--",
    ]


def _is_in_bare_repository(folder: Path, workspace: ResolvedWorkspace) -> bool:
    """Return whether git would treat a directory, or one above it, as a bare repository.

    Only directories of the workspace are looked at.

    A file called HEAD next to git's other files is enough for git, and the configuration there
    names programs that git runs. Git does not look above a directory that contains `.git`.
    """
    for each in (folder, *folder.parents):
        if not workspace.is_inside(each):
            return False
        head = each / "HEAD"
        if is_link(head) or is_regular_file(head):
            return True
        if os.path.lexists(each / ".git"):
            return False
    return False


def has_git_secrets(
    folder: Path, workspace: ResolvedWorkspace, variables: Mapping[str, str], *, shows_text: bool
) -> bool:
    """Return whether a git directory contains a password or token in its settings.

    With `shows_text`, comments may be shown, too, which git does not tell; they count as secrets.
    """
    if any(exists(folder / name) for name in _SECRET_FILES):
        return True
    files = [file for name in _SETTINGS_FILES for file in folder.glob(name)]
    roots = [root.path for root in workspace.roots]
    program = find_program("git", variables.get("PATH", os.defpath), outside=roots)
    # Fail closed, here and below: what cannot be read may contain a secret.
    if files and (program is None or len(files) > MAX_SETTINGS_FILES):
        return True
    environment = {**variables, **git_hardening_variables(variables, only_reads=True)}
    git = GitQueries(program or "", folder, environment, time.monotonic() + MAX_SECONDS)
    try:
        return any(
            not is_regular_file(file)
            or any(map(_is_secret, git.settings_of_file(file)))
            or (shows_text and _has_comments(file))
            for file in files
        )
    except GitQueryError:
        return True


def _is_secret(setting: Setting) -> bool:
    """Return whether a setting is a credential, or an address that contains one."""
    section, _, rest = setting.key.partition(".")
    subsection, _, name = rest.rpartition(".")
    if any(word in name for word in _SECRET_NAMES):
        return True
    # That file is elsewhere, but its name tells where.
    if section == "credential" and name == "helper" and setting.value.startswith("store"):
        return True
    return any(map(_has_credentials, (subsection, *setting.value.split())))


def _has_credentials(address: str) -> bool:
    """Return whether a text is a URL with a password, or with a token in place of a user name."""
    try:
        url = urlsplit(address)
        return bool(url.password or (url.username and url.scheme in {"http", "https"}))
    except ValueError:
        return "@" in address


def _has_comments(file: Path) -> bool:
    text = _text(file)
    lines = (line.lstrip() for line in text.splitlines())
    return len(text) > MAX_SETTINGS_BYTES or any(line.startswith(("#", ";")) for line in lines)


def _text(file: Path) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        data = read_regular(file, MAX_SETTINGS_BYTES + 1).data
        return data.decode(errors="surrogateescape")
    except OSError:
        return ""
