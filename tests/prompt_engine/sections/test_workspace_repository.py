"""What git tells of a workspace, and that a repository can make it run nothing."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from prompt_engine.facts import Repository
from prompt_engine.sources.workspace_repository import MAX_SUBJECT_CHARACTERS, read_repository

VARIABLES = {"PATH": os.defpath, "HOME": "/nonexistent"}
LATE_ROOT = "git took too long: the repository"
LATE_COUNTS = "git took too long: counts"
LATE_SECONDS = 60
SLOW_TO_COUNT = f"""\
case "$*" in
  *rev-parse*) echo /w;;
  *symbolic-ref*) echo main;;
  *) exec sleep {LATE_SECONDS};;
esac"""


SIGNER = """\
#!/bin/sh
cat >/dev/null
echo "-----BEGIN PGP SIGNATURE-----"
echo
echo "-----END PGP SIGNATURE-----"
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ("git", *identity, *arguments)
    subprocess.run(command, cwd=folder, env=VARIABLES, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two committed files."""
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    git(folder, "init", "--initial-branch=main")
    for name in ("a", "b"):
        (folder / name).write_text(name)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "First")
    return folder


def state(folder: Path) -> tuple[int | None, int, int, int]:
    found, _ = read_repository(folder, VARIABLES)
    assert found is not None
    return found.staged, found.changed, found.untracked, found.conflicted


def test_a_clean_repository(repository: Path) -> None:
    clean = Repository(str(repository), "main", 0, 0, 0, 0, ("First",))
    assert read_repository(repository, VARIABLES) == (clean, ())


def test_the_last_commits_are_named_the_newest_first(repository: Path) -> None:
    for subject in ("Second\n\nwith a body", "x" * 200, "Fourth"):
        git(repository, "commit", "--allow-empty", "-m", subject)
    found, _ = read_repository(repository, VARIABLES)
    assert found is not None
    assert found.commits == ("Fourth", "x" * MAX_SUBJECT_CHARACTERS, "Second")


def test_a_repository_without_commits_names_none(tmp_path: Path) -> None:
    git(tmp_path, "init")
    found, _ = read_repository(tmp_path, VARIABLES)
    assert found is not None
    assert found.commits == ()


def test_a_subdirectory_finds_the_repository_root(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    found, _ = read_repository(repository / "deep" / "er", VARIABLES)
    assert found is not None
    assert found.root == str(repository)


def test_files_are_counted_by_state(repository: Path) -> None:
    git(repository, "mv", "a", "renamed to\tsomething")
    (repository / "b").write_text("changed")
    (repository / "c").write_text("new")
    assert state(repository) == (1, 1, 1, 0)


def test_a_conflict_is_counted(repository: Path) -> None:
    git(repository, "switch", "-c", "other")
    (repository / "a").write_text("other")
    git(repository, "commit", "-am", "Other")
    git(repository, "switch", "main")
    (repository / "a").write_text("main")
    git(repository, "commit", "-am", "Main")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "other")
    assert state(repository) == (0, 0, 0, 1)


def test_a_repository_without_commits_has_a_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "--initial-branch=trunk")
    found, _ = read_repository(tmp_path, VARIABLES)
    assert found == Repository(str(tmp_path.resolve()), "trunk", 0, 0, 0, 0)


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    git(repository, "switch", "--detach")
    found, _ = read_repository(repository, VARIABLES)
    assert found == Repository(str(repository), "", 0, 0, 0, 0, ("First",))


def test_outside_a_repository_none_is_found(tmp_path: Path) -> None:
    assert read_repository(tmp_path, VARIABLES) == (None, ())


def test_without_git_no_repository_is_found(repository: Path) -> None:
    assert read_repository(repository, {"PATH": "/nonexistent"}) == (None, ())


def test_environment_variables_cannot_redirect_git(repository: Path) -> None:
    steered = {**VARIABLES, "GIT_DIR": "/nonexistent"}
    found, _ = read_repository(repository, steered)
    assert found is not None
    assert found.root == str(repository)


def fake_git(folder: Path, script: str) -> dict[str, str]:
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {**VARIABLES, "PATH": f"{folder}{os.pathsep}{os.defpath}"}


def test_a_git_program_in_the_workspace_is_not_run(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    variables = fake_git(tmp_path, f"touch {tmp_path}/ran")
    assert read_repository(tmp_path, {**variables, "PATH": str(tmp_path)}) == (None, ())
    assert not (tmp_path / "ran").exists()


def test_without_a_repository_no_git_is_run(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    variables = fake_git(tmp_path / "bin", f"touch {tmp_path}/ran")
    assert read_repository(tmp_path / "work", variables) == (None, ())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"exec sleep {LATE_SECONDS}", (None, (LATE_ROOT,))),
        (f"sleep {LATE_SECONDS}", (None, (LATE_ROOT,))),
        (
            SLOW_TO_COUNT,
            (Repository("/w", "main"), (LATE_COUNTS,)),
        ),
    ],
    ids=["at once", "behind a child that keeps the pipe", "while counting"],
)
def test_a_slow_git_is_dropped_without_waiting(
    script: str, expected: tuple[Repository | None, tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work" / ".git").mkdir(parents=True)
    variables = fake_git(tmp_path / "bin", script)
    started = time.monotonic()
    assert read_repository(tmp_path / "work", variables, seconds=1.0) == expected
    assert time.monotonic() - started < LATE_SECONDS / 2


def evil_program(folder: Path, name: str) -> tuple[Path, Path]:
    """Return a program and the file that shows it was run."""
    path, mark = folder / name, folder / f"{name}-ran"
    path.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    path.chmod(0o755)
    return path, mark


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.process",
        "filter.a=b.clean",
        "core.pager",
        "diff.external",
        "core.sshCommand",
        "core.editor",
    ],
)
def test_a_repository_cannot_make_git_run_a_program(
    setting: str, repository: Path, tmp_path: Path
) -> None:
    program, mark = evil_program(tmp_path, "program")
    driver = setting.split(".")[1] if setting.startswith("filter") else "x"
    (repository / ".gitattributes").write_text(f"* filter={driver}\n")
    git(repository, "config", setting, str(program))
    if setting.startswith("filter"):
        git(repository, "config", f"filter.{driver}.required", "true")
    os.utime(repository / "a", (1, 1))  # so that git has to look into the file
    staged, _, untracked, _ = state(repository)
    assert (staged, untracked) == (0, 1)
    assert not mark.exists()


def test_git_would_run_the_filter_without_protection(repository: Path, tmp_path: Path) -> None:
    program, mark = evil_program(tmp_path, "program")
    (repository / ".gitattributes").write_text("* filter=x\n")
    git(repository, "config", "filter.x.clean", str(program))
    os.utime(repository / "a", (1, 1))
    git(repository, "status")
    assert mark.exists()


@pytest.mark.parametrize("name", ["post-index-change", "pre-commit", "fsmonitor-watchman"])
def test_hooks_are_not_run(name: str, repository: Path, tmp_path: Path) -> None:
    program, mark = evil_program(tmp_path, "program")
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / name).symlink_to(program)
    (repository / "a").write_text("changed")
    state(repository)
    assert not mark.exists()


def test_nothing_is_written_into_the_repository(repository: Path) -> None:
    os.utime(repository / "a", (1, 1))
    before = (repository / ".git" / "index").read_bytes()
    state(repository)
    assert (repository / ".git" / "index").read_bytes() == before


def test_the_signatures_of_commits_are_not_checked(repository: Path, tmp_path: Path) -> None:
    signer = tmp_path / "signer"
    signer.write_text(SIGNER)
    signer.chmod(0o755)
    git(repository, "config", "gpg.program", str(signer))
    git(repository, "commit", "--allow-empty", "-S", "-m", "Signed")
    program, mark = evil_program(tmp_path, "program")
    git(repository, "config", "gpg.program", str(program))
    git(repository, "config", "log.showSignature", "true")
    found, _ = read_repository(repository, VARIABLES)
    assert found is not None
    assert found.commits == ("Signed", "First")
    assert not mark.exists()
    git(repository, "log", "-1")
    assert mark.exists()
