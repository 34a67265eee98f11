"""The log's file: its folder is made, and that is said; what cannot be is said too."""

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.server.log_setup import configure_logging


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Put the handlers of the test's own process back."""
    root = logging.getLogger()
    saved, level = root.handlers[:], root.level
    root.handlers = []  # else `force` would close those of pytest
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers = saved
    root.setLevel(level)


def test_a_directory_created_for_the_log_is_named_in_it(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "acp.log"
    configure_logging("warning", file)
    assert f"created directory {file.parent} for the log" in file.read_text()
    configure_logging("warning", file)
    assert file.read_text().count("created directory") == 1


def test_a_new_log_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    new, existing = tmp_path / "new.log", tmp_path / "existing.log"
    existing.write_text("before\n")
    existing.chmod(0o640)
    for file in (new, existing):
        configure_logging("warning", file)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(existing.stat().st_mode) == 0o640
    assert existing.read_text() == "before\n"


def test_an_unwritable_log_is_reported_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_text("a file")
    configure_logging("warning", tmp_path / "a" / "acp.log")
    assert "cannot open the log file: " in capsys.readouterr().err
