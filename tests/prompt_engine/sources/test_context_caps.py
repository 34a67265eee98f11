"""How much of each file is told, what a scan holds back, and what the user is told of it."""

import time
from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.findings import ThreatFinding
from prompt_engine.hint_blocks import LoadedHints, short_digest
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.sources.file_reading import MAX_BYTES
from prompt_engine.trust import sha256_of
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.user_texts import BLOCKED_NOT_SHOWN, CHARACTERS_SHOWN

FINDING = ThreatFinding("bad-word", "context", 4, 1)


@pytest.mark.parametrize(
    ("window_tokens", "setting", "expected"),
    [
        pytest.param(None, None, 18_000, id="by default"),
        pytest.param(200_000, None, 27_000, id="by the window"),
        pytest.param(200_000, 100, 90, id="by a setting"),
    ],
)
def test_a_file_over_its_cap_is_truncated(
    tmp_path: Path, window_tokens: int | None, setting: int | None, expected: int
) -> None:
    root = write_tree(tmp_path, {"AGENTS.md": "x" * 40_000})
    (note,) = find_project_context(
        ContextRequest(root, max_characters=setting, window_tokens=window_tokens), scan
    ).notes
    assert note == ContextFileNote("AGENTS.md", "cut", 40_000, expected)


def test_a_chain_shares_one_cap_and_the_farthest_file_is_truncated_first(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            ".git/": "",
            "AGENTS.md": "r" * 50,
            "a/AGENTS.md": "a" * 100,
            "a/b/AGENTS.md": "b" * 60,
        },
    )
    found = find_project_context(ContextRequest(tmp_path / "a" / "b", max_characters=100), scan)
    root, middle = f"{tmp_path}/AGENTS.md", f"{tmp_path}/a/AGENTS.md"
    assert found.notes == (
        ContextFileNote(root, "cut", 50, 0),
        ContextFileNote(middle, "cut", 100, 36),
        ContextFileNote("AGENTS.md", "loaded", 60, 60),
    )
    assert found.files == (
        ContextFile(root, f"[… 0 of 50 {CHARACTERS_SHOWN}; read {root} for the rest …]", 50),
        ContextFile(
            middle,
            f"{'a' * 28}\n\n[… 36 of 100 {CHARACTERS_SHOWN}; read {middle} for the rest …]"
            f"\n\n{'a' * 8}",
            100,
        ),
        ContextFile("AGENTS.md", "b" * 60, 60),
    )


def test_files_of_other_kinds_each_have_their_own_cap(tmp_path: Path) -> None:
    write_tree(tmp_path, {".cursorrules": "x" * 100, ".cursor/rules/a.mdc": "y" * 100})
    found = find_project_context(ContextRequest(tmp_path, max_characters=100), scan)
    assert [file.text for file in found.files] == ["x" * 100, "y" * 100]


@pytest.mark.parametrize(
    "megabytes", [2, pytest.param(10, marks=pytest.mark.full)], ids="{} MB".format
)
def test_megabytes_are_truncated_in_the_middle_quickly(tmp_path: Path, megabytes: int) -> None:
    half = megabytes * 500_000
    write_tree(tmp_path, {"AGENTS.md": "a" * half + "\n" + "z" * half})
    began = time.process_time()
    (file,) = find_project_context(ContextRequest(tmp_path), scan).files
    assert time.process_time() - began < megabytes / 10
    assert file.text == (
        f"{'a' * 14_000}\n\n[… 18,000 of {2 * half + 1:,} {CHARACTERS_SHOWN}; "
        f"read AGENTS.md for the rest …]\n\n{'z' * 4_000}"
    )


def test_an_oversized_instruction_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "AGENTS.md").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert find_project_context(ContextRequest(tmp_path), scan).notes == (
        ContextFileNote("AGENTS.md", "unreadable", reason="it is larger than 16,777,216 bytes"),
    )


HOSTILE = "---\na: b\n---\nATTACK\n"


def test_a_blocked_file_is_replaced_by_one_line_with_its_line_numbers(tmp_path: Path) -> None:
    found = find_project_context(ContextRequest(write_tree(tmp_path, {"AGENTS.md": HOSTILE})), scan)
    line = f"[AGENTS.md {BLOCKED_NOT_SHOWN}: bad-word in line 4.]"
    assert found.files == (ContextFile("AGENTS.md", line, len(line)),)
    assert found.notes == (
        ContextFileNote("AGENTS.md", "blocked", 6, 0, "bad-word in line 4", (FINDING,)),
    )


def test_text_that_would_be_truncated_is_scanned_too(tmp_path: Path) -> None:
    write_tree(tmp_path, {"AGENTS.md": f"{'a' * 90_000}\nATTACK\n{'z' * 90_000}"})
    (note,) = find_project_context(ContextRequest(tmp_path), scan).notes
    assert note.outcome == "blocked"


def test_trusted_content_is_shown_until_it_changes(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"AGENTS.md": HOSTILE}) / "AGENTS.md"
    checked: list[tuple[Path, str]] = []

    def trusted(asked_path: Path, sha256: str) -> bool:
        checked.append((asked_path, sha256))
        return sha256 == sha256_of(HOSTILE.encode())

    found = find_project_context(ContextRequest(tmp_path), scan, trusted)
    assert found.files == (ContextFile("AGENTS.md", "ATTACK", 6),)
    reason = "trusted despite bad-word in line 4"
    assert found.notes == (ContextFileNote("AGENTS.md", "loaded", 6, 6, reason, (FINDING,)),)
    path.write_text(f"{HOSTILE}!")
    changed = find_project_context(ContextRequest(tmp_path), scan, trusted)
    assert [note.outcome for note in changed.notes] == ["blocked"]
    assert checked == [(path, sha256_of(text.encode())) for text in (HOSTILE, f"{HOSTILE}!")]


def test_loaded_files_are_recorded_for_the_hint_finder(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {".git/": "", "AGENTS.md": "root", "a/AGENTS.md": "a", "a/CLAUDE.md": "no"}
    )
    assert find_project_context(ContextRequest(tmp_path / "a"), scan).loaded == LoadedHints(
        {
            f"{tmp_path}/AGENTS.md": short_digest(sha256_of(b"root")),
            "AGENTS.md": short_digest(sha256_of(b"a")),
        }
    )


def test_the_same_files_give_the_same_result(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/": "", ".cursor/rules/b.mdc": "b", ".cursor/rules/a.mdc": "a"})
    first = find_project_context(ContextRequest(tmp_path), scan)
    assert find_project_context(ContextRequest(tmp_path), scan) == first
