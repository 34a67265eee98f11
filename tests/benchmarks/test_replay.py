"""Transcripts of other agents are read and replayed: reads by size, edits by their effect."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.text.json_values import Object
from tests.benchmarks.replay import replay_all

LINES = [f"line {number} of a file like any other" for number in range(1, 61)]
TEXT = "".join(f"{line}\n" for line in LINES)


EDITED = TEXT.replace("line 7 ", "line 8 ")
STRINGS = {"old_string": "line 7 ", "new_string": "line 8 "}


def claude_code() -> str:
    """A read, an edit and a second read, as Claude Code stores them."""
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(LINES, 1))
    shown = f"{numbered}\n\n<system-reminder>Mind the cat.</system-reminder>"
    texts = {"originalFile": TEXT, "oldString": "line 7 ", "newString": "line 8 "}
    read = {"file_path": "/a.py"}, {"type": "text", "file": {"totalLines": 60}}, shown
    edit = {"file_path": "/a.py", **STRINGS}, {**texts, "replaceAll": False}, "ok"
    entries: list[str] = []
    for number, (call, result, text) in enumerate((read, edit, read)):
        use = {"type": "tool_use", "id": f"{number}", "input": call}
        answer = {"type": "tool_result", "tool_use_id": f"{number}", "content": text}
        entries.append(json.dumps({"message": {"content": [use]}}))
        entries.append(json.dumps({"message": {"content": [answer]}, "toolUseResult": result}))
    return "\n".join(entries)


def opencode() -> str:
    """Two reads, as OpenCode exports them."""
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(LINES, 1))
    end = "(End of file - total 60 lines)"
    output = f"<path>/a.py</path>\n<content>{numbered}\n\n{end}\n</content>"
    state = {"status": "completed", "input": {"filePath": "/a.py"}, "output": output}
    part = {"type": "tool", "tool": "read", "state": state}
    return json.dumps({"messages": [{"parts": [part, part]}]})


def gemini_calls() -> list[JsonValue]:
    """A read, an edit and a second read of Gemini CLI."""
    result: JsonValue = [{"functionResponse": {"response": {"output": TEXT}}}]
    done: Object = {"status": "success", "result": result}
    texts: Object = {"originalContent": TEXT, "newContent": EDITED}
    read: Object = {**done, "name": "read_file", "args": {"file_path": "a.py"}}
    edit: Object = {**done, "name": "replace", "args": {"file_path": "a.py", **STRINGS}}
    return [{"id": "1", **read}, {"id": "2", **edit, "resultDisplay": texts}, {"id": "3", **read}]


def gemini_cli() -> str:
    """The calls as Gemini CLI stores them."""
    entries: tuple[JsonValue, ...] = ({"projectHash": "x"}, {"toolCalls": gemini_calls()})
    return "\n".join(map(json.dumps, entries))


def old_gemini_cli() -> str:
    """The calls as Gemini CLI stored them at first: one object."""
    return json.dumps({"projectHash": "x", "messages": [{"toolCalls": gemini_calls()}]}, indent=1)


@pytest.mark.parametrize(
    ("agent", "transcript", "edits"),
    [
        ("Claude Code", claude_code, 1),
        ("OpenCode", opencode, 0),
        ("Gemini CLI", gemini_cli, 1),
        ("Gemini CLI", old_gemini_cli, 1),
    ],
)
async def test_a_transcript_is_replayed(
    tmp_path: Path, agent: str, transcript: Callable[[], str], edits: int
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(transcript())
    (found,) = (await replay_all([path])).items()
    name, figures = found
    assert (name, figures.reads, figures.applied, figures.unchanged) == (agent, 2, edits, 1)
    assert (figures.further_calls, figures.different, figures.refused) == (0, [], [])
    assert len(TEXT) < figures.our_bytes < figures.their_bytes <= figures.received_bytes


async def test_an_edit_with_another_effect_is_counted_as_different(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(gemini_cli().replace('"newContent": "line 1 ', '"newContent": "line 2 '))
    figures = (await replay_all([path]))["Gemini CLI"]
    assert (figures.applied, len(figures.different)) == (0, 1)
