"""What a hostile model says, in every format and every file: no command, no escape, no secret."""

import json
from pathlib import Path

import pytest

from tests.cli.command_line import CliResult
from tests.headless.run.junit_schema import problems_of
from tests.headless.run.pipeline import events_of, make_chat_step, make_step, parse_line
from tests.headless.run.repositories import create_repository, git
from tests.headless.run.test_github import read_as_the_runner_does
from tests.support.messages_api import ReplacedBytes, call, messages_api_in_thread, reply, think
from tests.support.openai_api import openai_api_in_thread

FULL = pytest.mark.full
SECRET = "hunter2-and-more"  # noqa: S105  not one of anybody's
SIGNS = "::error file=a.py::owned\n  ::add-path::/tmp\n##[group]x\r\n\x1b]0;title\x07\x1b[2J\u202e"
ANSWER_TEXT = f"{SIGNS}abc The token is {SECRET}. " + "x" * 1_000_000
CONTROL_CHARACTERS = set("\x1b\x07\r\u202e\x9b")
FORMATS = ("text", "json", "stream-json", "acp")
FILES = ("junit.xml", "last.txt", "output", "summary", "change.patch")
PER_FORMAT = ["text", *(pytest.param(each, marks=FULL) for each in FORMATS if each != "text")]


def run_in(folder: Path, format_: str) -> CliResult:
    """Have a hostile model do a task in a repository, with every output that there is."""
    create_repository(folder / "workspace", {"a.txt": f"kept {SECRET}\n".encode()})
    script = [
        reply(think(SIGNS + SECRET), call("read_file", path="a.txt")),
        reply(call("write_file", path="b.txt", content=f"{SIGNS}{SECRET}\n")),
        reply(call("terminal", command=f"make '::error::{SECRET}'\n##[error]\x1b[2J")),
        reply(ANSWER_TEXT, chunk_characters=50_000),
    ]
    with messages_api_in_thread(script) as api:
        return make_step(folder, api).run(
            *("Look", "--format", format_, "--github"),
            *("--junit", str(folder / "junit.xml"), "--last-message", str(folder / "last.txt")),
            *("--patch", str(folder / "change.patch")),
            DEPLOY_TOKEN=SECRET,
            GITHUB_OUTPUT=str(folder / "output"),
            GITHUB_STEP_SUMMARY=str(folder / "summary"),
        )


def commands_in(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the commands that GitHub's runner would take from a log, without the tokens."""
    found = [read_as_the_runner_does(line) for line in text.splitlines()]
    commands = [each for each in found if each is not None]
    tokens = {value for name, _, value in commands if name == "stop-commands"}
    return [each for each in commands if each[0] not in {"stop-commands", *tokens}]


@pytest.mark.parametrize("format_", PER_FORMAT)
def test_hostile_model_output_is_harmless(tmp_path: Path, format_: str) -> None:
    done = run_in(tmp_path, format_)
    assert done.exit_code == 5, done.stderr[-2000:]
    files = {name: (tmp_path / name).read_bytes().decode() for name in FILES}
    for text in (done.stdout, done.stderr, *files.values()):
        assert SECRET not in text
    for text in (done.stdout, done.stderr, *(files[name] for name in FILES[:-1])):
        assert not CONTROL_CHARACTERS & set(text)
    for text in (done.stdout, done.stderr):
        assert "##[" not in text
    assert commands_in(done.stdout) == []
    assert commands_in(done.stderr) == [
        ("group", {}, "acp-server run"),
        ("endgroup", {}, ""),
        ("error", {"title": "run: denied"}, "a denial left work undone"),
    ]
    if format_ == "stream-json":
        assert events_of(done)[-1]["outcome"] == "denied"
    elif format_ != "text":
        assert all(parse_line(line) for line in done.stdout.splitlines())
    assert problems_of(files["junit.xml"].encode()) == []
    assert files["output"].count("<<output_") == 6
    assert len(files["summary"].encode()) <= 1024 * 1024


@FULL
def test_the_patch_of_a_hostile_model_applies_and_adds_no_secret(tmp_path: Path) -> None:
    run_in(tmp_path, "json")
    fresh = create_repository(tmp_path / "fresh", {"a.txt": f"kept {SECRET}\n".encode()})
    git(fresh, "apply", str(tmp_path / "change.patch"))
    assert (fresh / "b.txt").read_bytes().decode() == f"{SIGNS}(hidden)\n"


@FULL
@pytest.mark.parametrize("format_", FORMATS)
def test_hostile_findings_are_harmless(tmp_path: Path, format_: str) -> None:
    words = f"{SIGNS}{SECRET}"
    finding = {"path": f"a.py,{words}", "severity": "error", "title": words, "message": words}
    with messages_api_in_thread([json.dumps({"findings": [finding]})]) as api:
        done = make_step(tmp_path, api).run(
            *("Review", "--mode", "plan", "--findings", "--github", "--format", format_),
            *("--junit", str(tmp_path / "junit.xml")),
            DEPLOY_TOKEN=SECRET,
        )
    assert done.exit_code == 6, done.stderr
    junit = (tmp_path / "junit.xml").read_text()
    for text in (done.stdout, done.stderr, junit):
        assert SECRET not in text
        assert not CONTROL_CHARACTERS & set(text)
    assert problems_of(junit.encode()) == []
    assert commands_in(done.stdout) == []
    names = [name for name, _, _ in commands_in(done.stderr)]
    assert names == ["group", "endgroup", "error", "error"]


@pytest.mark.parametrize("format_", PER_FORMAT)
@pytest.mark.parametrize("form", ["chat", pytest.param("messages", marks=FULL)])
def test_invalid_utf8_bytes_are_harmless(tmp_path: Path, form: str, format_: str) -> None:
    """Where the wire's reader takes them they are replaced; else the provider has failed."""
    wrong = ReplacedBytes("WRONG", b"\xff\xc3(\xed\xa0\x80\xf5")
    script = [reply("Before WRONG behind", faults=[wrong])] * 2
    arguments = ("Look", "--format", format_, "--max-retries", "1", "--github")
    files = ("--junit", str(tmp_path / "j.xml"), "--last-message", str(tmp_path / "last.txt"))
    if form == "messages":
        with messages_api_in_thread(script) as api:
            done = make_step(tmp_path, api).run(*arguments, *files)
        assert done.exit_code == 75
    else:
        with openai_api_in_thread(script) as api:
            done = make_chat_step(tmp_path, api).run(*arguments, *files)
        assert done.exit_code == 0, done.stderr
        assert (tmp_path / "last.txt").read_text().startswith("Before \ufffd")
    assert problems_of((tmp_path / "j.xml").read_bytes()) == []
    if format_ == "stream-json":
        events_of(done)
