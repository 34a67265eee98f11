"""`acp-server trust`."""

import json
from pathlib import Path

from tests.cli.command_line import CliResult, run
from tests.support.user_texts import DOES_NOT_EXIST


def test_a_directory_can_be_trusted_listed_and_untrusted(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "project"
    root.mkdir()
    assert run(home, "trust", str(root)) == CliResult(0, f"Trusted {root}\n", "")
    assert run(home, "trust", "--list") == CliResult(0, f"trusted   {root}\n", "")
    listed = run(home, "trust", "--list", "--json")
    assert json.loads(listed.stdout) == {str(root): "trusted"}
    taken = run(home, "trust", str(root), "--revoke", "--json")
    assert json.loads(taken.stdout) == {"root": str(root), "verdict": None}
    again = CliResult(0, f"{root} was not trusted\n", "")
    assert run(home, "trust", str(root), "--revoke") == again
    assert run(home, "trust", "--list") == CliResult(0, "No decisions yet.\n", "")


def test_a_missing_directory_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run(tmp_path, "trust", str(tmp_path / "absent"))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert DOES_NOT_EXIST in outcome.stderr


def test_an_unwritable_home_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    outcome = run(home, "trust", str(tmp_path))
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("acp-server trust: the decision cannot be saved: ")
