"""The hosts that a command of git or gh reads from, as git itself finds them. All calls block."""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from acp_server.permissions.git_environment import git_hardening_variables
from acp_server.permissions.git_queries import MAX_SECONDS, GitQueries, GitQueryError, Setting
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.shell.findings import RemoteRead
from acp_server.permissions.word_lists import read_word_lists
from skills_store.programs import find_program

_GITHUB = "github.com"
_SCHEMES = frozenset({"https", "http", "ssh", "git"})
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.IGNORECASE)
# `user@host:path`; a slash before the colon makes it a file, a second colon a helper: `ext::x`.
_SCP_ADDRESS = re.compile(r"(?:[\w.+-]+@)?([^/:@\s]+):(?!:)\S+")


def find_hosts(
    remote: RemoteRead,
    directories: Sequence[Path],
    workspace: ResolvedWorkspace,
    variables: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the hosts that a command may read from; empty if one of them is not known.

    `variables` is the environment of commands.
    """
    if remote.program == "gh" and not (remote.uses_all_remotes and not remote.host):
        host = remote.host or variables.get("GH_HOST", "") or _GITHUB
        return (host.lower(),) if _HOST.fullmatch(host) else ()
    # They name another repository than that of the directory.
    if variables.get("GH_REPO" if remote.program == "gh" else "GIT_DIR"):
        return ()
    roots = [root.path for root in workspace.roots]
    program = find_program("git", variables.get("PATH", os.defpath), outside=roots)
    if program is None:
        return ()
    deadline = time.monotonic() + MAX_SECONDS
    # Not as when only reading, which would hide the hooks. Nothing below contacts or runs anything.
    environment = {**variables, **git_hardening_variables(variables, only_reads=False)}
    found: list[str] = []
    for directory in directories:
        git = GitQueries(program, directory, environment, deadline)
        try:
            if remote.program == "gh":
                found += _hosts_of_gh(git, variables)
            else:
                found += _hosts_of_git(remote, git)
        except GitQueryError:
            return ()
    hosts = tuple(dict.fromkeys(found))
    return hosts if all(hosts) else ()


def _hosts_of_gh(git: GitQueries, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the hosts of the remotes, one of which gh picks."""
    if host := variables.get("GH_HOST", ""):
        yield host.lower() if _HOST.fullmatch(host) else ""
        return
    is_repository = any(
        os.path.lexists(each / ".git") for each in (git.folder, *git.folder.parents)
    )
    names = git.remotes() if is_repository else ()
    yield from [_host_of(git.remote_address(each)) for each in names] or (_GITHUB,)


def _hosts_of_git(remote: RemoteRead, git: GitQueries) -> Iterator[str]:
    """Yield the hosts that git reads from; an empty text for an unknown one."""
    if any(map(_changes_source, git.settings())) or (remote.is_fetch and _has_effects(git)):
        yield ""
    is_default = remote.is_fetch and not remote.remote
    uses_all = remote.uses_all_remotes or (is_default and git.is_enabled("fetch.all"))
    names = git.remotes() if uses_all else [remote.remote]
    yield from (_host_of(git.remote_address(each)) for each in names)


def _has_effects(git: GitQueries) -> bool:
    """Return whether a fetch would run a hook of the repository or enter its submodules."""
    hooks = git.hook_directory()
    return any(os.path.lexists(hooks / name) for name in _lists()["hooks"]) or any(
        entry.is_submodule for entry in git.index()
    )


def _changes_source(setting: Setting) -> bool:
    """Return whether a setting of the repository adds a host, or overwrites branches."""
    section, _, rest = setting.key.partition(".")
    name = rest.rpartition(".")[2]
    if section == "http":
        return name not in _lists()["http"]
    if section == "remote" and name == "fetch":
        target = setting.value.partition(":")[2]
        return bool(target) and not target.startswith(("refs/remotes/", "refs/tags/"))
    return f"{section}.{name}" in _lists()["added_hosts"]


def _host_of(address: str) -> str:
    """Return the host of an address of git, with a port; empty for files and helpers."""
    if "://" in address:
        try:
            url = urlsplit(address)
            host, port = url.hostname or "", url.port
        except ValueError:
            return ""
        if url.scheme not in _SCHEMES or not _HOST.fullmatch(host):
            return ""
        return host.lower() if port is None else f"{host.lower()}:{port}"
    match = _SCP_ADDRESS.fullmatch(address)
    return match[1].lower() if match is not None and _HOST.fullmatch(match[1]) else ""


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in read_word_lists(__file__).items()}
