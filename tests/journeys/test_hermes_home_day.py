"""A day in a home of Hermes with a profile, rules, hooks, keys and a thread, and a second day."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from tests.history.test_hermes_sessions import make_database
from tests.support.editor import json_at
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.user_texts import CONVERSATION_CLEARED, NO_EFFECT_HERE

CONFIG = """\
agent: {{disabled_toolsets: [delegation], coding_instructions: Prefer small commits.}}
terminal: {{timeout: 3, env_passthrough: [DEPLOY_URL], backend: docker}}
approvals: {{mode: smart, deny: ['git push --force*']}}
hooks:
  pre_tool_call:
    - {{matcher: write_file, command: python3 {hook}}}
display: {{skin: mono}}
"""
HOOK = """\
import json, sys
if "frozen" in json.dumps(json.load(sys.stdin)["tool_input"]):
    print(json.dumps({"decision": "block", "reason": "frozen.txt is frozen"}))
"""
SCRIPT = """\
prompt: push
call: terminal
  command: git push --force origin main || touch pushed
step:
say: Not pushed.

prompt: freeze
call: write_file
  path: frozen.txt
  content: x
step:
say: Not frozen.

prompt: write
call: write_file
  path: notes.txt
  content: hello
step:
say: Written.

prompt: show
call: terminal
  command: echo "<$DEPLOY_URL|$GLM_API_KEY>"
step:
say: Shown.

prompt: *
say: Okay.
"""
OPTIONS = ["--mode", "bypass", "--sandbox", "off"]


def lay_home(home: Path) -> Path:
    """Lay out a home whose active profile is `work`; return the directory of the profile."""
    profile = home / "profiles" / "work"
    (profile / "memories").mkdir(parents=True)
    hook = home / "hook.py"
    hook.write_text(HOOK)
    (home / "active_profile").write_text("work\n")
    (profile / "config.yaml").write_text(CONFIG.format(hook=hook))
    (profile / ".env").write_text("DEPLOY_URL=https://deploy.example\nGLM_API_KEY=secret-key\n")
    (profile / "SOUL.md").write_text("You are Zaphod.\n")
    (profile / "memories" / "MEMORY.md").write_text("The project uses pnpm.")
    (profile / "auth.json").write_text("{}")
    make_database(profile)
    return profile


def contents(profile: Path) -> Mapping[str, bytes]:
    """Return the files of a profile that belong to Hermes."""
    files = (each for each in profile.rglob("*") if each.is_file())
    below = {each.relative_to(profile).as_posix(): each for each in files}
    return {name: each.read_bytes() for name, each in below.items() if not name.startswith("acp/")}


def load(server: ServerProcess, cwd: Path) -> str:
    """Load the thread of Hermes; return all that was shown."""
    params: JsonValue = {"sessionId": "h1", "cwd": str(cwd), "mcpServers": []}
    answer = server.call("session/load", params)
    assert "result" in answer, answer
    return shown(server)


def shown(server: ServerProcess) -> str:
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in server.messages)


def play_day(server: ServerProcess, work: Path) -> None:
    """Continue the thread of Hermes: its rules hold, and what has no effect is said."""
    server.initialize()
    sessions = json_at(server.call("session/list", {}), "result", "sessions")
    assert isinstance(sessions, list)
    assert [json_at(each, "title") for each in sessions] == ["Run the tests."]
    assert "terminal: npm test" in load(server, work)
    for text in ("push", "freeze", "write", "show"):
        answer = server.prompt("h1", text)
        assert json_at(answer, "result", "stopReason") == "end_turn", answer
    said = shown(server)
    assert "`git push --force*` (`approvals.deny`) forbids it" in said
    assert "frozen.txt is frozen" in said
    assert "<https://deploy.example|>" in said
    assert "secret-key" not in said
    assert "- terminal.backend: commands run on this machine" in said
    assert "- display.skin: is not used" in said
    assert sorted(each.name for each in work.iterdir()) == ["notes.txt"]


def play_next_day(server: ServerProcess, work: Path) -> None:
    """Load the thread again, which is one of this server now, and clear it."""
    server.initialize()
    again = load(server, work)
    assert "terminal: npm test" in again
    assert "Written." in again
    assert again.count(NO_EFFECT_HERE) == 1  # as it was said on the first day
    server.prompt("h1", "/reset")
    assert CONVERSATION_CLEARED in shown(server)


def test_a_home_of_hermes_works_for_two_days_and_is_left_as_it_was(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    work.mkdir()
    profile = lay_home(home)
    before = contents(profile)
    command = command_line(home, SCRIPT, OPTIONS)
    for play in (play_day, play_next_day):
        with start_server(home, command=command) as server:
            play(server, work)
    assert contents(profile) == before
    assert not (home / "acp").exists()
