"""Ripgrep's process: found, bounded, gone afterwards; and how long a search takes."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest

from acp_server.tools.search import match_page
from acp_server.tools.search.query import SearchError
from acp_server.tools.search.records import MatchLine, MatchLineParser
from acp_server.tools.search.ripgrep import RipgrepResult, find_ripgrep, run_ripgrep
from acp_server.tools.search.search_root import SearchRoot, resolve_search_root
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.search.trees import find, write_many_files, write_tree

Property = Callable[[str, object], None]


def children() -> list[str]:
    names: list[str] = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it ends while it is looked at
            names.append(child.name())
    return [name for name in names if name == "rg"]


async def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": "word\n" * 1_000_000})
    seen: list[str] = []
    with anyio.fail_after(HANG_TIMEOUT_SECONDS), anyio.CancelScope() as scope:

        def feed(chunk: bytes) -> bool:
            seen.extend(children())
            scope.cancel()
            return bool(chunk)

        await run_ripgrep(["--", "word", "./"], here(tmp_path), feed, 5)
    assert seen == ["rg"]
    assert children() == []


def here(folder: Path) -> SearchRoot:
    return resolve_search_root(folder, folder, ())


async def test_a_search_ends_when_enough_is_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": "word\n" * 1_000_000})
    ending = await run_ripgrep(["--", "word", "./"], here(tmp_path), lambda _: False, 5)
    assert (ending, children()) == (RipgrepResult(), [])


async def test_a_search_ends_at_its_timeout(tmp_path: Path) -> None:
    ending = await run_ripgrep(["--", "word", "./"], here(tmp_path), lambda _: True, 0)
    assert (ending, children()) == (RipgrepResult(has_timed_out=True), [])


@pytest.mark.parametrize("name", ["a.txt", "a.md"], ids=["source", "docs"])
async def test_a_common_word_is_not_counted_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(match_page, "COUNT_AHEAD_BYTES", 100_000)
    monkeypatch.setattr(match_page, "HELD_BACK_BYTES", 100_000)
    write_tree(tmp_path, {name: "word\n" * 100_000})
    found = await find(tmp_path, "word", limit=2)
    assert (found.text, found.total) == (f"{name}\n1,2:word\n[more: offset=2]", None)


def test_the_installed_ripgrep_is_found() -> None:
    assert find_ripgrep(()).is_file()


def test_a_ripgrep_on_a_relative_path_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_relative(_: str, path: str = "") -> str:
        return f"folder/rg{path[:0]}"

    find_ripgrep.cache_clear()
    monkeypatch.setattr("shutil.which", only_relative)
    with pytest.raises(SearchError, match="pip install ripgrep"):
        find_ripgrep(())


def test_a_ripgrep_of_the_workspace_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, workspace, system = tmp_path / "own", tmp_path / "workspace", tmp_path / "system"
    for folder in (own, workspace / "bin", system):
        folder.mkdir(parents=True)
    for folder in (workspace / "bin", system):
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", {"scripts": str(own)}.get)
    monkeypatch.setattr("sys.executable", str(own / "python"))
    monkeypatch.setenv("PATH", f"{workspace}/bin:{system}")
    assert find_ripgrep((workspace,)) == system / "rg"


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_output_is_parsed_equally_for_any_chunking(size: int) -> None:
    output = b"a\nb\x002:3:a word\na\nb\x003-\nc\x001:5001:" + b"x" * 5000 + b"word" * 3000
    output += b"\nd\x009:1:word\n"
    lines = MatchLineParser()
    read = [
        line
        for start in range(0, len(output), size)
        for line in lines.feed(output[start : start + size])
    ]
    assert [(line.name, line.number, line.column) for line in read] == [
        (b"a\nb", 2, 2),
        (b"a\nb", 3, None),
        (b"c", 1, 4096),
        (b"d", 9, 0),
    ]
    assert read[0] == MatchLine(b"a\nb", 2, 2, b"a word")
    assert read[2].text.startswith(b"x" * 4096 + b"word")


@pytest.mark.parametrize(
    ("count", "ceiling_seconds"),
    [(2_000, 2.0), pytest.param(100_000, 15.0, marks=pytest.mark.full)],
    ids=["short", "long"],
)
async def test_a_tree_is_searched_in_time(
    tmp_path: Path, count: int, ceiling_seconds: float, record_property: Property
) -> None:
    write_many_files(tmp_path, count)
    await find(tmp_path, "warm")
    began = time.perf_counter()
    found = await find(tmp_path, f"needle_{count - 1}$")
    lines = time.perf_counter() - began
    listed = await find(tmp_path, "*_99.py", target="files")
    names = time.perf_counter() - began - lines
    record_property("milliseconds", (lines * 1000, names * 1000))
    shutil.rmtree(tmp_path)  # or some later run of pytest would take the time to do it
    assert (found.total, listed.total) == (1, count // 100)
    assert lines + names < ceiling_seconds
