"""Repositories whose settings run a program, or whose history holds a secret.

Each builder fills a `HostileRepository`; the command that goes with it would then run the program
or print the secret if git ran as usual.
"""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.permissions.secret_workspace import MARKER, SecretWorkspace
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org")
ENVIRONMENT = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


@dataclass(slots=True)
class HostileRepository:
    """A workspace that is a repository, with a program that leaves a trace when it is run."""

    space: SecretWorkspace

    @property
    def root(self) -> Path:
        return self.space.root

    @property
    def trace(self) -> Path:
        """A file that exists once the program ran; confined programs can write it, too."""
        return self.root / ".git/trace"

    @property
    def program(self) -> Path:
        return self.space.base / "program"

    def git(self, *arguments: str, folder: str = ".", stdin: str = "") -> str:
        done = subprocess.run(
            ("git", *IDENTITY, *arguments),
            cwd=self.root / folder,
            env=ENVIRONMENT,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, *names: str, folder: str = ".") -> None:
        self.git("add", "-f", "-A", *names, folder=folder)
        self.git("commit", "-q", "-m", "a change", folder=folder)

    def add_settings(self, text: str, folder: str = ".") -> None:
        """Append to the configuration, with PROGRAM replaced."""
        with (self.root / folder / ".git/config").open("a") as file:
            file.write(text.replace("PROGRAM", str(self.program)) + "\n")

    def run_unprotected(self, command: str) -> str:
        """Run a command as a terminal would, and return its output and errors."""
        done = subprocess.run(
            ("bash", "-c", command),
            cwd=self.root,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_TIMEOUT_SECONDS,
        )
        return done.stdout + done.stderr


def create_hostile_repository(base: Path) -> HostileRepository:
    """Create a repository with two commits and a changed file."""
    repository = HostileRepository(SecretWorkspace(base))
    for folder in (repository.space.outside, repository.space.home):
        folder.mkdir(parents=True)
    repository.program.write_text(f"#!/bin/sh\n: > {repository.trace}\n")
    repository.program.chmod(0o755)
    shutil.copytree(_repository_to_copy(), repository.root)
    # Of the same length: git looks at the content to see a change.
    repository.space.write_file("a.txt", "owt\n")
    return repository


@functools.cache
def _repository_to_copy() -> Path:
    """Create a repository with two commits, once: a copy costs less than five runs of git."""
    base = Path(tempfile.mkdtemp(prefix="repository-"))
    atexit.register(shutil.rmtree, base)
    repository = HostileRepository(SecretWorkspace(base))
    repository.root.mkdir()
    repository.git("init", "-q", "-b", "main", "--template=")  # no examples of hooks to copy
    for text in ("one\n", "two\n"):
        repository.space.write_file("a.txt", text)
        repository.commit(".")
    return repository.root


def _settings(text: str) -> Callable[[HostileRepository], None]:
    return lambda repository: repository.add_settings(text)


def _with_attributes(attributes: str, settings: str) -> Callable[[HostileRepository], None]:
    def build(repository: HostileRepository) -> None:
        repository.space.write_file(".gitattributes", attributes)
        repository.add_settings(settings)

    return build


def _included(header: str) -> Callable[[HostileRepository], None]:
    def build(repository: HostileRepository) -> None:
        (repository.root / "more").write_text(f"[diff] external = {repository.program}\n")
        repository.add_settings(header)

    return build


def _signed(settings: str) -> Callable[[HostileRepository], None]:
    def build(repository: HostileRepository) -> None:
        commit = repository.git("cat-file", "commit", "HEAD")
        head, _, message = commit.partition("\n\n")
        kind = "SSH" if "ssh" in settings else "PGP"
        lines = f"-----BEGIN {kind} SIGNATURE-----\n \n AAAA\n -----END {kind} SIGNATURE-----"
        text = f"{head}\ngpgsig {lines}\n\n{message}\n"
        made = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
        repository.git("update-ref", "HEAD", made)
        repository.add_settings(settings)

    return build


def _partial(repository: HostileRepository) -> None:
    """A partial clone that lacks the first version of a file."""
    blob = repository.git("rev-parse", "HEAD~1:a.txt")
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repository.add_settings(
        '[remote "o"]\n url = .\n promisor = true\n uploadpack = PROGRAM\n'
        "[extensions] partialClone = o\n[core] repositoryformatversion = 1"
    )


def _embedded(settings: str, attributes: str) -> Callable[[HostileRepository], None]:
    def build(repository: HostileRepository) -> None:
        repository.space.write_file("deep/sub/b.txt", "one\n")
        repository.git("init", "-q", folder="deep/sub")
        repository.commit(".", folder="deep/sub")
        repository.commit("deep/sub")
        repository.space.write_file("deep/sub/b.txt", "two\n")
        repository.space.write_file("deep/sub/.git/info/attributes", attributes)
        repository.add_settings(settings, folder="deep/sub")
        # Its first version is kept in the outer repository, so that the two differ.
        repository.add_settings("[diff] submodule = diff")

    return build


def _embedded_behind_a_split_index(repository: HostileRepository) -> None:
    _embedded('[filter "f"] clean = PROGRAM', "* filter=f\n")(repository)
    repository.git("update-index", "--split-index")


def _worktree_settings(repository: HostileRepository) -> None:
    repository.add_settings("[extensions] worktreeConfig = true")
    text = f"[diff]external={repository.program}\n"
    (repository.root / ".git/config.worktree").write_text(text)


Build = Callable[[HostileRepository], None]

PROGRAM_ATTEMPTS: dict[str, tuple[Build, str]] = {
    "a key on the line of its section": (_settings("[diff] external = PROGRAM"), "git diff"),
    "a key without spaces": (_settings("[diff]external=PROGRAM"), "git diff"),
    "a key after a comment sign in a name": (
        _with_attributes("* diff=#x", '[diff "#x"] textconv = PROGRAM'),
        "git diff",
    ),
    "a value over two lines": (_settings("[diff] external = \\\nPROGRAM"), "git diff"),
    "a dotted section": (
        _with_attributes("* diff=w", "[diff.w] textconv = PROGRAM"),
        "git diff",
    ),
    "an include": (_included("[include] path = ../more"), "git diff"),
    "a second header on one line": (_included("[core] [include] path = ../more"), "git diff"),
    "an include in a condition": (
        _included('[includeIf "gitdir:**"] path = ../more'),
        "git diff",
    ),
    "settings of the work tree": (_worktree_settings, "git diff"),
    "a text converter": (_with_attributes("* diff=w", '[diff "w"] textconv = PROGRAM'), "git diff"),
    "a text converter for a commit": (
        _with_attributes("* diff=w", '[diff "w"] textconv = PROGRAM'),
        "git show HEAD",
    ),
    "a text converter for a log": (
        _with_attributes("* diff=w", '[diff "w"] textconv = PROGRAM'),
        "git log -p",
    ),
    "a text converter for blame": (
        _with_attributes("* diff=w", '[diff "w"] textconv = PROGRAM'),
        "git blame a.txt",
    ),
    "a driver's own command": (
        _with_attributes("* diff=w", '[diff "w"] command = PROGRAM'),
        "git diff",
    ),
    "a clean filter": (_with_attributes("* filter=f", '[filter "f"] clean = PROGRAM'), "git diff"),
    "a clean filter for status": (
        _with_attributes("* filter=f", '[filter "f"] clean = PROGRAM'),
        "git status",
    ),
    "a process filter": (
        _with_attributes("* filter=f", '[filter "f"] process = PROGRAM'),
        "git status",
    ),
    "a file system monitor": (_settings("[core] fsmonitor = PROGRAM"), "git status"),
    "a program for signatures": (
        _signed("[log] showSignature = true\n[gpg] program = PROGRAM"),
        "git log",
    ),
    "a program for signatures in OpenPGP": (
        _signed('[log] showSignature\n[gpg "openpgp"] program = PROGRAM'),
        "git show",
    ),
    "a program for signatures in ssh": (
        _signed(
            '[log] showSignature = true\n[gpg] format = ssh\n[gpg "ssh"] program = PROGRAM\n'
            " allowedSignersFile = a.txt"
        ),
        "git log -1",
    ),
    "a signature in the format": (_signed("[gpg] program = PROGRAM"), "git log --format=%G?"),
    "a fetch of a missing object": (_partial, "git log -p"),
    "a fetch of a missing object by its name": (_partial, "git show HEAD~1:a.txt"),
    "a filter of an embedded repository": (
        _embedded('[filter "f"] clean = PROGRAM', "* filter=f\n"),
        "git status",
    ),
    "a filter of an embedded repository behind a split index": (
        _embedded_behind_a_split_index,
        "git status",
    ),
    "a monitor of an embedded repository": (
        _embedded("[core] fsmonitor = PROGRAM", ""),
        "git status",
    ),
    "a text converter of an embedded repository": (
        _embedded('[diff "w"] textconv = PROGRAM', "* diff=w\n"),
        "git diff",
    ),
    "a word of a loop": (
        _settings("[diff] external = PROGRAM"),
        "for x in t; do gi$x diff; done",
    ),
    "a word of a loop with a flag": (
        _settings("[diff] external = PROGRAM"),
        "for x in diff; do git $x; done",
    ),
    "quotes within words": (_settings("[diff] external = PROGRAM"), "g'i't di\"ff\""),
    "a path to git": (_settings("[diff] external = PROGRAM"), "/usr/bin/git diff"),
}


def _tracked(repository: HostileRepository) -> None:
    repository.space.write_file(".env", f"KEY={MARKER}\n")
    repository.commit(".env")


def _removed(repository: HostileRepository) -> None:
    _tracked(repository)
    repository.git("rm", "-q", ".env")
    repository.git("commit", "-q", "-m", "without it")


def _renamed(repository: HostileRepository) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    repository.space.write_file(".env", f"KEY={MARKER}\n{lines}")
    repository.commit(".env")
    repository.git("mv", ".env", "plain.txt")
    repository.space.write_file("plain.txt", f"KEY=\n{lines}")
    repository.commit(".")


def _tagged_blob(repository: HostileRepository) -> None:
    _removed(repository)
    repository.git("tag", "-a", "-m", "a file", "secret", "HEAD~1:.env")


def _stashed(repository: HostileRepository) -> None:
    _tracked(repository)
    repository.space.write_file(".env", f"KEY=other-{MARKER}\n")
    repository.git("stash")
    repository.git("rm", "-q", ".env")
    repository.git("commit", "-q", "-m", "without it")


def _in_a_submodule(repository: HostileRepository) -> None:
    repository.space.write_file("sub/b.txt", "one\n")
    repository.git("init", "-q", folder="sub")
    repository.commit(".", folder="sub")
    repository.commit("sub")
    repository.space.write_file("sub/.env", f"KEY={MARKER}\n")
    repository.commit(".env", folder="sub")
    repository.commit("sub")
    repository.add_settings("[diff] submodule = diff")


def _write_foreign_secret(repository: HostileRepository) -> Path:
    # The second word is no valid attribute, the whole line no reference and no commit.
    return repository.space.write_file(repository.space.outside / "key", f"a {MARKER}+b\n")


def _linked(name: str, others: Mapping[str, str] | None = None) -> Build:
    """Put a link to a secret outside in place of a file of git, besides other files."""

    def build(repository: HostileRepository) -> None:
        secret = _write_foreign_secret(repository)
        link = repository.root / ".git" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
        for other, text in (others or {}).items():
            repository.space.write_file(f".git/{other}", text.replace("ROOT", str(repository.root)))

    return build


def _named_secret(key: str) -> Build:
    """Name a secret outside as a file that git reads."""

    def build(repository: HostileRepository) -> None:
        secret = _write_foreign_secret(repository)
        section, name = key.split(".")
        repository.add_settings(f"[{section}] {name} = {secret}")

    return build


def _create_foreign_repository(repository: HostileRepository) -> Path:
    """Create a repository outside of the workspace; return its git directory."""
    folder = repository.space.outside
    repository.space.write_file(folder / "plan.txt", f"{MARKER}\n")
    repository.git("init", "-q", "-b", "main", folder=str(folder))
    repository.commit(".", folder=str(folder))
    return folder / ".git"


def _foreign_by_file(repository: HostileRepository) -> None:
    foreign = _create_foreign_repository(repository)
    shutil.rmtree(repository.root / ".git")
    repository.space.write_file(".git", f"gitdir: {foreign}\n")


def _foreign_by_link(repository: HostileRepository) -> None:
    foreign = _create_foreign_repository(repository)
    shutil.rmtree(repository.root / ".git")
    (repository.root / ".git").symlink_to(foreign)


def _foreign_common_directory(repository: HostileRepository) -> None:
    foreign = _create_foreign_repository(repository)
    repository.space.write_file(".git/commondir", f"{foreign}\n")


def _foreign_objects(repository: HostileRepository) -> None:
    foreign = _create_foreign_repository(repository)
    shutil.rmtree(repository.root / ".git/objects")
    (repository.root / ".git/objects").symlink_to(foreign / "objects")
    shutil.copy(foreign / "refs/heads/main", repository.root / ".git/refs/heads/main")


def _borrowed_objects(repository: HostileRepository) -> None:
    foreign = _create_foreign_repository(repository)
    between = repository.root / "between"
    # Borrowed from a directory of the workspace that borrows itself.
    repository.space.write_file(".git/objects/info/alternates", f"{between}\n")
    repository.space.write_file("between/info/alternates", f"{foreign}/objects\n")
    shutil.copy(foreign / "refs/heads/main", repository.root / ".git/refs/heads/main")


_REBASING = {"interactive": "", "head-name": "refs/heads/main\n", "onto": "a\n"}
_REBASE_FILES = {f"rebase-merge/{name}": text for name, text in _REBASING.items()}
_WORK_TREE = {"HEAD": "ref: refs/heads/main\n", "commondir": "../..\n"}
_WORK_TREE_FILES = {f"worktrees/x/{name}": text for name, text in _WORK_TREE.items()}

FOREIGN_ATTEMPTS: dict[str, tuple[Build, str]] = {
    "attributes in a file": (_named_secret("core.attributesFile"), "git diff"),
    "ignored commits in a file": (_named_secret("blame.ignoreRevsFile"), "git blame a.txt"),
    "attributes behind a link": (_linked("info/attributes"), "git diff"),
    "packed references behind a link": (_linked("packed-refs"), "git log"),
    "commits cut off behind a link": (_linked("shallow"), "git log"),
    "replaced commits behind a link": (_linked("info/grafts"), "git log"),
    "borrowed objects behind a link": (_linked("objects/info/alternates"), "git log"),
    "steps of a rebase behind a link": (
        _linked("rebase-merge/git-rebase-todo", {**_REBASE_FILES, "rebase-merge/done": "pick a\n"}),
        "git status",
    ),
    "the base of a rebase behind a link": (
        _linked(
            "rebase-apply/onto", {"rebase-apply/rebasing": "", "rebase-apply/head-name": "a\n"}
        ),
        "git status",
    ),
    "the start of a bisection behind a link": (
        _linked("BISECT_START", {"BISECT_LOG": ""}),
        "git status",
    ),
    "a work tree behind a link": (
        _linked("worktrees/x/gitdir", _WORK_TREE_FILES),
        "git worktree list",
    ),
    "the lock of a work tree behind a link": (
        _linked("worktrees/x/locked", {**_WORK_TREE_FILES, "worktrees/x/gitdir": "ROOT/x/.git\n"}),
        "git worktree list -v",
    ),
    "another repository by a file": (_foreign_by_file, "git log -p"),
    "another repository by a link": (_foreign_by_link, "git log -p"),
    "another repository as the common one": (_foreign_common_directory, "git log -p"),
    "objects of another repository": (_foreign_objects, "git log -p"),
    "borrowed objects of another repository": (_borrowed_objects, "git log -p"),
}
"""A secret, or another repository, outside of the workspace, that git would take for its own."""


BLOB = "<BLOB>"
"""Stands for the object of `.env`."""


def resolve_command(repository: HostileRepository, command: str) -> str:
    """Return a command with the id of the secret's object in place of `BLOB`."""
    if BLOB[:-1] not in command:
        return command
    found = repository.git("rev-list", "--all", "--objects", "--", ".env").splitlines()
    blob = next(line.split(" ")[0] for line in found if line.endswith(" .env"))
    return command.replace(f"{BLOB[:-1]}:8>", blob[:8]).replace(BLOB, blob)


SECRET_ATTEMPTS: dict[str, tuple[Build, str]] = {
    "an object": (_tracked, f"git cat-file -p {BLOB}"),
    "an object with its type": (_tracked, f"git cat-file blob {BLOB}"),
    "an object shortened": (_tracked, f"git cat-file -p {BLOB[:-1]}:8>"),
    "an object that is shown": (_tracked, f"git show {BLOB}"),
    "an object that is shown without changes": (_tracked, f"git show --stat {BLOB}"),
    "an object that was removed": (_removed, f"git cat-file -p {BLOB}"),
    "a tag of an object": (_tagged_blob, "git show secret"),
    "a tag of an object by cat-file": (_tagged_blob, "git cat-file blob secret"),
    "objects compared": (_tracked, f"git diff {BLOB} HEAD:a.txt"),
    "an object searched": (_tracked, f"git grep KEY {BLOB}"),
    "a revision searched": (_tracked, "git grep KEY HEAD"),
    "an older revision searched": (_removed, "git grep KEY HEAD~1"),
    "a tree searched": (_removed, "git grep KEY 'HEAD~1^{tree}'"),
    "the work tree searched": (_tracked, "git grep KEY"),
    "a log": (_tracked, "git log -p"),
    "a log of removed files": (_removed, "git log -p"),
    "a log with a flag apart": (_removed, "git log -2 -u --oneline"),
    "a log with context": (_removed, "git log -U1"),
    "a log of all branches": (_removed, "git log --all -p --stat"),
    "a log of merges": (_removed, "git log -c"),
    "a log of a range": (_removed, "git log -p HEAD~2..HEAD"),
    "a log of a renamed file": (_renamed, "git log -p --follow plain.txt"),
    "a log of files by a pattern": (_removed, "git log -p -- *.env"),
    "a log of a line": (_renamed, "git log -L1,3:plain.txt"),
    "a commit": (_tracked, "git show"),
    "a commit before": (_removed, "git show HEAD~1"),
    "a commit in a loop": (_removed, "for x in 0 1 2; do git show HEAD~$x; done"),
    "a command in a loop": (_removed, "for x in show; do git $x HEAD~1; done"),
    "a commit of a renamed file": (_renamed, "git show -M HEAD"),
    "a file in a commit": (_removed, "git show HEAD~1:.env"),
    "commits compared": (_removed, "git diff HEAD~2 HEAD~1"),
    "a range compared": (_removed, "git diff HEAD~2..HEAD~1"),
    "a commit and the work tree": (_removed, "git diff HEAD~1"),
    "trees compared": (_removed, "git diff-tree -p HEAD~1"),
    "trees compared below": (_removed, "git diff-tree -p HEAD~2 HEAD~1"),
    "a stash": (_stashed, "git stash show -p"),
    "all stashes": (_stashed, "git stash list -p"),
    "the reflog": (_removed, "git reflog -p"),
    "the reflog named": (_removed, "git reflog show -p"),
    "changes of a submodule": (_in_a_submodule, "git show HEAD"),
}
