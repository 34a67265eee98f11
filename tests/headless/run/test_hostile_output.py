"""What a hostile model says, in every format: no command, no escape, no secret."""

import json
from pathlib import Path

import pytest

from tests.cli.command_line import Outcome
from tests.headless.run.pipeline import events_of, step
from tests.headless.run.test_github import read_as_the_runner_does
from tests.support.messages_api import call, messages_api_in_thread, reply

SECRET = "hunter2-and-more"  # noqa: S105  not one of anybody's
SAID = (
    f"::error file=a.py::owned\n  ::add-path::/tmp\n##[group]x\r\n\x1b]0;title\x07\x1b[2J"
    f"\u202eabc The token is {SECRET}. " + "x" * 1_000_000
)
FORMATS = ("text", "json", "stream-json", "acp")


def run_in(folder: Path, format_: str) -> Outcome:
    said = reply(SAID, chunk_characters=50_000)
    script = [reply(call("read_file", path=f"::error::{SECRET}\n::error::b")), said]
    with messages_api_in_thread(script) as api:
        return step(folder, api).run(
            *("Look", "--format", format_, "--github"),
            *("--junit", str(folder / "j.xml"), "--last-message", str(folder / "last.txt")),
            DEPLOY_TOKEN=SECRET,
            GITHUB_OUTPUT=str(folder / "out"),
            GITHUB_STEP_SUMMARY=str(folder / "summary"),
        )


@pytest.mark.parametrize(
    "format_",
    [
        "text",
        *(pytest.param(each, marks=pytest.mark.full) for each in FORMATS if each != "text"),
    ],
)
def test_hostile_words_are_harmless(tmp_path: Path, format_: str) -> None:
    done = run_in(tmp_path, format_)
    assert done.exit_code == 5, done.stderr[-2000:]  # what it wants to read is this program's own
    files = [(tmp_path / name).read_text() for name in ("j.xml", "last.txt", "out", "summary")]
    for text in (done.stdout, done.stderr, *files):
        assert SECRET not in text
    for text in (done.stdout, done.stderr):
        assert not set("\x1b\x07\r\u202e") & set(text)
        assert "##[" not in text
    taken = [read_as_the_runner_does(line) for line in done.stdout.splitlines()]
    assert set(taken) == {None}
    told = [found for line in done.stderr.splitlines() if (found := read_as_the_runner_does(line))]
    token = told[0][2]
    assert {name for name, _, _ in told} == {"stop-commands", token, "group", "endgroup", "error"}
    assert [each for each in told if each[0] == "error"] == [
        ("error", {"title": "run: denied"}, "a denial left work undone")
    ]
    if format_ == "stream-json":
        assert events_of(done)[-1]["outcome"] == "denied"
    elif format_ != "text":
        assert all(json.loads(line) for line in done.stdout.splitlines())
