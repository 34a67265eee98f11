"""What `acp-server doctor` says of the files that the server keeps, and of editors."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acp_server.cli.doctor_checks import CheckResult, check_database, check_editors, check_state
from acp_server.cli.editor_detection import FoundEditor, find_editors

NONE_YET = "{}/acp/sessions.db: not created yet"


def write_documents(home: Path, **contents: str) -> None:
    (home / "acp").mkdir()
    for name, content in contents.items():
        file = home / "acp" / f"{name}.json"
        file.write_text(content)
        file.chmod(0o600)


def nobody(program: str) -> str | None:
    del program
    return None


def test_an_empty_home_passes(tmp_path: Path) -> None:
    fact = NONE_YET.format(tmp_path)
    assert list(check_state(tmp_path)) == [CheckResult("database", "ok", fact)]


def test_readable_documents_are_listed_together(tmp_path: Path) -> None:
    write_documents(tmp_path, trust="{}", permissions='{"/a": []}', credentials="{}")
    fact = "trust.json, permissions.json, credentials.json can be read"
    assert list(check_state(tmp_path))[:1] == [CheckResult("state", "ok", fact)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "it is not valid JSON"),
        ("[]", "it is not a JSON object"),
        ("[" * 100_000, "it is not valid JSON"),
    ],
    ids=["broken", "a list", "too deep"],
)
def test_a_corrupt_document_is_a_problem_with_its_consequence(
    tmp_path: Path, content: str, reason: str
) -> None:
    write_documents(tmp_path, trust=content, models="{}")
    file = tmp_path / "acp" / "trust.json"
    assert list(check_state(tmp_path))[:2] == [
        CheckResult(
            "state",
            "problem",
            f"{file} cannot be used: {reason}",
            "repair it or move it away; until then, you are asked again which workspaces to trust",
        ),
        CheckResult("state", "ok", "models.json can be read"),
    ]


def test_a_directory_in_place_of_a_document_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "acp" / "permissions.json").mkdir(parents=True)
    assert [each.status for each in check_state(tmp_path)] == ["problem", "ok"]


def test_a_key_file_readable_by_others_is_a_warning(tmp_path: Path) -> None:
    write_documents(tmp_path, credentials="{}")
    file = tmp_path / "acp" / "credentials.json"
    file.chmod(0o644)
    expected = CheckResult("state", "warning", f"other users can read {file}", f"chmod 600 {file}")
    assert check_state(tmp_path)[0] == expected


def test_an_intact_database_is_reported_with_its_size(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("CREATE TABLE a (b)")
        opened.execute("PRAGMA user_version = 3")
        opened.commit()
    before = file.read_bytes()
    assert check_database(file) == CheckResult(
        "database", "ok", f"{file}, 0.0 MB, version 3, intact"
    )
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"no database at all " * 100, b"SQLite format 3\0" + b"x" * 4_096]
)
def test_a_damaged_database_is_a_problem(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "sessions.db"
    file.write_bytes(content)
    found = check_database(file)
    assert (found.name, found.status) == ("database", "problem")
    assert found.fact.startswith(f"{file} is damaged: ")
    assert file.read_bytes() == content


def test_editors_are_detected_by_program_or_directory(tmp_path: Path) -> None:
    zed = tmp_path / ".config" / "zed"
    zed.mkdir(parents=True)
    (zed / "settings.json").write_text('{"agent_servers": {"acp-server": {}}}')
    (tmp_path / ".emacs.d").mkdir()
    found = find_editors(tmp_path, lambda name: "/bin/nvim" if name == "nvim" else None)
    assert found == (
        FoundEditor("Zed", (), (str(zed),), names_us=True),
        FoundEditor("Neovim", ("/bin/nvim",), (), names_us=False),
        FoundEditor("Emacs", (), (str(tmp_path / ".emacs.d"),), names_us=False),
    )
    assert check_editors(found) == CheckResult("editors", "ok", "Zed (set up), Neovim, Emacs")


def test_no_editor_is_reported_if_none_is_installed(tmp_path: Path) -> None:
    found = find_editors(tmp_path, nobody)
    assert check_editors(found) == CheckResult("editors", "ok", "no known editor found")
