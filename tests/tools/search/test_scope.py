"""What is searched and what is not."""

import os
from pathlib import Path

import pytest

from acp_server.tools.search.query import FileSearchQuery, SearchError, SearchHit, SearchResult
from acp_server.tools.search.search import search
from tests.tools.search.trees import find, text_of, write_tree

LOOK_AROUND = (
    "look-around and backreferences are not supported here: use a plain regex, search for a "
    "part of it, and look at the context"
)


@pytest.mark.parametrize("is_repository", [True, False], ids=["repository", "plain_folder"])
async def test_ignore_files_apply_at_every_depth(tmp_path: Path, *, is_repository: bool) -> None:
    write_tree(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n",
            ".ignore": "scratch.txt\n",
            "a.log": "word",
            "build/x.txt": "word",
            "scratch.txt": "word",
            "sub/.gitignore": "/local.txt\n!kept.log\n",
            "sub/local.txt": "word",
            "sub/kept.log": "word",
            "sub/deep/local.txt": "word",
            "sub/deep/a.log": "word",
        },
    )
    if is_repository:
        (tmp_path / ".git").mkdir()
    assert await text_of(tmp_path, "word", output_mode="files_only") == (
        "sub/deep/local.txt\nsub/kept.log"
    )
    assert await text_of(tmp_path, "word", root=tmp_path / "sub/deep") == (
        "sub/deep/local.txt\n1:word"
    )


async def test_ignore_files_above_a_plain_workspace_are_not_applied(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "*\n", "work/a.txt": "word"})
    assert await text_of(tmp_path / "work", "word") == "a.txt\n1:word"


async def test_a_glob_does_not_include_ignored_files(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {".gitignore": "made.py\n", "made.py": "word", "own.py": "word", "a.md": "word"}
    )
    assert await text_of(tmp_path, "word", file_glob="*.py") == "own.py\n1:word"


@pytest.mark.parametrize(
    ("file_glob", "files"),
    [
        ("*.py", ["src/a/x.py", "x.py", "tests/x.py"]),
        ("src/**/*.py", ["src/a/x.py"]),
        ("{src,tests}/**", ["src/a/x.py", "src/y.ts", "tests/x.py"]),
        ("*.{ts,md}", ["src/y.ts"]),
        ("/x.py", ["x.py"]),
        ("!*.py", ["src/y.ts"]),
        ("[wxy].t?", ["src/y.ts"]),
    ],
)
async def test_a_file_glob_narrows_the_search(
    tmp_path: Path, file_glob: str, files: list[str]
) -> None:
    write_tree(tmp_path, dict.fromkeys(["src/a/x.py", "src/y.ts", "tests/x.py", "x.py"], "word"))
    found = await find(tmp_path, "word", file_glob=file_glob)
    assert [hit.path.relative_to(tmp_path).as_posix() for hit in found.hits] == files


async def test_hidden_files_are_searched_but_the_git_directory_is_not(tmp_path: Path) -> None:
    write_tree(tmp_path, {".github/ci.yml": "word", ".git/config": "word", "sub/.git": "word"})
    assert await find(tmp_path, "word") == SearchResult(
        ".github/ci.yml\n1:word", (SearchHit(tmp_path / ".github/ci.yml", 1),), 1
    )


async def test_links_are_not_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"outside/secret.txt": "word", "work/a.txt": "word"})
    work = tmp_path / "work"
    (work / "loop").symlink_to(work)
    (work / "out").symlink_to(tmp_path / "outside")
    (work / "file.txt").symlink_to(tmp_path / "outside/secret.txt")
    assert await text_of(work, "word") == "a.txt\n1:word"
    assert await text_of(work, "*.txt", target="files") == "a.txt"
    assert await text_of(work, "word", root=work / "loop") == "a.txt\n1:word"
    with pytest.raises(SearchError, match="leads out of the workspace"):
        await find(work, "word", root=work / "out")


async def test_a_linked_workspace_keeps_its_name(tmp_path: Path) -> None:
    write_tree(tmp_path, {"real/a.txt": "word"})
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    found = await find(link, "word")
    assert found == SearchResult("a.txt\n1:word", (SearchHit(link / "a.txt", 1),), 1)


@pytest.mark.parametrize("glob", [".env", "/keys/", "*.pem"])
async def test_protected_files_are_not_read(tmp_path: Path, glob: str) -> None:
    files = {".env": ".env", "/keys/": "keys/a.txt", "*.pem": "deep/a.PEM"}
    write_tree(tmp_path, {files[glob]: "word", "open.txt": "word", ".ignore": f"!{files[glob]}\n"})
    assert (
        await search(FileSearchQuery("word", tmp_path), tmp_path, [glob])
    ).text == "open.txt\n1:word"
    listed = await search(FileSearchQuery("*", tmp_path, target="files", limit=9), tmp_path, [glob])
    assert listed.total == 2
    with pytest.raises(SearchError, match="is protected"):
        await search(FileSearchQuery("word", tmp_path / files[glob]), tmp_path, [glob])


async def test_a_configuration_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, {"rc": "--ignore-case\n", "work/a.txt": "WORD"})
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert (await find(tmp_path / "work", "word")).total == 0


async def test_huge_and_binary_files_are_skipped_and_large_ones_are_not(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"a.bin": b"word\0word", "b.txt": b"word\n" + b"x" * 6_000_000, "c.txt": "word"}
    )
    with (tmp_path / "d.txt").open("wb") as huge:  # sparse
        huge.write(b"word\n")
        huge.truncate(110_000_000)
    assert await text_of(tmp_path, "word") == "b.txt\n1:word\nc.txt\n1:word"
    text = await text_of(tmp_path, "word", root=tmp_path / "a.bin")
    assert text.endswith("is binary: it matches, but has no lines to show.")


async def test_an_invalid_search_root_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SearchError, match="a folder or a regular file"):
        await find(tmp_path, "word", root=tmp_path / "pipe")
    with pytest.raises(SearchError, match="No such file or directory; check the path"):
        await find(tmp_path, "word", root=tmp_path / "gone")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            FileSearchQuery("", Path()),
            "the pattern is empty: give a regex, or target='files' with '*'",
        ),
        (
            FileSearchQuery("a", Path(), file_glob=""),
            "file_glob is empty: leave it out, or give '*.py'",
        ),
        (FileSearchQuery("(?=a)b", Path()), LOOK_AROUND),
    ],
    ids=["pattern", "glob", "look_around"],
)
async def test_a_query_that_cannot_be_run_is_refused(
    tmp_path: Path, query: FileSearchQuery, reason: str
) -> None:
    with pytest.raises(SearchError) as caught:
        await search(query, tmp_path)
    assert caught.value.reason == reason
