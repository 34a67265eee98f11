"""What is kept before a command: what git does not ignore, byte for byte, nothing of git's own."""

import hashlib
from pathlib import Path

import anyio
import pytest

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.turn_changes import IGNORED
from tests.checkpoints.manager_setup import HAS_GIT, CheckpointSetup, create_setup

pytestmark = pytest.mark.skipif(not HAS_GIT, reason="git is not installed")


def append_bytes(*paths: Path) -> None:
    for path in paths:
        path.write_bytes(path.read_bytes() + b"spoilt")


def digest_of(folder: Path) -> str:
    """Return what tells a folder's files, bytes and times, from any other state of it."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path} {path.lstat().st_mtime_ns}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


async def test_the_users_own_git_is_never_touched(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.txt")
    setup.git("init", "-q")
    setup.git("add", "-A")
    setup.git("commit", "-qm", "one")
    append_bytes(path)
    before = digest_of(setup.root / ".git")
    record = await setup.run_command(lambda: append_bytes(path))
    assert setup.changed_names(record) == {"a.txt"}
    assert digest_of(setup.root / ".git") == before


async def test_ignored_files_are_recorded_if_tracked_by_git_or_included_by_the_settings(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path, CheckpointConfig(include=("*.env",)))
    paths = [setup.write_file(name) for name in ("plain", "seen.log", "unseen.log", "local.env")]
    setup.write_file(".gitignore", "*.log\n*.env\n")
    setup.git("init", "-q")
    setup.git("add", "-f", "seen.log")
    record = await setup.run_command(lambda: append_bytes(*paths))
    assert setup.changed_names(record) == {"plain", "seen.log", "local.env"}


async def test_machine_local_git_excludes_are_respected(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    paths = [setup.write_file("plain"), setup.write_file("private")]
    setup.git("init", "-q")
    (setup.root / ".git/info/exclude").write_text("private\n")
    record = await setup.run_command(lambda: append_bytes(*paths))
    assert setup.changed_names(record) == {"plain"}


async def test_git_attributes_and_settings_never_change_a_byte(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    attributes = "* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16\n"
    setup.write_file(".gitattributes", attributes)
    setup.git("init", "-q")
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"):
        setup.git("config", key, f"touch {tmp_path}/ran; cat")
    setup.git("config", "core.autocrlf", "true")
    data = b"one\r\ntwo\n$Id$\r\n\xff\xfe"
    path = setup.write_file("a.txt", data)
    record = await setup.run_command(lambda: append_bytes(path))
    assert record is not None
    (change,) = record.changes
    assert change.before is not None
    assert await setup.manager.read(change.before.blob) == data
    assert not (tmp_path / "ran").exists()


async def test_an_unrecorded_file_is_named_if_it_changed(tmp_path: Path) -> None:
    setup = create_setup(tmp_path, CheckpointConfig(max_file_mb=0.001))
    large, other = (
        setup.write_file("large.bin", bytes(5_000)),
        setup.write_file("other.bin", bytes(5_000)),
    )
    (setup.root / "nested").mkdir()
    (setup.root / "nested/.git").mkdir()
    (setup.root / "nested/.git/HEAD").write_text("ref: refs/heads/main\n")
    for part in ("objects", "refs"):
        (setup.root / "nested/.git" / part).mkdir()
    setup.write_file("nested/file")
    record = await setup.run_command(lambda: append_bytes(large))
    assert other.stat().st_size == 5_000
    assert setup.omitted(record) == {
        "large.bin": "it is larger than 0.001 MB",
        "nested": "it is a separate repository",
    }


async def test_changed_ignored_files_are_named_with_the_recorded_changes(tmp_path: Path) -> None:
    setup = create_setup(tmp_path, CheckpointConfig(include=("*.env",)))
    plain, log, gone, env = map(setup.write_file, ("plain", "seen.log", "gone.log", "local.env"))
    for name in ("still.log", "cache/a", "build/a"):
        setup.write_file(name)
    setup.write_file(".gitignore", "*.log\n*.env\ncache/\nbuild/\n")
    await anyio.sleep(0.15)  # the clock of files is coarse, and time is the subject

    def act() -> None:
        append_bytes(plain, log, env)
        gone.unlink()
        setup.write_file("build/b")

    record = await setup.run_command(act)
    assert setup.changed_names(record) == {"plain", "local.env"}
    assert setup.omitted(record) == dict.fromkeys(("build", "gone.log", "seen.log"), IGNORED)


async def test_changes_to_ignored_files_alone_create_no_checkpoint(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    log = setup.write_file("seen.log")
    setup.write_file(".gitignore", "*.log\n")
    assert await setup.run_command(lambda: append_bytes(log)) is None


async def test_a_previously_ignored_file_does_not_count_as_new(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    setup.write_file("secret.log")
    ignore = setup.write_file(".gitignore", "*.log\n")
    await anyio.sleep(0.15)  # the clock of files is coarse, and time is the subject
    record = await setup.run_command(lambda: ignore.write_text(""))
    assert setup.changed_names(record) == {".gitignore"}


async def test_a_symlink_is_recorded_as_a_symlink_and_not_followed(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    (tmp_path / "outside").mkdir()
    outside = tmp_path / "outside/file"
    outside.write_text("outside\n")
    (setup.root / "link").symlink_to(tmp_path / "outside")
    record = await setup.run_command(lambda: append_bytes(outside))
    assert record is None


async def test_missing_git_is_reported_once_and_work_continues(tmp_path: Path) -> None:
    setup = create_setup(tmp_path, path=str(tmp_path))
    path = setup.write_file("a.txt")
    for _ in range(2):
        record = await setup.run_command(lambda: append_bytes(path))
        assert setup.omitted(record).keys() == {""}
    assert len(setup.notices) == 1
    assert "git is not installed" in setup.notices[0]


async def test_a_corrupt_index_and_a_stale_lock_are_harmless(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.txt")
    await setup.run_command(lambda: append_bytes(path))
    (index,) = setup.config_home.glob("acp/checkpoints/*/index-*")
    for damage in (b"", b"DIRC nonsense"):
        index.write_bytes(damage)
        index.with_name(f"{index.name}.lock").touch()
        assert setup.changed_names(await setup.run_command(lambda: append_bytes(path))) == {"a.txt"}
    assert setup.notices == []


async def test_two_servers_in_one_workspace_wait_for_each_other(tmp_path: Path) -> None:
    setups = [create_setup(tmp_path, session=name) for name in ("one", "two")]
    paths = {setup.manager: setup.write_file(f"{n}.txt") for n, setup in enumerate(setups)}

    async def work(setup: CheckpointSetup) -> None:
        for _ in range(3):
            await setup.run_command(lambda: append_bytes(paths[setup.manager]))

    async with anyio.create_task_group() as tasks:
        for setup in setups:
            tasks.start_soon(work, setup)
    for number, setup in enumerate(setups):
        records = await setup.manager.records()
        assert len(records) == 3
        assert all(f"{number}.txt" in setup.changed_names(record) for record in records)
        assert setup.notices == []


async def test_checkpoints_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.txt")
    await setup.run_command(lambda: append_bytes(path))
    (folder,) = setup.config_home.glob("acp/checkpoints/*")
    assert [f"{each.stat().st_mode & 0o777:o}" for each in (folder.parent, folder)] == ["700"] * 2


async def test_a_turn_without_changes_creates_no_record(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    setup.write_file("a.txt")
    assert await setup.run_command(lambda: None) is None
