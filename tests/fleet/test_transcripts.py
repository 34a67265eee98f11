"""Transcripts of attempts: bounded files, and their page in the report."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.fleet import transcripts
from acp_server.fleet.reports.html_escaper import HtmlEscaper
from acp_server.fleet.reports.html_transcript import (
    MAX_TEXT_CHARACTERS,
    MAX_TRANSCRIPT_CHARACTERS,
    transcript_pieces,
)
from acp_server.fleet.transcripts import parse_transcript, read_transcript

Event = dict[str, JsonValue]


def write(file: Path, *events: Event, rest: str = "") -> Path:
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events) + rest)
    return file


def page_of(*events: Event) -> str:
    return "".join(transcript_pieces(events, HtmlEscaper(str), "one.transcript.jsonl"))


def test_a_transcript_begins_with_the_task_and_has_whole_events_only(tmp_path: Path) -> None:
    file = write(tmp_path / "t", {"type": "message", "text": "Hello"}, rest='{"type": "mess')
    read = read_transcript(file, "Do it")
    assert [*parse_transcript(read.decode())] == [
        {"type": "prompt", "text": "Do it"},
        {"type": "message", "text": "Hello"},
    ]
    assert read_transcript(tmp_path / "missing", "Do it") == b""


def test_a_long_transcript_loses_its_middle_and_says_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MAX_BYTES", 500)
    messages: list[Event] = [{"type": "message", "text": f"{n:03}"} for n in range(100)]
    file = write(tmp_path / "t", *messages)
    events = [*parse_transcript(read_transcript(file, "Go").decode())]
    cut = next(each for each in events if each["type"] == "cut")
    kept = [each for each in events if each["type"] == "message"]
    assert (events[1]["text"], events[-1]["text"]) == ("000", "099")
    assert cut["bytes"] == (len(messages) - len(kept)) * len(json.dumps(messages[0]) + "\n")


def test_a_call_opens_to_its_input_and_output() -> None:
    page = page_of(
        {"type": "run", "version": 1},
        {"type": "prompt", "text": "Fix <it>"},
        {"type": "thought", "text": "Well"},
        {
            "type": "tool_call",
            "id": "a",
            "kind": "execute",
            "title": "`ls`",
            "input": {"command": "ls"},
        },
        {"type": "tool_result", "id": "a", "status": "failed", "output": {"text": "no <b>"}},
        {"type": "tool_call", "id": "b", "kind": "read", "title": "x"},
        {"type": "denied", "tool": "terminal", "reason": "{tool} is not allowed"},
        {"type": "plan", "entries": [{"content": "first", "status": "completed"}]},
        {"type": "message", "text": "Done."},
        {"type": "unknown"},
    )
    assert "<h4>Task</h4><pre>Fix &lt;it&gt;</pre>" in page
    assert '<summary>execute: `ls` <b class="bad">failed</b></summary>' in page
    assert "&quot;command&quot;: &quot;ls&quot;" in page
    assert "<h4>Output</h4><pre>no &lt;b&gt;</pre>" in page
    assert '<summary>read: x <b class="skip">not ended</b></summary>' in page
    assert "denied terminal: {tool} is not allowed" in page
    assert "✓ first" in page
    assert page.endswith("<h4>Agent</h4><pre>Done.</pre>")


def test_a_page_has_the_ends_of_long_transcripts_and_the_beginning_of_long_texts() -> None:
    long: Event = {"type": "message", "text": "x" * (MAX_TEXT_CHARACTERS + 7)}
    assert "<i>7 more characters</i>" in page_of(long)
    ends: list[Event] = [{"type": "message", "text": text} for text in ("first", "last")]
    page = page_of(ends[0], *[long] * 100, ends[1])
    assert len(page) < MAX_TRANSCRIPT_CHARACTERS + 100
    shown = page.count("<h4>Agent</h4>")
    assert f"{102 - shown} more messages and calls are in one.transcript.jsonl</p>" in page
    assert page.startswith("<h4>Agent</h4><pre>first</pre>")
    assert page.endswith("<pre>last</pre>")
