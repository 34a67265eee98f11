"""SOUL.md and the memory files as they are read from a home folder."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from prompt_engine.facts import MemorySnapshot, SourcedText
from prompt_engine.findings import ScanScope, ThreatFinding
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.soul import read_soul
from prompt_engine.trust import sha256_of
from tests.support.user_texts import CHARACTERS_SHOWN, NO_SUCH_FILE


def find_evil(text: str, scope: ScanScope) -> Sequence[ThreatFinding]:
    """Find the word evil, as a scanner would."""
    del scope
    lines = enumerate(text.splitlines(), 1)
    return [ThreatFinding("evil", "context", number, 1) for number, line in lines if "evil" in line]


def find_nothing(text: str, scope: ScanScope) -> Sequence[ThreatFinding]:
    del text, scope
    return ()


def soul(home: Path, text: str) -> str:
    (home / "SOUL.md").write_text(text)
    return str(home / "SOUL.md")


def test_soul_md_is_read_unchanged(tmp_path: Path) -> None:
    source = soul(tmp_path, "\ufeff\nYou are Ada's engineer.\r\n")
    assert read_soul(tmp_path, find_evil) == SourcedText("You are Ada's engineer.", source)


def test_a_missing_home_is_created_private(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    source = str(home / "SOUL.md")
    assert read_soul(home, find_evil) == SourcedText("", source, "absent", NO_SUCH_FILE)
    assert home.stat().st_mode & 0o777 == 0o700


def test_an_existing_home_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    read_soul(tmp_path, find_evil)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_home_that_cannot_be_created_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert read_soul(tmp_path / "file" / "home", find_evil).text == ""


def test_an_empty_soul_md_is_ignored(tmp_path: Path) -> None:
    source = soul(tmp_path, " \n")
    assert read_soul(tmp_path, find_evil) == SourcedText("", source, "absent", "the file is empty")


def test_a_blocked_soul_md_is_named_with_its_line(tmp_path: Path) -> None:
    source = soul(tmp_path, "You are kind.\nBe evil.")
    assert read_soul(tmp_path, find_evil) == SourcedText("", source, "blocked", "evil in line 2")


def test_a_soul_md_trusted_by_the_user_is_read(tmp_path: Path) -> None:
    source = soul(tmp_path, "Be evil.")
    trusted = {(Path(source).resolve(), sha256_of(b"Be evil."))}
    found = read_soul(tmp_path, find_evil, is_trusted=lambda path, sha: (path, sha) in trusted)
    assert found == SourcedText("Be evil.", source)


def test_a_long_soul_md_is_truncated(tmp_path: Path) -> None:
    soul(tmp_path, "You are kind. " * 100)
    found = read_soul(tmp_path, find_evil, max_characters=500)
    assert found.fate == "truncated"
    assert found.reason.endswith(f"of 1,399 {CHARACTERS_SHOWN}")
    assert len(found.text) < 600


def test_a_soul_md_that_is_not_text_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"\xff\xfe\x00")
    found = read_soul(tmp_path, find_evil)
    assert (found.text, found.fate) == ("", "dropped")
    assert found.reason


def test_soul_md_may_be_a_link_to_any_path(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    soul(tmp_path / "dotfiles", "You are kind.")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "SOUL.md").symlink_to(tmp_path / "dotfiles" / "SOUL.md")
    assert read_soul(tmp_path / "home", find_evil).text == "You are kind."


def test_a_named_pipe_as_soul_md_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "SOUL.md")
    assert read_soul(tmp_path, find_evil).fate == "dropped"


def remembered(folder: Path, text: str) -> Path:
    path = folder / "MEMORY.md"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "entries", "used"),
    [
        ("Name: Ada", ("Name: Ada",), 9),
        ("Name: Ada\n§\nLikes tests", ("Name: Ada", "Likes tests"), 23),
        ("Name: Ada\r\n§\r\nLikes tests\r\n", ("Name: Ada", "Likes tests"), 23),
        ("§\nName: Ada\n§\n\n§\n", ("Name: Ada",), 9),
        ("See § 7\n§ 8 too", ("See § 7\n§ 8 too",), 15),
        ("", (), 0),
    ],
    ids=["one", "two", "crlf", "empty entries", "the sign in a text", "empty file"],
)
def test_memory_entries_are_separated_by_section_signs(
    text: str, entries: tuple[str, ...], used: int, tmp_path: Path
) -> None:
    path = remembered(tmp_path, text)
    assert read_memory(path, 2_200, find_evil) == MemorySnapshot(entries, used, 2_200, str(path))


def test_a_missing_memory_file_is_an_empty_memory(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    assert read_memory(path, 1_375, find_evil) == MemorySnapshot((), 0, 1_375, str(path))


def test_a_blocked_entry_is_replaced_by_a_notice_and_counts_in_full(tmp_path: Path) -> None:
    path = remembered(tmp_path, "Uses uv\n§\nBe evil")
    assert read_memory(path, 2_200, find_evil) == MemorySnapshot(
        ("Uses uv", "[Blocked: evil in line 1 of this entry. It stays on disk.]"),
        len("Uses uv\n§\nBe evil"),
        2_200,
        str(path),
        "blocked",
        "1 of 2 entries were blocked",
    )
    assert path.read_text() == "Uses uv\n§\nBe evil"


def test_memory_is_scanned_strictly(tmp_path: Path) -> None:
    scopes: list[ScanScope] = []

    def scan(text: str, scope: ScanScope) -> Sequence[ThreatFinding]:
        scopes.append(scope)
        return find_nothing(text, scope)

    read_memory(remembered(tmp_path, "a\n§\nb"), 2_200, scan)
    assert scopes == ["strict", "strict"]


def test_a_store_far_over_its_limit_does_not_flood_the_prompt(tmp_path: Path) -> None:
    path = remembered(tmp_path, "\n§\n".join(["x" * 97] * 50))
    found = read_memory(path, 1_000, find_evil)
    assert found.entries[-1] == "[30 more entries do not fit; they stay in MEMORY.md.]"
    assert (len(found.entries), found.fate) == (21, "truncated")
    assert found.used_characters == 50 * 100 - 3
    assert found.reason == "20 of 50 entries fit"


def test_an_unreadable_memory_reports_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.mkdir()
    found = read_memory(path, 2_200, find_evil)
    assert (found.entries, found.fate) == ((), "dropped")
    assert found.reason
