"""Calls by other agents' names in the real server: they run, and its rules hold for them."""

from pathlib import Path

from tests.support.server_process import command_line, start_server

SCRIPT = """\
prompt: *
call: Write
  file_path: new.txt
  contents: hello
step:
call: Edit
  filePath: new.txt
  oldString: hello
  newString: goodbye
step:
call: Bash
  cmd: cat new.txt > copied.txt
  timeout: 5000
step:
call: Read
  file_path: "`NEW.txt`"
step:
say: Done.
"""
REFUSING = """\
hooks:
  before_tool:
    - match: write_file|terminal
      command: exit 2
"""


def test_foreign_calls_run_in_the_real_server(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    command = command_line(tmp_path, SCRIPT, ["--mode", "bypass"])
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.prompt(server.new_session(str(root)))
        shown = "\n".join(str(message) for message in server.messages)
    assert (root / "copied.txt").read_text() == "goodbye"
    assert "`filePath` as `path`" in shown
    assert "`timeout` as 5,000 milliseconds (5 s)" in shown
    assert "``NEW.txt`` as `new.txt`" in shown


def test_a_hook_on_a_tool_holds_for_its_other_names(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir()
    (tmp_path / "acp/config.yaml").write_text(REFUSING)
    command = command_line(tmp_path, SCRIPT, ["--mode", "bypass"])
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.prompt(server.new_session(str(tmp_path)))
    assert not (tmp_path / "new.txt").exists()
    assert not (tmp_path / "copied.txt").exists()
