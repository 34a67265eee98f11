"""Hooks of the settings in the real server: a call refused, a turn that waits for no hook."""

import time
from pathlib import Path

import pytest

from tests.support.server_process import command_line, start_server
from tests.support.user_texts import CONFIG_CHECK

SCRIPT = """\
prompt: *
call: write_file
  path: new.txt
  content: hello
step:
say: Done.
"""
BEFORE = """\
hooks:
  before_tool:
    - match: write_file|patch
      command: echo 'not on Fridays'; exit 2
"""
BROKEN = """\
hooks:
  before_tool:
    - matcher: write_file
      command: exit 2
"""
AFTER = """\
hooks:
  after_turn:
    - command: cat > heard; sleep 600
"""


def _settle(home: Path, settings: str) -> None:
    (home / "acp").mkdir()
    (home / "acp/config.yaml").write_text(settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [(BEFORE, "not on Fridays"), (BROKEN, CONFIG_CHECK)],
    ids=["it refuses", "it cannot be understood"],
)
def test_a_hook_from_the_settings_refuses_a_call(
    tmp_path: Path, settings: str, reason: str
) -> None:
    _settle(tmp_path, settings)
    command = command_line(tmp_path, SCRIPT, ["--mode", "bypass"])
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.prompt(server.new_session(str(tmp_path)))
        messages = [str(message) for message in server.messages]
        assert any(reason in each and "'failed'" in each for each in messages)
    assert not (tmp_path / "new.txt").exists()


def test_a_post_turn_hook_delays_no_response_and_ends_with_the_server(tmp_path: Path) -> None:
    _settle(tmp_path, AFTER)
    command = command_line(tmp_path, SCRIPT, ["--mode", "bypass"])
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.prompt(server.new_session(str(tmp_path)))
        deadline = time.monotonic() + 10
        while not (tmp_path / "heard").exists() or not (tmp_path / "heard").read_text():
            assert time.monotonic() < deadline, "the hook was not run"
            time.sleep(0.01)
        server.close_stdin()
        assert server.wait(5) == 0
    assert '"stop_reason": "end_turn"' in (tmp_path / "heard").read_text()
