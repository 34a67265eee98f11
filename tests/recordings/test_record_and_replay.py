"""Record a run and replay it elsewhere: another workspace and home, no key, no endpoint."""

import json
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_server.models.recordings.exchange import Exchange, load_exchanges
from tests.cli.command_line import CliResult, run
from tests.headless.run.pipeline import MODEL, Object, parse_line
from tests.support import messages_api, openai_api
from tests.support.messages_api import (
    KEY,
    CutAfterEvents,
    FakeApiServerInThread,
    ScriptedTurn,
    call,
    messages_api_in_thread,
    overloaded,
    reply,
)
from tests.support.openai_api import OpenAiServerConfig, openai_api_in_thread

FORMS = ("messages", "chat", "responses")
CUSTOM = (
    "model: {{provider: custom, default: gpt-4.1, base_url: '{url}', api_key: {key}, {mode}}}\n"
)
SECRET = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
NOTES = f"token: {SECRET}\nThe answer is 42.\n"


@contextmanager
def serve(form: str, script: Sequence[ScriptedTurn]) -> Generator[FakeApiServerInThread]:
    if form == "messages":
        with messages_api_in_thread(script) as api:
            yield api
        return
    config = OpenAiServerConfig(form="responses" if form == "responses" else "chat")
    with openai_api_in_thread(script, config) as api:
        yield api


def prepare(folder: Path, form: str, url: str = "") -> dict[str, str]:
    """Create a workspace and a home; return the variables that select the endpoint, if any."""
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "notes.txt").write_text(NOTES)
    (folder / "home").mkdir()
    if not url:
        return {}
    if form == "messages":
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": messages_api.KEY,
            "ACP_SERVER_MODEL": MODEL,
        }
    mode = "api_mode: responses" if form == "responses" else "api_mode: chat_completions"
    text = CUSTOM.format(url=url, key=openai_api.KEY, mode=mode)
    (folder / "home" / "config.yaml").write_text(text)
    return {}


def run_task(folder: Path, *arguments: str, **variables: str) -> tuple[CliResult, Object]:
    command = ("run", "--cwd", str(folder / "workspace"), "--format", "json", *arguments)
    done = run(folder / "home", *command, **variables)
    assert done.stdout.count("\n") == 1, done
    return done, parse_line(done.stdout)


def recorded_task(folder: Path) -> list[ScriptedTurn]:
    """Return a script that reads a file, writes one by its path, and repeats the secret."""
    target = str(folder / "workspace" / "answer.txt")
    return [
        reply(call("read_file", path="notes.txt")),
        reply(call("write_file", path=target, content="42\n")),
        f"Written to {target}, with {SECRET}.",
    ]


def model_exchanges(tape: Path) -> list[Exchange]:
    """Return the exchanges with a model, without those that list the models."""
    return [each for each in load_exchanges(tape) if each.method == "POST"]


@pytest.fixture(
    params=[
        # Both forms of the other API are recorded and replayed by the same code.
        pytest.param(each, marks=pytest.mark.full if each == "chat" else ())
        for each in FORMS
    ]
)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_run_is_replayed_elsewhere_without_a_key_and_does_the_same(
    tmp_path: Path, form: str
) -> None:
    there, here, tape = tmp_path / "there", tmp_path / "here", tmp_path / "tape"
    with serve(form, recorded_task(there)) as api:
        variables = prepare(there, form, api.url)
        _, first = run_task(there, "Write it down", "--record", str(tape), **variables)
    assert (there / "workspace" / "answer.txt").read_text() == "42\n", first

    check_recording(tape, SECRET, KEY, openai_api.KEY, str(tmp_path))
    prepare(here, form)
    done, second = run_task(here, "Write it down", "--replay", str(tape), "--strict")
    assert (second["outcome"], second["model"]) == ("done", first["model"]), done
    assert second["replay"] == {"exact": 3, "nearest": [], "missing": [], "unused": []}
    assert (here / "workspace" / "answer.txt").read_text() == "42\n"
    # Paths of the recording's workspace are those of this one.
    assert str(second["text"]).startswith(f"Written to {here}/workspace/answer.txt")
    assert second["usage"] == first["usage"]


def check_recording(tape: Path, *hidden: str) -> None:
    """Check that a recording is private, small, and contains none of these texts."""
    files = [path for path in tape.rglob("*") if path.is_file()]
    text = "".join(file.read_text() for file in files)
    assert [each for each in hidden if each in text] == []
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(tape.stat().st_mode) == 0o700
    # Tools and system prompt are kept once.
    assert len(model_exchanges(tape)) == 3
    assert sum(file.stat().st_size for file in files) < 120_000


def test_a_changed_prompt_is_answered_by_the_nearest_request_and_the_difference_is_named(
    tmp_path: Path,
) -> None:
    there, here, tape = tmp_path / "there", tmp_path / "here", tmp_path / "tape"
    with serve("chat", recorded_task(there)) as api:
        prepare(there, "chat", api.url)
        run_task(there, "Write it down", "--record", str(tape))
    prepare(here, "chat")
    (here / "workspace" / "AGENTS.md").write_text("Write British English.\n")
    done, result = run_task(here, "Note it down", "--replay", str(tape))
    assert result["outcome"] == "done", done
    replay = result["replay"]
    assert isinstance(replay, dict)
    assert (replay["exact"], replay["missing"], replay["unused"]) == (0, [], [])
    differences = json.dumps(replay["nearest"])
    assert differences.count("unlike") == 0
    assert "the system prompt:" in differences
    assert "+Write British English." in differences
    assert "-content: Write it down" in differences
    assert "+content: Note it down" in differences
    assert "replay: 0 exact, 3 by the nearest request" in done.stderr


def test_strict_replay_refuses_a_request_that_differs(tmp_path: Path) -> None:
    there, here, tape = tmp_path / "there", tmp_path / "here", tmp_path / "tape"
    with serve("messages", ["Yes."]) as api:
        variables = prepare(there, "messages", api.url)
        run_task(there, "Look", "--record", str(tape), **variables)
    prepare(here, "messages")
    done, result = run_task(here, "Look again", "--replay", str(tape), "--strict")
    assert (done.exit_code, result["text"]) == (1, "")
    assert "differs from the recorded one (--strict): message 1 (user)" in str(result["reason"])


def test_retries_and_broken_answers_are_replayed_as_they_happened(tmp_path: Path) -> None:
    there, here, tape = tmp_path / "there", tmp_path / "here", tmp_path / "tape"
    script = [overloaded(), reply("Half of it", faults=[CutAfterEvents(4)]), "The rest."]
    with serve("messages", script) as api:
        variables = prepare(there, "messages", api.url)
        _, first = run_task(there, "Look", "--record", str(tape), **variables)
    prepare(here, "messages")
    _, second = run_task(here, "Look", "--replay", str(tape), "--strict")
    assert (second["outcome"], second["text"]) == (first["outcome"], first["text"])
    assert [each.status for each in model_exchanges(tape)] == [529, 200, 200]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--record", "{tape}", "--replay", "{tape}"), "cannot be used together"),
        (("--replay", "{tape}"), "holds no recording"),
    ],
)
def test_options_that_cannot_work_are_usage_errors(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    prepare(tmp_path, "messages")
    (tmp_path / "tape").mkdir()
    given = [each.format(tape=tmp_path / "tape") for each in arguments]
    done, result = run_task(tmp_path, "Look", *given)
    assert done.exit_code == 2
    assert reason in str(result["reason"])
