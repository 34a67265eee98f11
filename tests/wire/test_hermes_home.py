"""The safety rules of a Hermes home, in the real server and in the mode that asks nothing."""

import json
from pathlib import Path

from tests.support.server_process import SERVER, ServerProcess, command_line, start_server
from tests.support.user_texts import CONFIG_CHECK, HOOK_REFUSED, NO_EFFECT_HERE

MODES = ["--mode", "bypass", "--sandbox", "off"]
PUSH = """\
prompt: *
call: terminal
  command: cd . && git push --force origin main || touch ran
step:
say: Done.
"""
WRITE = """\
prompt: *
call: write_file
  path: new.txt
  content: hello
step:
say: Done.
"""


def play(home: Path, settings: str, script: str, options: list[str] = MODES) -> list[str]:
    """Play a prompt in a home with these settings; return all messages, as text."""
    (home / "config.yaml").write_text(settings)
    with start_server(home, command=command_line(home, script, options)) as server:
        server.initialize()
        server.prompt(server.new_session(str(home)))
        return _texts(server)


def _texts(server: ServerProcess) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in server.messages]


def test_a_forbidden_command_never_runs(tmp_path: Path) -> None:
    messages = play(tmp_path, "approvals:\n  deny: ['git push --force*']\n", PUSH)
    assert any("`git push --force*` (`approvals.deny`) forbids it" in each for each in messages)
    assert not (tmp_path / "ran").exists()


def test_no_command_runs_if_the_rules_cannot_be_read(tmp_path: Path) -> None:
    messages = play(tmp_path, "approvals:\n  deny: {git: push}\n", PUSH)
    assert any(CONFIG_CHECK in each and "failed" in each for each in messages)
    assert not (tmp_path / "ran").exists()


def test_approvals_that_are_off_begin_sessions_in_bypass(tmp_path: Path) -> None:
    messages = play(tmp_path, "approvals:\n  mode: off\n", WRITE, ["--sandbox", "off"])
    assert any('"currentModeId": "bypass"' in each for each in messages)
    assert (tmp_path / "new.txt").read_text() == "hello"


HOOK = """\
hooks:
  pre_tool_call:
    - matcher: "write_.*|patch"
      command: python3 {hook} --strict
      timeout: 20
  post_tool_call:
    - command: python3 {hook}
"""
HOOK_PROGRAM = """\
import json, pathlib, sys
call = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(json.dumps(call) + "\\n")
if "--strict" in sys.argv and call["tool_input"]["path"].startswith("new"):
    print(json.dumps({{"decision": "block", "reason": "no new files today"}}))
sys.exit(1)
"""


def test_hooks_of_hermes_refuse_calls_and_hear_of_results(tmp_path: Path) -> None:
    hook, log = tmp_path / "a hook.py", tmp_path / "heard"
    hook.write_text(HOOK_PROGRAM.format(log=str(log)))
    settings = HOOK.format(hook=f"'{hook}'")
    messages = play(tmp_path, settings, WRITE)
    assert any("no new files today" in each and '"failed"' in each for each in messages)
    assert not (tmp_path / "new.txt").exists()
    before, blocked = map(json.loads, log.read_text().splitlines())
    assert (blocked["hook_event_name"], blocked["extra"]["status"]) == ("post_tool_call", "blocked")
    assert (before["hook_event_name"], before["tool_name"]) == ("pre_tool_call", "write_file")
    assert before["tool_input"] == {"path": "new.txt", "content": "hello"}
    assert before["session_id"]
    assert before["cwd"] == str(tmp_path)
    # It fails with exit code 1 and no decision: the call goes on, as in Hermes.
    log.unlink()
    play(tmp_path, settings, WRITE.replace("new.txt", "old.txt"))
    assert (tmp_path / "old.txt").read_text() == "hello"
    _, after = map(json.loads, log.read_text().splitlines())
    assert (after["hook_event_name"], after["extra"]["status"]) == ("post_tool_call", "ok")


def test_a_hook_that_cannot_answer_refuses(tmp_path: Path) -> None:
    settings = "hooks:\n  pre_tool_call:\n    - command: sleep 60\n      timeout: 1\n"
    messages = play(tmp_path, settings, WRITE)
    assert any(HOOK_REFUSED in each for each in messages)
    assert not (tmp_path / "new.txt").exists()


def test_disabled_toolsets_are_not_offered(tmp_path: Path) -> None:
    settings = "agent:\n  disabled_toolsets: [terminal, delegation]\n"
    messages = play(tmp_path, settings, PUSH)
    assert any('"failed"' in each for each in messages)
    assert not (tmp_path / "ran").exists()
    settings = "platform_toolsets:\n  acp: [terminal, todo]\n"
    play(tmp_path, settings, WRITE)
    assert not (tmp_path / "new.txt").exists()


def test_commands_get_the_variables_that_are_passed_through(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DEPLOY_URL=https://example.org\nOPENAI_API_KEY=sk-secret\n")
    settings = "terminal:\n  timeout: 1\n  env_passthrough: [DEPLOY_URL, OPENAI_API_KEY]\n"
    script = (
        'prompt: *\ncall: terminal\n  command: echo "<$DEPLOY_URL|$OPENAI_API_KEY>"; sleep 60\n'
        "step:\nsay: Done.\n"
    )
    messages = play(tmp_path, settings, script)
    assert any("<https://example.org|>" in each for each in messages)
    assert any("stopped after 1 s" in each for each in messages)


def test_settings_without_effect_are_told_once(tmp_path: Path) -> None:
    settings = (
        "tts: {provider: edge}\nsecurity:\n  redact_secrets: true\n  website_blocklist:\n"
        "    enabled: true\ncompression: {threshold: 0.5}\n"
    )
    first, second = play(tmp_path, settings, WRITE), play(tmp_path, settings, WRITE)
    shown = [each for each in first if NO_EFFECT_HERE in each]
    assert len(shown) == 1
    assert "- security.website_blocklist.enabled: this server knows no blocklist" in shown[0]
    assert "- tts: is not used" in shown[0]
    assert not any(NO_EFFECT_HERE in each for each in second)
    changed = play(tmp_path, f"{settings}cron: {{wrap: true}}\n", WRITE)
    assert any("- tts: is not used" in each and "- cron: is not used" in each for each in changed)


def test_an_unknown_provider_is_named_before_the_first_prompt(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: {provider: openruoter, default: x/y}\n")
    with start_server(tmp_path, command=SERVER) as server:
        server.initialize()
        server.new_session(str(tmp_path))
        while not any("did you mean `openrouter`?" in each for each in _texts(server)):
            server.receive()


def test_a_profile_is_chosen_by_option_before_the_first_answer(tmp_path: Path) -> None:
    profile = tmp_path / "profiles" / "work"
    profile.mkdir(parents=True)
    (profile / "config.yaml").write_text("model: {provider: openruoter, default: x/y}\n")
    with start_server(tmp_path, command=[*SERVER, "serve", "--profile", "work"]) as server:
        server.initialize()
        server.new_session(str(tmp_path))
        while not any("did you mean `openrouter`?" in each for each in _texts(server)):
            server.receive()
