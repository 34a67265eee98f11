"""Converts a stored session to a readable transcript, Markdown, JSON or JSON Lines.

Readable forms omit reasoning; JSON Lines contains all stored data.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

from pydantic import JsonValue

from acp_server.cli.screen import printable
from acp_server.history.codec import encode
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    SessionFacts,
    StoredSession,
    TaskMessage,
)
from acp_server.session.ports.session_search import PastSession
from acp_server.text.surrogates import repair_surrogates
from acp_server.turn.conversation import Text, ToolCall, ToolResult, UserMessage, prompt_to_text
from acp_server.turn.events import (
    CompactionChanged,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SummaryChunk,
    ThoughtChunk,
)

Speaker = Literal["user", "assistant", "tool", "plan", "notice", "task"]
HEADINGS: dict[Speaker, str] = {"user": "User", "assistant": "Assistant"}
"""Speakers with a heading in Markdown; the other entries become quotes below them."""
PLAN_CHECKBOXES = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One entry of a transcript: a message, tool call, plan or notice."""

    speaker: Speaker
    text: str


def transcript_entries(
    entries: Iterable[Entry], *, with_tasks: bool = False
) -> Iterator[TranscriptEntry]:
    """Yield the entries shown to the user, without reasoning; `with_tasks` adds sub-agents."""
    for each in entries:
        if isinstance(each, TaskMessage) and with_tasks:
            for text in _task_texts(each):
                yield TranscriptEntry("task", repair_surrogates(text))
        speaker, text = _speech_of(each)
        if text.strip():
            yield TranscriptEntry(speaker, repair_surrogates(text))


def facts_as_json(facts: SessionFacts) -> dict[str, JsonValue]:
    """Return the metadata of a session."""
    usage = facts.usage.usage
    return {
        "id": facts.id,
        "title": repair_surrogates(facts.title),
        "cwd": repair_surrogates(str(facts.cwd)),
        "created_at": facts.created_at.isoformat(),
        "updated_at": facts.updated_at.isoformat(),
        "mode": facts.mode,
        "model_id": facts.model_id,
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": facts.usage.cost_usd,
    }


def search_facts_as_json(session: PastSession) -> dict[str, JsonValue]:
    """Return the metadata of a session found by a search."""
    return {
        "id": session.id,
        "source": session.source,
        "title": session.title,
        "cwd": session.cwd,
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }


def json_lines(stored: StoredSession) -> Iterator[str]:
    """Yield all stored data as one JSON object per line: session, UI entries, model messages."""
    session: JsonValue = {"session": facts_as_json(stored.facts)}
    yield json.dumps(session, ensure_ascii=False)
    for entry in stored.entries:
        yield f'{{"entry": {repair_surrogates(encode(entry))}}}'
    for message in stored.messages:
        yield f'{{"message": {repair_surrogates(encode(message))}}}'


def markdown(title: str, cwd: str, updated_at: datetime, entries: Iterable[TranscriptEntry]) -> str:
    """Return a session as a Markdown document."""
    blocks = [
        f"# {' '.join(title.split()) or 'Session'}",
        f"{cwd}, {updated_at:%Y-%m-%d %H:%M} UTC",
    ]
    speaker: Speaker = "notice"
    for each in entries:
        if each.speaker != speaker and each.speaker in HEADINGS:
            blocks.append(f"## {HEADINGS[each.speaker]}")
        if each.speaker in HEADINGS:  # calls and notices in between do not end a speaker's section
            speaker = each.speaker
            blocks.append(each.text)
        else:
            quoted = (f"> {line}".rstrip() for line in each.text.splitlines())
            blocks.append("\n".join(quoted))
    return printable("\n\n".join(blocks))


def _speech_of(entry: Entry) -> tuple[Speaker, str]:
    """Return the speaker and the text of an entry; the text is empty if none is shown."""
    match entry:
        case PromptReceived():
            return "user", prompt_to_text(entry.parts)
        case MessageChunk():
            return "assistant", entry.text
        case CallRecord():
            title = entry.state.title or entry.appeared.title or entry.appeared.name
            return "tool", f"{title} ({entry.state.status or 'pending'})"
        case PlanChanged():
            steps = [f"{PLAN_CHECKBOXES[step.status]} {step.content}" for step in entry.entries]
            return "plan", "\n".join(steps)
        case NoticeRaised() | CompactionChanged():
            notice = entry.notice if isinstance(entry, CompactionChanged) else entry
            return "notice", "" if notice is None else notice.title
        case ThoughtChunk() | SummaryChunk() | TaskMessage():
            return "notice", ""
        case _:
            assert_never(entry)


def _task_texts(task_message: TaskMessage) -> Iterator[str]:
    """Yield a sub-agent's prompts, answers, calls and results, labelled with its task."""
    name = f"{task_message.call_id}, task {task_message.number}"
    said = "prompt" if isinstance(task_message.message, UserMessage) else "answer"
    for part in task_message.message.parts:
        match part:
            case Text():
                yield f"{name}, {said}: {part.text}"
            case ToolCall():
                yield f"{name}, call {part.name}: {part.arguments}"
            case ToolResult():
                yield f"{name}, result: {part.text}"
            case _:
                pass
