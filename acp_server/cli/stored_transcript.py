"""Transcripts of stored sessions, and their renderings: plain text, Markdown, JSON, JSON Lines.

Readable forms omit reasoning; JSON Lines contains all stored data.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import assert_never

from pydantic import JsonValue

from acp_server.cli.screen import printable
from acp_server.cli.text_lines import output_lines
from acp_server.cli.transcript import (
    FactEntry,
    PlanChange,
    TextEntry,
    TextKind,
    Transcript,
    TranscriptEntry,
)
from acp_server.handlers.tool_calls import call_progress, call_start, plan_update
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.history.codec import encode
from acp_server.session.ports.archive import SessionFacts, StoredSession, TaskMessage
from acp_server.session.ports.session_search import PastSession, PastText
from acp_server.session.replay import ReplayedEvent, replay_events
from acp_server.text.control_characters import escape_json
from acp_server.text.surrogates import repair_surrogates
from acp_server.turn.conversation import Text, ToolCall, ToolResult, UserMessage, prompt_to_text
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)

HEADINGS: dict[str, str] = {"user": "User", "assistant": "Assistant"}
"""Speakers with a heading in Markdown; the other entries become quotes below them."""
MAX_FAILURE_LINES = 3
PLAN_CHECKBOXES = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}
TEXT_KINDS: dict[str, TextKind] = {"user": "prompt", "assistant": "message"}


def stored_transcript(stored: StoredSession, *, with_tasks: bool = False) -> Transcript:
    """Return the transcript of a session, without reasoning; `with_tasks` adds sub-agents.

    The messages of a sub-agent follow the call that started it.
    """
    transcript = Transcript(clock=lambda: 0.0)
    tasks: dict[str, list[TaskMessage]] = {}
    for entry in stored.entries if with_tasks else ():
        if isinstance(entry, TaskMessage):
            tasks.setdefault(entry.call_id, []).append(entry)
    for event in replay_events(stored, shows_terminals=False):
        _add_event(transcript, event)
        if isinstance(event, CallChanged):
            for message in tasks.pop(event.call_id, ()):
                for text in _task_texts(message):
                    transcript.add_fact("task", text)
    return transcript


def foreign_transcript(texts: Iterable[PastText]) -> Transcript:
    """Return the transcript of a session that another program stores."""
    transcript = Transcript()
    for each in texts:
        kind = TEXT_KINDS.get(each.role)
        entry = FactEntry(each.role, (each.text,)) if kind is None else TextEntry(kind, each.text)
        transcript.entries.append(entry)
    return transcript


def spoken_texts(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """Yield the speaker and the text of each entry that has a text."""
    for entry in transcript.entries:
        speaker, text = _speech_of(entry)
        if text.strip():
            yield speaker, repair_surrogates(text)


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
    yield escape_json(json.dumps(session, ensure_ascii=False))
    for entry in stored.entries:
        yield escape_json(f'{{"entry": {repair_surrogates(encode(entry))}}}')
    for message in stored.messages:
        yield escape_json(f'{{"message": {repair_surrogates(encode(message))}}}')


def markdown(title: str, cwd: str, updated_at: datetime, transcript: Transcript) -> str:
    """Return a session as a Markdown document."""
    blocks = [
        f"# {' '.join(title.split()) or 'Session'}",
        f"{cwd}, {updated_at:%Y-%m-%d %H:%M} UTC",
    ]
    last_speaker = ""
    for speaker, text in spoken_texts(transcript):
        if speaker != last_speaker and speaker in HEADINGS:
            blocks.append(f"## {HEADINGS[speaker]}")
        if speaker in HEADINGS:  # calls and notices in between do not end a speaker's section
            last_speaker = speaker
            blocks.append(text)
        else:
            blocks.append("\n".join(f"> {line}".rstrip() for line in text.splitlines()))
    return printable("\n\n".join(blocks))


def _add_event(transcript: Transcript, event: ReplayedEvent) -> None:
    match event:
        case PromptReceived():
            text = prompt_to_text(event.parts)
            transcript.entries.append(TextEntry("prompt", text))
        case MessageChunk():
            transcript.entries.append(TextEntry("message", event.text))
        case CallAppeared():
            transcript.add(call_start(event))
        case CallChanged() | TerminalOpened() | TerminalPrinted() | TerminalEnded():
            transcript.add(call_progress(event))
        case PlanChanged():
            transcript.add(plan_update(event))
        case NoticeRaised():
            transcript.add_fact("notice", event.title)
        case CompactionChanged():
            if event.notice is not None:
                transcript.add_fact("notice", event.notice.title)
        # Sub-agents are added from their messages.
        case (
            ThoughtChunk()
            | SummaryChunk()
            | ContextMeasured()
            | SubAgentStarted()
            | SubAgentProgressed()
            | SubAgentEnded()
        ):
            return
        case _:
            assert_never(event)


def _speech_of(entry: TranscriptEntry) -> tuple[str, str]:
    """Return the speaker and the text of an entry."""
    match entry:
        case TextEntry():
            return ("user" if entry.kind == "prompt" else "assistant"), entry.text
        case ToolCallState():
            return "tool", "\n".join((f"{entry.title} ({entry.status})", *_failure_lines(entry)))
        case PlanChange():
            lines = (f"{PLAN_CHECKBOXES[each.status]} {each.content}" for each in entry.entries)
            return "plan", "\n".join(lines)
        case FactEntry():
            return entry.label, "\n".join(entry.parts)
        case _:
            assert_never(entry)


def _failure_lines(call: ToolCallState) -> Sequence[str]:
    """Return the last lines that a failed command printed; none of any other call."""
    if call.status != "failed" or call.kind != "execute":
        return ()
    lines = [each for each in output_lines(call.text) if each.strip().strip("`")]
    return [f"  {each}" for each in lines[-MAX_FAILURE_LINES:]]


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
