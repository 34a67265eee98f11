"""A skill with a key calls an API on this machine from the sandbox; nobody else reads the key."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typing_extensions import override

from tests.journeys.day import Day, DayConfig, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer
from tests.support.messages_api import call

KEY = "wk-4711/zürich+key=="
TYPED = "typed-by-the-user-0815"
SKILL = """\
---
name: weather
description: Asks the weather service. Use it for any question about the weather.
required_environment_variables:
  - {name: WEATHER_KEY, help: See example.com/keys.}
  - {name: WEATHER_TOKEN, help: Ask the operator.}
prerequisites: {env_vars: [WEATHER_PORT]}
---

1. `python3 $HERMES_SKILL_DIR/ask.py` with the header `Authorization: Bearer $WEATHER_KEY`.
"""
ASK = """\
import json, os, sys, urllib.request
key = os.environ["WEATHER_KEY"]
request = urllib.request.Request(
    f"http://127.0.0.1:{sys.argv[1]}/weather",
    headers={
        "Authorization": "Bearer " + key.encode().hex(),
        "X-Token": os.environ["WEATHER_TOKEN"],
    },
)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(request).read().decode())
print(json.dumps({"sent": key}), "port", os.environ["WEATHER_PORT"])
for part in (key[:7], key[7:], "\\n"):
    print(part, end="", flush=True)
"""
TITLE = (
    "Let commands of this session use WEATHER_KEY, WEATHER_TOKEN, WEATHER_PORT for the skill "
    "weather?"
)
GOAL = "Read the key of the weather service."
FLOOD = """python3 -c 'import os
for i in range(40000): print(i, os.environ["WEATHER_KEY"])'"""


@contextmanager
def weather_service(seen: list[str]) -> Generator[int]:
    """Serve an API that wants the key, and echoes it; `seen` gets what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = self.headers["Authorization"].removeprefix("Bearer ")
            seen.append(bytes.fromhex(sent).decode())
            seen.append(self.headers["X-Token"])
            data = f"It rains. You are {seen[-2]}.".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @override
        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def lay_home(home: Path) -> None:
    skill = home / "skills" / "weather"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "ask.py").write_text(ASK)
    (home / ".env").write_text(f"# mine\nWEATHER_KEY='{KEY}'\nWEATHER_PORT=8080\n")
    (home / ".env").chmod(0o644)


def answer(question: AskedQuestion) -> str | FormAnswer:
    """Type the missing value, and let the skill have its variables in this session."""
    if question.kind == "form":
        return {"answer": TYPED}
    return "allow_session" if "for the skill" in question.text else "allow_once"


def spoken(day: Day) -> str:
    """Return all that reached the client and the model."""
    requests = [each.body for each in day.api.model_requests]
    return json.dumps([day.server.messages, requests], ensure_ascii=False, default=str)


def ask_the_weather(port: int, skill: Path) -> Callable[[ShownRequest], ModelProgram]:
    def program(shown: ShownRequest) -> ModelProgram:
        shown = yield call("skill_view", name="weather")
        assert "in outputs its value is [WEATHER_KEY]" in shown.text
        shown = yield call("terminal", command=f"python3 {skill}/ask.py {port}", network=True)
        assert "It rains. You are [WEATHER_KEY]." in shown.text
        assert '{"sent": "[WEATHER_KEY]"} port 8080' in shown.text
        assert "\n[WEATHER_KEY]" in shown.text
        shown = yield call("terminal", command=FLOOD)
        assert "39999 [WEATHER_KEY]" in shown.text
        shown = yield call(
            "terminal", command='sleep 0.1; echo "<$WEATHER_KEY>"; sleep 60', background=True
        )
        job = shown.find(r"session_id (proc_\w+)")[1]
        shown = yield call("process", action="wait_for", session_id=job, pattern="<")
        assert "<[WEATHER_KEY]>" in shown.text
        yield call("process", action="kill", session_id=job)
        yield call("skill_view", name="weather")
        shown = yield call("delegate_task", goal=GOAL)
        assert "Read <[WEATHER_KEY]>." in shown.text
        return "It rains."

    return program


def read_the_key(shown: ShownRequest) -> ModelProgram:
    """Play a sub-agent, which asks nobody: its session may use the variables."""
    yield call("skill_view", name="weather")
    shown = yield call("terminal", command='echo "<$WEATHER_KEY>"')
    return f"Read {shown.find('<.*>')[0]}."


def keep_out(shown: ShownRequest) -> ModelProgram:
    shown = yield call("terminal", command='echo "<$WEATHER_KEY>"')
    assert "<>" in shown.text
    return "No key."


def test_a_skill_with_a_key_calls_its_api_and_the_key_is_nowhere_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    lay_home(home)
    with weather_service(seen) as port, open_day(tmp_path, DayConfig()) as day:
        day.user.policy = answer
        session = day.open_session(work)
        day.seat.play(GOAL, read_the_key, session.name)
        session.prompt("How is the weather?", ask_the_weather(port, home / "skills/weather"))
        other = day.open_session(work, "other")
        other.prompt("Have you got a key?", keep_out)
        assert seen == [KEY, TYPED]
        questions = [each for each in day.user.questions if "for the skill" in each.text]
        assert [each.text for each in questions] == [TITLE]
        asked = json.dumps(questions[0].request)
        assert "WEATHER_PORT is shorter than 8 characters" in asked
        (form,) = [each for each in day.user.questions if each.kind == "form"]
        assert "needs WEATHER_TOKEN. The skill's author says: Ask the operator." in form.text
        said = spoken(day)
        assert "[WEATHER_KEY]" in said
        day.stop()
        day.start()
    assert (home / ".env").read_text().endswith(f"WEATHER_PORT=8080\nWEATHER_TOKEN={TYPED}\n")
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    kept = [each for each in home.rglob("*") if each.is_file() and each.name != ".env"]
    assert any(each.name == "sessions.db" for each in kept)
    texts = [said.encode(), *(each.read_bytes() for each in kept), caplog.text.encode()]
    for secret in (KEY, TYPED, json.dumps(KEY)[1:-1]):
        assert [index for index, each in enumerate(texts) if secret.encode() in each] == []
