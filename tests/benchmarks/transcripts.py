"""Reads and edits in transcripts of other agents: Claude Code, OpenCode and Gemini CLI.

A transcript becomes the steps that matter to a replay, with what the model was sent at that time.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from acp_server.text.json_values import Object, as_list, as_object, as_objects, as_text

_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>", re.DOTALL)
_CLAUDE_LINE = re.compile(r"^ *(\d+)[→\t](.*)$")
_OPENCODE_LINE = re.compile(r"^(?:file_)?(\d+)(?:\||:) (.*)$")
_OPENCODE_TOTAL = re.compile(r"(?:total|of) (\d+)(?: lines)?")
_GEMINI_RANGE = re.compile(r"Showing lines (\d+)-\d+ of (\d+) total lines\.")
_GEMINI_CONTENT = "--- FILE CONTENT (truncated) ---\n"


@dataclass(frozen=True, slots=True)
class Read:
    """A file that the model read, and the lines that it was shown."""

    path: str
    offset: int | None
    limit: int | None
    result: str
    """The result as the model received it."""
    lines: Sequence[str]
    first_line: int
    total_lines: int

    @property
    def plain_result(self) -> str:
        """The result without reminders that the agent adds to its results."""
        return _REMINDER.sub("", self.result)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement that the model asked for, and the file's texts before and after it."""

    path: str
    old: str
    new: str
    replace_all: bool
    before: str
    after: str | None
    """None if the agent refused the edit."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The results before this are no longer in the conversation."""


Step = Read | Edit | Compaction


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation."""

    family: str
    steps: Sequence[Step]


def load_transcript(path: Path) -> Transcript:
    """Load a transcript of any of the three agents."""
    text = path.read_text(encoding="utf-8", errors="replace")
    whole = _parse_json(text)
    if "projectHash" in whole:  # as older versions of Gemini CLI store it
        return Transcript("Gemini CLI", tuple(_gemini_steps(as_objects(whole.get("messages")))))
    if whole.get("messages"):
        return Transcript("OpenCode", tuple(_opencode_steps(whole)))
    entries = [entry for line in text.split("\n") if (entry := _parse_json(line))]
    if entries and "projectHash" in entries[0]:
        return Transcript("Gemini CLI", tuple(_gemini_steps(entries)))
    return Transcript("Claude Code", tuple(_claude_steps(entries)))


def _parse_json(text: str) -> Object:
    """Return a JSON object; empty if it is none."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return {}
    return as_object(value)


def _claude_steps(entries: Sequence[Object]) -> Iterator[Step]:
    calls: dict[str, Object] = {}
    for entry in entries:
        if entry.get("isCompactSummary"):
            yield Compaction()
        for block in as_objects(as_object(entry.get("message")).get("content")):
            calls[as_text(block.get("id"))] = as_object(block.get("input"))
            if block.get("type") == "tool_result":
                call = calls.get(as_text(block.get("tool_use_id")), {})
                result = as_object(entry.get("toolUseResult"))
                text = _text_of(block.get("content"))
                yield from _claude_step(call, result, text)


def _claude_step(call: Object, result: Object, text: str) -> Iterator[Step]:
    file = as_object(result.get("file"))
    path = as_text(call.get("file_path"))
    before, old = result.get("originalFile"), result.get("oldString")
    if result.get("type") == "text" and path:
        yield _numbered_read(
            path, call, text, _CLAUDE_LINE, _number(file.get("totalLines")), "offset", "limit"
        )
    elif isinstance(before, str) and isinstance(old, str):
        new = as_text(result.get("newString"))
        replace_all = result.get("replaceAll") is True
        # Claude Code finds straight quotes where the file has curly ones.
        after = before.replace(old, new, -1 if replace_all else 1) if old in before else None
        asked_old = as_text(call.get("old_string")) or old
        asked_new = call.get("new_string")
        asked_new = asked_new if isinstance(asked_new, str) else new
        yield Edit(path, asked_old, asked_new, replace_all, before, after)


def _numbered_read(  # noqa: PLR0913, PLR0917  a result and how to read it
    path: str,
    call: Object,
    text: str,
    form: re.Pattern[str],
    total_lines: int,
    offset: str,
    limit: str,
) -> Read:
    found = [match for line in text.split("\n") if (match := form.match(line))]
    lines = [match[2] for match in found]
    first_line = int(found[0][1]) if found else 1
    return Read(
        path,
        _number(call.get(offset)) or None,
        _number(call.get(limit)) or None,
        text,
        lines,
        first_line,
        max(total_lines, first_line - 1 + len(lines)),
    )


def _opencode_steps(session: Object) -> Iterator[Step]:
    for message in as_objects(session.get("messages")):
        for part in as_objects(message.get("parts")):
            state = as_object(part.get("state"))
            call, output = as_object(state.get("input")), as_text(state.get("output"))
            is_done = state.get("status") == "completed"
            if part.get("type") == "compaction":
                yield Compaction()
            elif part.get("tool") == "read" and is_done and "<content>" in output:
                content = output.partition("</content>")[0]
                total = _OPENCODE_TOTAL.findall(content.rpartition("\n(")[2])
                path = as_text(call.get("filePath"))
                total_lines = int(total[-1]) if total else 0
                yield _numbered_read(
                    path, call, output, _OPENCODE_LINE, total_lines, "offset", "limit"
                )


def _gemini_steps(entries: Sequence[Object]) -> Iterator[Step]:
    calls: dict[str, Object] = {}
    for entry in entries:
        messages = [entry, *as_objects(as_object(entry.get("$set")).get("messages"))]
        for call in (call for each in messages for call in as_objects(each.get("toolCalls"))):
            if call.get("result"):
                calls.setdefault(as_text(call.get("id")), call)
    texts: dict[str, str] = {}
    for call in calls.values():
        arguments = as_object(call.get("args"))
        path = as_text(arguments.get("file_path") or arguments.get("absolute_path"))
        display, is_done = as_object(call.get("resultDisplay")), call.get("status") == "success"
        if call.get("name") == "read_file" and is_done:
            read = _gemini_read(path, arguments, _gemini_output(call))
            if read.total_lines == len(read.lines):
                texts[path] = "\n".join(read.lines)
            yield read
        elif call.get("name") == "replace":
            before = display.get("originalContent")
            before = before if isinstance(before, str) else texts.get(path)
            after = display.get("newContent") if is_done else None
            if isinstance(before, str):
                replace_all = arguments.get("allow_multiple") is True
                old, new = (as_text(arguments.get(f"{name}_string")) for name in ("old", "new"))
                yield Edit(
                    path, old, new, replace_all, before, after if isinstance(after, str) else None
                )
        if isinstance(display.get("newContent"), str):
            texts[path] = as_text(display.get("newContent"))


def _gemini_output(call: Object) -> str:
    for part in as_objects(call.get("result")):
        response = as_object(as_object(part.get("functionResponse")).get("response"))
        return as_text(response.get("output"))
    return ""


def _gemini_read(path: str, arguments: Object, result: str) -> Read:
    text = result.partition(_GEMINI_CONTENT)[2] or result
    lines = text.removesuffix("\n").split("\n")
    shown = _GEMINI_RANGE.search(result) if text is not result else None
    first_line = int(shown[1]) if shown else 1
    offset = _number(arguments.get("start_line")) or None
    end = _number(arguments.get("end_line"))
    limit = end - (offset or 1) + 1 if end else None
    total_lines = int(shown[2]) if shown else len(lines)
    return Read(path, offset, limit, result, lines, first_line, total_lines)


def _text_of(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(as_text(as_object(each).get("text")) for each in as_list(content))


def _number(value: JsonValue) -> int:
    """Return an integer, also if it is written as text; 0 for any other value."""
    if isinstance(value, (int, float)):
        return int(value)
    return int(value) if isinstance(value, str) and value.isdecimal() else 0
