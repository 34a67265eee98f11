"""The .env file of a home: one variable is set, everything else stays."""

from pathlib import Path

import pytest
from dotenv import dotenv_values

from acp_server.config.settings import store_variable

TEXT = "# mine\nexport A=1\nKEY=old # note\n\nB='x y'\nbroken line here\nKEY=older\nC=3"


def stored(home: Path) -> str | None:
    return dotenv_values(home / ".env", interpolate=False)["KEY"]


@pytest.mark.parametrize(
    "value", ["plain-123", "with space", "a'b\"c", "back\\slash\\n", "#hash $HOME ${X}", "ü=€", "'"]
)
def test_a_value_is_read_as_it_was_written(tmp_path: Path, value: str) -> None:
    store_variable(tmp_path, "KEY", value)
    assert stored(tmp_path) == value
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


def test_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(TEXT)
    store_variable(tmp_path, "KEY", "new")
    text = (tmp_path / ".env").read_text()
    assert text == "# mine\nexport A=1\nKEY=new\n\nB='x y'\nbroken line here\nC=3"
    store_variable(tmp_path, "D", "4")
    assert (tmp_path / ".env").read_text() == f"{text}\nD=4\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.env"
    target.write_text("A=1\n")
    (tmp_path / ".env").symlink_to(target)
    store_variable(tmp_path, "KEY", "new")
    assert (tmp_path / ".env").is_symlink()
    assert target.read_text() == "A=1\nKEY=new\n"


@pytest.mark.parametrize(
    ("name", "value"), [("KEY", ""), ("KEY", "a\nB=2"), ("KEY", "a\0"), ("A B", "x"), ("", "x")]
)
def test_what_would_be_something_else_is_not_stored(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / ".env").write_text(TEXT)
    with pytest.raises(ValueError, match=r"variable|line breaks"):
        store_variable(tmp_path, name, value)
    assert (tmp_path / ".env").read_text() == TEXT
