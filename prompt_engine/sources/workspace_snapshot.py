"""Workspace facts when a session begins: repository, manifests, checks.

Combines git's answers with file contents. Bounded in time and size; late facts are dropped and
named. Deterministic: independent of the order of directory entries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prompt_engine.facts import WorkspaceFacts
from prompt_engine.findings import ThreatScan
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.workspace_checks import find_checks
from prompt_engine.sources.workspace_manifests import find_manifests, find_package_managers
from prompt_engine.sources.workspace_repository import GIT_SECONDS, read_repository

HIDDEN_SUBJECT = "(one title hidden: suspicious text)"
"""In place of a commit's subject. It names no pattern: the names themselves read like orders."""


def read_workspace(
    folder: Path,
    variables: Mapping[str, str],
    scan: ThreatScan,
    additional: Sequence[Path] = (),
    git_seconds: float = GIT_SECONDS,
) -> WorkspaceFacts:
    """Return the facts about a session's directory, an absolute path.

    `variables` are the environment that git runs in. Manifests are those of the directory or, if
    it has none, of the repository's root.
    """
    repository, dropped = read_repository(folder, variables, git_seconds)
    root = folder
    if repository is not None:
        commits = tuple(_describe_commit(subject, scan) for subject in repository.commits)
        repository = replace(repository, commits=commits)
        # spelled like the directory's path
        real_root = resolve(Path(repository.root))
        ancestors = (folder, *folder.parents)
        root = next((path for path in ancestors if resolve(path) == real_root), folder)
    project = next((directory for directory in (folder, root) if find_manifests(directory)), None)
    managers = find_package_managers(project, root) if project else ()
    return WorkspaceFacts(
        folder=str(folder),
        additional=tuple(str(path) for path in additional),
        repository=repository,
        project=str(project) if project else "",
        manifests=find_manifests(project) if project else (),
        package_managers=managers,
        checks=find_checks(project, managers) if project else (),
        dropped=dropped,
    )


def _describe_commit(subject: str, scan: ThreatScan) -> str:
    """Return a commit's subject in quotes, or that it is hidden: anyone may have written it."""
    findings = scan(subject, "context")
    return HIDDEN_SUBJECT if findings else f'"{subject}"'
