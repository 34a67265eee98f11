"""The index of definitions: what it knows, and when it is up to date."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.tools.symbols import definition_index
from acp_server.tools.symbols.definition_index import (
    MAX_CHANGED_FILES,
    DefinitionIndex,
    DefinitionIndexes,
    find_candidates,
)

ENVIRONMENT = {"PATH": os.defpath}


def write_tree(root: Path, count: int) -> list[Path]:
    paths = [root / f"m{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"def f{number}(): ...\ndef shared(): ...\n", encoding="utf-8")
    return paths


class Background:
    """Collects background tasks; a test runs them when it says."""

    def __init__(self) -> None:
        self.tasks: list[TaskFunction] = []

    async def run(self) -> int:
        """Run the tasks so far; return how many there were."""
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            await task()
        return len(tasks)


async def names_of(
    index: DefinitionIndex, name: str, paths: Sequence[Path], background: Background
) -> list[str] | None:
    found = await find_candidates(index, name, paths, background.tasks.append)
    return None if found is None else [path.name for path in found]


async def test_an_index_is_built_in_the_background_and_follows_changes(tmp_path: Path) -> None:
    """One child process for the first build, one for the changes."""
    paths = write_tree(tmp_path, MAX_CHANGED_FILES + 2)
    index, background = DefinitionIndex(ENVIRONMENT), Background()
    assert await names_of(index, "f7", paths, background) is None
    assert await background.run() == 1
    assert await names_of(index, "f7", paths, background) == ["m7.py"]
    assert len(await names_of(index, "shared", paths, background) or ()) == len(paths)
    assert await names_of(index, "absent", paths, background) == []
    assert (index.file_count, index.name_count) == (len(paths), len(paths) + 1)
    assert await background.run() == 0

    # A changed file is looked at, until it is known again; one that is gone is forgotten.
    paths[3].write_text("def f7(): ...\n", encoding="utf-8")
    paths[7].unlink()
    assert await names_of(index, "f7", paths, background) == ["m3.py"]
    assert await names_of(index, "f8", paths, background) == ["m3.py", "m8.py"]
    await background.run()
    assert await names_of(index, "f8", paths, background) == ["m8.py"]
    assert await names_of(index, "f7", paths, background) == ["m3.py"]
    assert index.files_with("f3") == ()


async def test_what_cannot_be_parsed_is_known_as_a_file_without_names(tmp_path: Path) -> None:
    link, broken, good = (tmp_path / name for name in ("link.py", "broken.py", "good.py"))
    good.write_text("def good(): ...\n", encoding="utf-8")
    link.symlink_to(good)
    broken.write_bytes(b"\xff\x00def (")
    index, background = DefinitionIndex(ENVIRONMENT), Background()
    paths = [link, broken, good]
    await names_of(index, "good", paths, background)
    await background.run()
    assert await names_of(index, "good", paths, background) == ["good.py"]
    assert await background.run() == 0


async def test_a_child_that_cannot_run_leaves_the_index_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_tree(tmp_path, MAX_CHANGED_FILES + 2)
    index, background = DefinitionIndex(ENVIRONMENT), Background()
    monkeypatch.setattr(definition_index, "WORKER", "no.such.module")
    assert await names_of(index, "f7", paths, background) is None
    await background.run()
    assert await names_of(index, "f7", paths, background) is None


async def test_a_cancelled_build_can_be_started_again(tmp_path: Path) -> None:
    paths = write_tree(tmp_path, 2)
    index, background = DefinitionIndex(ENVIRONMENT), Background()
    await names_of(index, "f1", paths, background)

    async def run(tasks: TaskGroup) -> None:
        tasks.cancel_scope.cancel()
        await background.tasks[0]()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, tasks)
    assert index.file_count == 0
    await background.run()
    assert index.file_count == 2


def test_only_the_trees_that_were_used_last_are_kept(tmp_path: Path) -> None:
    indexes = DefinitionIndexes(ENVIRONMENT)
    first = indexes.of(tmp_path / "0")
    for number in range(1, definition_index.MAX_TREES):
        indexes.of(tmp_path / str(number))
    assert indexes.of(tmp_path / "0") is first
    indexes.of(tmp_path / "another")
    assert indexes.of(tmp_path / "0") is first
    second = indexes.of(tmp_path / "1")
    assert second.file_count == 0
    assert indexes.of(tmp_path / "1") is second
