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
from acp_server.session.ports.session_search import Passage, PastSession
from acp_server.text.surrogates import mended
from acp_server.turn.conversation import Text, ToolCall, ToolResult, UserMessage, text_of
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
BOXES = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}


@dataclass(frozen=True, slots=True)
class Saying:
    """One entry of a transcript: a message, tool call, plan or notice."""

    speaker: Speaker
    text: str


def sayings_of(entries: Iterable[Entry], *, with_tasks: bool = False) -> Iterator[Saying]:
    """Yield the entries shown to the user, without reasoning; `with_tasks` adds sub-agents."""
    for each in entries:
        if isinstance(each, TaskMessage):
            yield from _of_task(each) if with_tasks else ()
            continue
        notice = each.notice if isinstance(each, CompactionChanged) else None
        saying = _saying(notice or each)
        if saying is not None and saying.text.strip():
            yield Saying(saying.speaker, mended(saying.text))


def sayings_in(passage: Passage) -> Iterator[Saying]:
    """Yield the messages of a session that another program stores."""
    for each in passage.texts:
        yield Saying(each.role, each.text)


def facts_as_json(facts: SessionFacts) -> dict[str, JsonValue]:
    """Return the metadata of a session."""
    usage = facts.spent.usage
    return {
        "id": facts.id,
        "title": mended(facts.title),
        "cwd": mended(str(facts.cwd)),
        "created_at": facts.created_at.isoformat(),
        "updated_at": facts.updated_at.isoformat(),
        "mode": facts.mode,
        "model_id": facts.model_id,
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": facts.spent.cost_usd,
    }


def past_as_json(session: PastSession) -> dict[str, JsonValue]:
    """Return the metadata of a session found by a search."""
    return {
        "id": session.id,
        "source": session.source,
        "title": session.title,
        "cwd": session.cwd,
        "created_at": session.began_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }


def sayings_as_json(sayings: Iterable[Saying]) -> list[JsonValue]:
    """Return the transcript as a list of objects."""
    return [{"speaker": each.speaker, "text": each.text} for each in sayings]


def json_lines(stored: StoredSession) -> Iterator[str]:
    """Yield all stored data as one JSON object per line: session, UI entries, model messages."""
    session: JsonValue = {"session": facts_as_json(stored.facts)}
    yield json.dumps(session, ensure_ascii=False)
    for entry in stored.entries:
        yield f'{{"entry": {mended(encode(entry))}}}'
    for message in stored.messages:
        yield f'{{"message": {mended(encode(message))}}}'


def markdown(title: str, cwd: str, updated_at: datetime, sayings: Iterable[Saying]) -> str:
    """Return a session as a Markdown document."""
    blocks = [
        f"# {' '.join(title.split()) or 'Session'}",
        f"{cwd}, {updated_at:%Y-%m-%d %H:%M} UTC",
    ]
    speaker: Speaker = "notice"
    for each in sayings:
        if each.speaker != speaker and each.speaker in HEADINGS:
            blocks.append(f"## {HEADINGS[each.speaker]}")
        if each.speaker in HEADINGS:  # calls and notices in between do not end a speaker's section
            speaker = each.speaker
        blocks.append(each.text if each.speaker in HEADINGS else _aside(each))
    return printable("\n\n".join(blocks))


def _aside(saying: Saying) -> str:
    lines = saying.text.splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _saying(entry: Entry) -> Saying | None:
    match entry:
        case PromptReceived():
            return Saying("user", text_of(entry.parts))
        case MessageChunk():
            return Saying("assistant", entry.text)
        case CallRecord():
            return Saying("tool", _call(entry))
        case PlanChanged():
            steps = [f"{BOXES[step.status]} {step.content}" for step in entry.entries]
            return Saying("plan", "\n".join(steps))
        case NoticeRaised():
            return Saying("notice", entry.title)
        case ThoughtChunk() | SummaryChunk() | CompactionChanged() | TaskMessage():
            return None
        case _:
            assert_never(entry)


def _of_task(said: TaskMessage) -> Iterator[Saying]:
    """Yield a sub-agent's prompts, answers, calls and results, labelled with its task."""
    name = f"{said.call_id}, task {said.number}"
    for part in said.message.parts:
        match part:
            case Text() if isinstance(said.message, UserMessage):
                yield Saying("task", mended(f"{name}, prompt: {part.text}"))
            case Text():
                yield Saying("task", mended(f"{name}, answer: {part.text}"))
            case ToolCall():
                yield Saying("task", mended(f"{name}, call {part.name}: {part.arguments}"))
            case ToolResult():
                yield Saying("task", mended(f"{name}, result: {part.text}"))
            case _:
                pass


def _call(record: CallRecord) -> str:
    title = record.state.title or record.appeared.title or record.appeared.name
    return f"{title} ({record.state.status or 'pending'})"
