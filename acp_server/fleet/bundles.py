"""Git bundles: one commit with its history as a file, made without a trace in its repository."""

import tempfile
from pathlib import Path

from acp_server.fleet.git import FleetGit

_REF = "refs/heads/task"


def make_bundle(repository: Path, commit: str, target: Path, git: FleetGit) -> None:
    """Write a bundle of a commit, unless the file exists. Blocking.

    Raises:
        FleetGitError: Git failed.
        OSError: The file cannot be written.
    """
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    asked = ("rev-parse", "--path-format=absolute", "--git-path", "objects")
    objects = git.run(repository, *asked)
    # A bundle holds refs. One is made in an empty repository that borrows the objects, because the
    # user's repository should not get a ref of ours.
    with tempfile.TemporaryDirectory(prefix="acp-bundle-") as directory:
        store = Path(directory, "store")
        git.run(Path(directory), "init", "--quiet", "--bare", str(store))
        (store / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
        place = f"--git-dir={store}"
        git.run(Path(directory), place, "update-ref", _REF, commit)
        part = target.with_suffix(".part")
        git.run(Path(directory), place, "bundle", "create", "--quiet", str(part), _REF)
        part.rename(target)
