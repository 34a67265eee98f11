"""What the model reads."""

import os
from pathlib import Path

import pytest

from acp_server.tools.search.formatting import format_footer
from acp_server.tools.search.query import OutputMode, SearchHit, SearchResult
from tests.tools.search.trees import find, text_of, write_tree

NOTHING = "No match."
LETTERS = "\n".join("abcdefghijkl")


async def test_hits_are_grouped_by_file_and_repeats_share_a_line(tmp_path: Path) -> None:
    write_tree(tmp_path, {"b.py": "  word one\n\tword\n\tword\nother\n\tword\n", "a/c.py": "word"})
    assert await find(tmp_path, "word") == SearchResult(
        "a/c.py\n1:word\nb.py\n1:  word one\n2,3,5:\tword",
        (
            SearchHit(tmp_path / "a/c.py", 1),
            SearchHit(tmp_path / "b.py", 1),
            SearchHit(tmp_path / "b.py", 2),
            SearchHit(tmp_path / "b.py", 3),
            SearchHit(tmp_path / "b.py", 5),
        ),
        5,
    )


async def test_matches_in_source_come_before_those_in_tests_docs_and_lock_files(
    tmp_path: Path,
) -> None:
    names = ("CHANGES.md", "app/a.py", "docs/b.py", "package-lock.json", "tests/test_a.py", "z.py")
    write_tree(tmp_path, dict.fromkeys(names, "word\n"))
    in_order = ["app/a.py", "z.py", "tests/test_a.py", "CHANGES.md", "docs/b.py", names[3]]
    assert await text_of(tmp_path, "word") == "\n".join(f"{name}\n1:word" for name in in_order)
    pages = [await find(tmp_path, "word", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [str(hit.path.relative_to(tmp_path)) for page in pages for hit in page.hits] == in_order
    assert {page.total for page in pages} == {6}
    listed = await find(tmp_path, "word", output_mode="files_only")
    assert [str(hit.path.relative_to(tmp_path)) for hit in listed.hits] == in_order


async def test_overlapping_context_windows_are_merged(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": LETTERS, "b.txt": "  c\n    x\n"})
    assert await text_of(tmp_path, "[cek]", context=1) == (
        "a.txt\n b\n3:c\n d\n5:e\n f\n--\n j\n11:k\n l\nb.txt\n1:  c\n     x"
    )


async def test_a_page_ends_with_the_context_of_its_last_hit(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": LETTERS})
    assert await text_of(tmp_path, "[ceg]", context=2, limit=1, offset=1) == (
        "a.txt\n c\n d\n5:e\n f\n g\n[1 more: offset=2; a.txt 1]"
    )


async def test_a_page_ends_with_the_number_of_further_matches_by_file(tmp_path: Path) -> None:
    names = ["a/b.py", "a/c.py", "d/e.py", *(f"f/{letter}.md" for letter in "klmnopqrstuv")]
    write_tree(tmp_path, dict.fromkeys(names, "word\nother\nword\n"))
    text = await text_of(tmp_path, "word", limit=1)
    assert text == (
        "a/b.py\n1:word\n[29 more: offset=1; a/: b.py 1, c.py 2; d/e.py 2; "
        "f/: k.md 2, l.md 2, m.md 2, n.md 2, o.md 2; and 7 more]"
    )
    last = await text_of(tmp_path, "word", limit=10, offset=18)
    assert last.splitlines()[-1] == "[2 more: offset=28; f/v.md 2]"
    listed = await text_of(tmp_path, "*", target="files", limit=1)
    assert listed == "a/b.py\n[14 more: offset=1; a/ 1, d/ 1, f/ 12]"
    below = await text_of(tmp_path, "word", root=Path("f"), output_mode="files_only", limit=4)
    assert below.splitlines()[-1] == "[8 more: offset=4; f/ 8]"


async def test_counts_and_file_names_can_be_listed(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"src/module/a.py": "word\nword word\n", "src/module/b.py": "word", "c": "word"}
    )
    assert await text_of(tmp_path, "word", output_mode="count") == (
        "c:1\nsrc/module/\n a.py:2\n b.py:1"
    )
    assert await text_of(tmp_path, "word", output_mode="count", limit=1, offset=1) == (
        "src/module/a.py:2\n[1 more: offset=2; src/module/ 1]"
    )
    assert await text_of(tmp_path, "word", output_mode="files_only") == (
        "c\nsrc/module/\n a.py\n b.py"
    )


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*.py", "test_old.py\nsrc/new.py"),
        ("test_*.py", "test_old.py"),
        ("NEW", "src/new.py"),
        ("src/**/new.py", "src/new.py"),
        ("rc/ne", "src/new.py"),
        ("*.rs", "No file matches '*.rs'."),
        (r".*\.py", "No file matches '.*\\\\.py'. Give a glob such as '*.py', not a regex."),
        ("*.log", "No file matches '*.log'. An ignored file does: a.log."),
    ],
)
async def test_files_are_found_by_name(tmp_path: Path, pattern: str, text: str) -> None:
    write_tree(
        tmp_path, {"test_old.py": "", "src/new.py": "", "a.log": "", ".gitignore": "*.log\n"}
    )
    assert await text_of(tmp_path, pattern, target="files") == text


async def test_files_are_listed_from_the_top_with_source_first_and_one_heading_a_folder(
    tmp_path: Path,
) -> None:
    names = (
        *("setup.py", "docs/guide.py", "docs/more.py", "app/main.py", "app/main_test.py"),
        *("app/models/user.py", "app/models/order.py", "app/views.py", "tests/test_a.py"),
        *("tests/test_b.py", "README.md"),
    )
    write_tree(tmp_path, dict.fromkeys(names, ""))
    assert await text_of(tmp_path, "*", target="files") == (
        "setup.py\nREADME.md\napp/\n main.py\n views.py\n main_test.py\napp/models/\n"
        " order.py\n user.py\ntests/\n test_a.py\n test_b.py\ndocs/\n guide.py\n more.py"
    )


@pytest.mark.parametrize("mode", ["content", "files_only", "count"])
async def test_pages_contain_every_result_once(tmp_path: Path, mode: OutputMode) -> None:
    write_tree(tmp_path, {f"{name}.txt": f"word {name}\n" for name in "gcafbed"})
    complete = await find(tmp_path, "word", output_mode=mode)
    pages = [
        await find(tmp_path, "word", output_mode=mode, limit=2, offset=offset)
        for offset in range(0, 8, 2)
    ]
    assert [hit for page in pages for hit in page.hits] == list(complete.hits)
    assert {page.total for page in pages} == {7}
    past = await find(tmp_path, "word", output_mode=mode, offset=7)
    assert past == SearchResult("offset 7 is past the last of 7.", (), 7)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("call(", "[not a regex (unclosed group): searched as plain text]\na.txt\n1:call(x)"),
        (r"one\ntwo", "a.txt\n2:one\n3:two"),
        ("one\ntwo", "a.txt\n2:one\n3:two"),
        ("two$", "a.txt\n3:two"),
        ("-x", "a.txt\n4:-x"),
        ("ONE", f"{NOTHING} It matches if case is ignored: put (?i) in front."),
        ("hidden", f"{NOTHING} Ignored files match, such as b.log: to search it, give it as path."),
        ("absent", NOTHING),
    ],
)
async def test_patterns_are_supported(tmp_path: Path, pattern: str, text: str) -> None:
    write_tree(
        tmp_path, {"a.txt": "call(x)\none\ntwo\n-x", "b.log": "hidden", ".gitignore": "*.log"}
    )
    assert await text_of(tmp_path, pattern) == text


async def test_an_empty_result_explains_a_wrong_glob_or_a_glob_used_as_pattern(
    tmp_path: Path,
) -> None:
    write_tree(tmp_path, {"sub/a.txt": "word"})
    assert await text_of(tmp_path, "word", file_glob="*.rs") == (
        "No match. No file matches file_glob '*.rs'."
    )
    assert await text_of(tmp_path, "x*.py", root=tmp_path / "sub") == (
        "No match in sub. To find files by name, use target='files'."
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a\r\nword é\r\n".encode(), "2:word é"),
        ("word café".encode("latin-1"), "1:word café"),
        ("word é\n".encode("utf-16"), "1:word é"),
        (b"word \x1b[31mred\rblack", r"1:word \x1b[31mred\rblack"),
        ("日本 word 語".encode(), "1:日本 word 語"),
    ],
    ids=["crlf", "latin_1", "utf_16", "control", "wide"],
)
async def test_text_in_any_encoding_is_found(tmp_path: Path, content: bytes, text: str) -> None:
    write_tree(tmp_path, {"a.txt": content})
    assert await text_of(tmp_path, "word") == f"a.txt\n{text}"


async def test_a_dollar_matches_before_crlf(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": b"word\r\nwords\r\n"})
    assert await text_of(tmp_path, "word$") == "a.txt\n1:word"


async def test_long_lines_are_truncated_around_the_match(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.js": b"x" * 5_000_000 + b"word" + b"y" * 5_000_000 + b"\nword\n"})
    assert await find(tmp_path, "word", root=tmp_path / "a.js") == SearchResult(
        f"a.js\n1:…{'x' * 60}word{'y' * 136}…\n2:word",
        (SearchHit(tmp_path / "a.js", 1), SearchHit(tmp_path / "a.js", 2)),
        2,
    )


async def test_hostile_names_are_escaped_to_one_line(tmp_path: Path) -> None:
    names = [b"-rf", b"1:x", b"a\nb:2:c", b"\x1b[2J", b"\xff"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_text("word")
    found = await find(tmp_path, "word", output_mode="files_only")
    assert found.text.splitlines() == [r"\x1b[2J", "-rf", "./1:x", r"a\nb:2:c", r"\xff"]
    content = await find(tmp_path, "word")
    assert sorted(os.fsencode(hit.path.name) for hit in content.hits) == sorted(names)


@pytest.mark.parametrize(
    ("total", "stopped", "text"),
    [(9, "", "[4 more: offset=5]"), (None, "", "[more: offset=5]"), (5, "", ""),
     (None, "stopped after 20 s", "[stopped after 20 s]")],
    ids=["more", "uncounted", "last", "late"],
)  # fmt: skip
def test_the_last_line_says_how_to_continue(total: int | None, stopped: str, text: str) -> None:
    assert format_footer(total, 5, stopped) == text
