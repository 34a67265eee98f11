"""A server that is killed at any moment: everything but the last moment comes back.

Real processes play scripts; the sessions they leave behind are taken up in this process, and go on
with a Messages API that refuses every history that the real one would.
"""

import math
import random
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config import settings
from tests.sessions.merged_updates import merge_updates
from tests.support.editor import Editor, Object, check_message, json_at, open_editor
from tests.support.messages_api import KEY, FakeApiServer, messages_api
from tests.support.server_process import ServerProcess, model_id, start_server
from tests.tools.shell.command_session import running_commands, wait_until

MODEL = "claude-opus-5-5"
WRITTEN_WITHIN_SECONDS = 0.1
SLACK_SECONDS = 0.15
"""For a busy machine, and for the way from the server to the test."""

SCRIPT = """\
prompt: stream
think: I think about it for a while and then for a while longer.
pace: 4ms
say: One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
  sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four.

prompt: work
pace: 2ms
say: I write it and run something.
call: write_file
  path: a.txt
  content: |
    one line
    and another one
call: terminal
  command: echo begun; sleep SECONDS
step:
say: It is done, and here is what came of it.

prompt: ask
say: May I?
call: write_file
  path: .env
  content: nothing
step:
say: Thank you.

prompt: look
say: I look.
call: terminal
  command: echo found
step:
say: There it is.

prompt: fill
say: Filled with many words, so that there is something to sum up.

prompt: *
pace: 3ms
say: This is a summary of all that was said before, or simply an answer.
"""


@dataclass(slots=True)
class Victim:
    """A server in a process of its own, killed while it works on prompts."""

    server: ServerProcess
    received: list[tuple[float, Object]] = field(default_factory=list[tuple[float, Object]])
    killed_at: float = 0.0
    held_up_seconds: float = 0.0
    """How long its threads waited for a processor meanwhile, all together."""

    def drive(self, prompts: list[tuple[str, str]], seconds: float) -> None:
        """Send prompts, each to a session, and read for a while; then kill."""
        for session, text in prompts:
            self.server.start_prompt(session, text)
        held_up_before = held_up_seconds(self.server.process.pid)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(AssertionError, TimeoutError):
                line = self.server.read_line(max(0.001, until - time.monotonic()))
                self.received.append((time.monotonic(), check_message(line)))
        self.killed_at = time.monotonic()
        self.held_up_seconds = held_up_seconds(self.server.process.pid) - held_up_before
        self.server.process.kill()
        self.server.process.wait()

    def certain(self, session: str) -> list[Object]:
        """The updates of a session that must have been kept, the first of all that were seen."""
        within_seconds = WRITTEN_WITHIN_SECONDS + SLACK_SECONDS + self.held_up_seconds
        return self.report(session, self.killed_at - within_seconds)

    def report(self, session: str, until: float = math.inf) -> list[Object]:
        """The updates of a session that the client had by some moment."""
        updates = [
            json_at(message, "params", "update")
            for moment, message in self.received
            if moment < until
            and message.get("method") == "session/update"
            and json_at(message, "params", "sessionId") == session
        ]
        return [update for update in updates if isinstance(update, dict)]


def held_up_seconds(process: int) -> float:
    """How long the threads of a process waited for a processor, where the system tells."""
    waited = 0
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            waited += int(file.read_text().split()[1])
    return waited / 1e9


MOST_SECONDS = {"stream": 0.5, "work": 0.5, "ask": 0.5, "compact": 0.2, "two": 0.6}
MOMENTS = tuple(MOST_SECONDS)
CASES = [(scenario, seed) for scenario in MOMENTS for seed in range(1)]
FULL_CASES = [(scenario, seed) for scenario in MOMENTS for seed in range(1, 48)]


@pytest.mark.parametrize(("scenario", "seed"), CASES, ids=[f"{s}-{n}" for s, n in CASES])
async def test_a_kill_loses_only_the_last_moment(tmp_path: Path, scenario: str, seed: int) -> None:
    await _killed(tmp_path, scenario, seed)


@pytest.mark.full
@pytest.mark.parametrize(("scenario", "seed"), FULL_CASES, ids=[f"{s}-{n}" for s, n in FULL_CASES])
async def test_two_hundred_kills_lose_only_the_last_moment(
    tmp_path: Path, scenario: str, seed: int
) -> None:
    await _killed(tmp_path, scenario, seed)


async def test_nothing_of_an_answered_prompt_is_lost(tmp_path: Path) -> None:
    (tmp_path / "test.script").write_text(SCRIPT, encoding="utf-8")
    folder = tmp_path / "workspace"
    folder.mkdir()
    command = [sys.executable, "-m", "acp_server", "serve", "--model", model_id(tmp_path)]
    with start_server(tmp_path, command=[*command, "--mode", "bypass"]) as server:
        server.initialize()
        session = server.new_session(str(folder))
        server.prompt(session, "look")
        assert json_at(server.prompt(session, "look"), "result", "stopReason") == "end_turn"
        server.process.kill()
        server.process.wait()
        # All of it was shown long ago, so to say: none of it may be missing.
        victim = Victim(server, [(-math.inf, each) for each in server.messages])
    async with (
        messages_api(["Welcome back."]) as api,
        open_editor(_configuration(tmp_path, api)) as editor,
    ):
        await editor.initialize()
        await _check_session(editor, session, str(folder), victim)


async def _killed(home: Path, scenario: str, seed: int) -> None:
    chance = random.Random(f"{scenario} {seed}")  # noqa: S311  no secret
    folder = home / "workspace"
    folder.mkdir()
    sleep = f"{4000 + chance.random():.9f}"
    victim, sessions = _kill_one(home, folder, scenario, chance, sleep)
    await _check_orphans(sleep)
    async with messages_api(["Welcome back."] * len(sessions)) as api:
        async with open_editor(_configuration(home, api)) as editor:
            await editor.initialize()
            for session in sessions:
                await _check_session(editor, session, str(folder), victim)
        assert [request.verdict for request in api.model_requests] == ["answered"] * len(sessions)
    check_database(home / "acp" / "sessions.db")


def _kill_one(
    home: Path, folder: Path, scenario: str, chance: random.Random, sleep: str
) -> tuple[Victim, list[str]]:
    (home / "test.script").write_text(SCRIPT.replace("SECONDS", sleep), encoding="utf-8")
    mode = "ask" if scenario == "ask" else "bypass"
    command = [sys.executable, "-m", "acp_server", "serve", "--model", model_id(home)]
    with start_server(home, command=[*command, "--mode", mode]) as server:
        server.initialize()
        sessions = [server.new_session(str(folder)) for _ in range(2 if scenario == "two" else 1)]
        for session in sessions * (6 if scenario == "compact" else 1):
            server.prompt(session, "fill")  # the first prompt also waits for what is imported late
        victim = Victim(server)
        victim.drive(_prompts(scenario, sessions), chance.uniform(0.0, MOST_SECONDS[scenario]))
    return victim, sessions


def _prompts(scenario: str, sessions: list[str]) -> list[tuple[str, str]]:
    """What each session is asked when the killing is near."""
    if scenario == "two":
        return [(sessions[0], "stream"), (sessions[1], "work")]
    return [(sessions[0], "/compact" if scenario == "compact" else scenario)]


def _configuration(home: Path, api: FakeApiServer) -> settings.Configuration:
    environment = {
        "HERMES_HOME": str(home),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": KEY,
    }
    return settings.load({"--model": MODEL, "--mode": "bypass"}, environment)


async def _check_session(editor: Editor, session: str, folder: str, victim: Victim) -> None:
    params: JsonValue = {"sessionId": session, "cwd": folder, "mcpServers": []}
    seen, first = victim.report(session), victim.certain(session)
    certain = merge_updates(first)
    response = await editor.call("session/load", params)
    if not certain and "error" in response:  # killed before the first tenth of a second was over
        assert json_at(response, "error", "code") == -32002
        params = {"cwd": folder, "mcpServers": []}
        session = str(json_at(await editor.call("session/new", params), "result", "sessionId"))
    replayed = {key_of(each): each for each in merge_updates(editor.updates_of(session))}
    for each in certain:
        _check_restored(each, replayed[key_of(each)])
        _check_not_older(replayed[key_of(each)], first, seen[len(first) :])
    for each in replayed.values():
        assert each["is"] != "call" or each["status"] in {"completed", "failed"}
    assert json_at(await editor.prompt(session, "go on"), "stopReason") == "end_turn"


def key_of(part: Object) -> str:
    """What a part of a conversation is known by."""
    return f"{part['is']} {part.get('id') or part.get('toolCallId')}"


def _check_restored(before: Object, after: Object) -> None:
    if before["is"] == "call":
        is_settled = before.get("status") in {"in_progress", "completed", "failed"}
        restored_keys = ("kind", "rawInput", *(("title", "locations") if is_settled else ()))
        assert {k: after.get(k) for k in restored_keys if k in before} == {
            k: before[k] for k in restored_keys if k in before
        }
    elif before["is"] == "plan":
        assert after["entries"] == before["entries"]
    else:
        assert str(after["text"]).startswith(str(before["text"]))


def _check_not_older(after: Object, first: Sequence[Object], rest: Sequence[Object]) -> None:
    """A call is shown as it was at the end of `first`, or later; perhaps as nobody saw it yet."""
    for key in ("title", "locations") if after["is"] == "call" else ():
        earlier, later = (_values_of(key, after, updates) for updates in (first, rest))
        assert after.get(key) not in [each for each in earlier if each not in (earlier[-1], *later)]


def _values_of(key: str, call: Object, updates: Sequence[Object]) -> list[JsonValue]:
    ours = (each for each in updates if each.get("toolCallId") == call["toolCallId"])
    return [each[key] for each in ours if key in each]


async def _check_orphans(sleep: str) -> None:
    await wait_until(lambda: not running_commands(sleep))


def check_database(path: Path) -> None:
    """Check that a database is sound."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
