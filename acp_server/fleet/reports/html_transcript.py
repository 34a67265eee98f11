"""Transcript of a unit in the HTML report: messages, and calls that open to input and output."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate

from pydantic import JsonValue

from acp_server.fleet.reports.html_escaper import HtmlEscaper
from acp_server.text.json_values import Object, as_objects, as_text

MAX_TEXT_CHARACTERS = 4_000
MAX_TRANSCRIPT_CHARACTERS = 120_000
"""Of HTML, per unit: a report of hundreds of units must still open in a browser."""
_STATES = {"completed": "done", "failed": "failed", "": "not ended"}
_NOTES = {
    "denied": "denied {tool}: {reason}",
    "notice": "{title}",
    "mode": "mode: {mode}",
    "compaction": "the conversation was shortened: {status}",
    "cut": "{bytes} bytes of this transcript were left out",
}
_MARKS = {"completed": "✓", "in_progress": "▸"}


def transcript_pieces(events: Iterable[Object], text: HtmlEscaper, file: str) -> Iterator[str]:
    """Yield the HTML of a transcript; of a long one the beginning and the end.

    `file` is the name of the file that has all of it.
    """
    found = [*events]
    results = {as_text(each.get("id")): each for each in found if each["type"] == "tool_result"}
    pieces = [piece for each in found if (piece := _piece(each, results, text))]
    first = _count_that_fit(pieces)
    last = _count_that_fit(pieces[first:][::-1])
    yield from pieces[:first]
    if hidden := len(pieces) - first - last:
        yield f'<p class="note">{hidden} more messages and calls are in {text.line(file)}</p>'
    yield from pieces[len(pieces) - last :]


def _count_that_fit(pieces: Sequence[str]) -> int:
    """Return how many pieces fit into half of a transcript."""
    sizes = accumulate(map(len, pieces))
    return sum(size <= MAX_TRANSCRIPT_CHARACTERS // 2 for size in sizes)


def _piece(event: Object, results: dict[str, Object], text: HtmlEscaper) -> str:
    """Return the HTML of one event; empty if it says nothing to a reader."""
    kind = as_text(event.get("type"))
    if kind in _NOTES:
        # The values are no templates: only ours is.
        return _note(_NOTES[kind].format_map(defaultdict(str, event)), text)
    match kind:
        case "prompt" | "message":
            title = "Task" if kind == "prompt" else "Agent"
            return f"<h4>{title}</h4>{_block(event.get('text'), text)}"
        case "thought":
            return _step("Thought", "", _block(event.get("text"), text))
        case "tool_call":
            return _call(event, results.get(as_text(event.get("id"))), text)
        case "plan":
            return _block("\n".join(_plan_lines(event)), text)
        case _:
            return ""


def _call(call: Object, result: Object | None, text: HtmlEscaper) -> str:
    state = _STATES.get(as_text((result or {}).get("status")), "done")
    given = call.get("input")
    content = ""
    if given is not None:
        content += f"<h4>Input</h4>{_block(json.dumps(given, indent=1, ensure_ascii=False), text)}"
    if output := _output_of(result or {}):
        content += f"<h4>Output</h4>{_block(output, text)}"
    title = f"{text.line(_word(call, 'kind'))}: {text.line(_word(call, 'title'))}"
    kind = "bad" if state == "failed" else "ok" if state == "done" else "skip"
    return _step(title, f'<b class="{kind}">{escape(state)}</b>', content)


def _output_of(result: Object) -> str:
    """Return the text that the model was given; a call's own text has fences for editors."""
    output = result.get("output")
    told = as_text(output.get("text")) if isinstance(output, dict) else ""
    return told or as_text(result.get("text"))


def _step(title: str, state: str, content: str) -> str:
    return f'<details class="step"><summary>{title} {state}</summary>{content}</details>'


def _block(value: JsonValue, text: HtmlEscaper) -> str:
    return f"<pre>{text.cut_block(as_text(value).strip(), MAX_TEXT_CHARACTERS)}</pre>"


def _note(line: str, text: HtmlEscaper) -> str:
    return f'<p class="note">{text.line(line)}</p>'


def _word(event: Object, name: str) -> str:
    return as_text(event.get(name))


def _plan_lines(event: Object) -> Iterator[str]:
    for entry in as_objects(event.get("entries")):
        yield f"{_MARKS.get(_word(entry, 'status'), '·')} {_word(entry, 'content')}"
