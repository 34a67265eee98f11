"""`session_search`: what it asks of the port, what it answers, and how long that gets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from acp_server.session.errors import ArchiveError, UnknownSessionError
from acp_server.session.ports.session_search import (
    PastSession,
    PastText,
    SessionExcerpt,
    SessionHit,
    SessionQuery,
    SessionSearchResults,
)
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.memory.session_search import (
    MAX_CHARACTERS,
    READ_MESSAGES,
    SUMMARY_INPUT_CHARACTERS,
    SUMMARY_OUTPUT_TOKENS,
    SessionSearchContext,
    Summarizer,
    SummaryError,
    session_search_tool,
)
from acp_server.turn.events import CallChanged
from acp_server.turn.ports import ToolOutcome
from tests.turn.fake_sinks import MemorySink

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SESSION = PastSession("s1", "acp-server", "The title", "/code", AT, AT)
SESSION_JSON: dict[str, JsonValue] = {
    "session_id": "s1",
    "title": "The title",
    "source": "acp-server",
    "when": "2026-03-01T12:30Z",
    "cwd": "/code",
}


def past(number: int, text: str = "text") -> PastText:
    return PastText(number, "user", AT, text)


def text_json(number: int, text: str = "text", **more: JsonValue) -> dict[str, JsonValue]:
    return {"id": number, "role": "user", "when": "2026-03-01T12:30Z", "text": text, **more}


def hit(text: str = "text", session: PastSession = SESSION) -> SessionHit:
    return SessionHit(session, past(2, text), ">>>text<<<", (past(1, text), past(2, text)), 3)


@dataclass(slots=True)
class FakeRecall:
    """Remembers what it was asked."""

    findings: SessionSearchResults = field(
        default_factory=lambda: SessionSearchResults((hit(),), ("a note",))
    )
    excerpt: SessionExcerpt = field(
        default_factory=lambda: SessionExcerpt(SESSION, (past(4), past(5)), 3, 6, 7)
    )
    error: Exception | None = None
    requests: list[object] = field(default_factory=list[object])

    def _record(self, *what: object) -> None:
        self.requests += what
        if self.error is not None:
            raise self.error

    async def search(self, request: SessionQuery) -> SessionSearchResults:
        self._record(request)
        return self.findings

    async def scroll(self, session_id: str, text_id: int, window: int) -> SessionExcerpt:
        self._record(session_id, text_id, window)
        return self.excerpt

    async def read(self, session_id: str, max_texts: int) -> SessionExcerpt:
        self._record(session_id, max_texts)
        return self.excerpt

    async def browse(self, limit: int, excluded_id: str | None = None) -> Sequence[PastSession]:
        self._record(limit, excluded_id)
        return (SESSION,)


async def use(
    recall: FakeRecall, condense: Summarizer | None = None, **arguments: JsonValue
) -> tuple[ToolOutcome, list[str]]:
    """Return what a call leads to, and the titles that it had."""
    sink = MemorySink()
    tool = session_search_tool(SessionSearchContext(recall, "me", condense))
    outcome = await tool.create_use(CallReporter("call", sink)).run_call(arguments)
    titles = [each.title for each in sink.events if isinstance(each, CallChanged) and each.title]
    return outcome, titles


async def test_a_query_searches_all_sessions_except_the_current_one() -> None:
    recall = FakeRecall()
    outcome, titles = await use(
        recall, query=" a  b ", limit=5, sort="newest", role_filter="User, tool"
    )
    assert recall.requests == [SessionQuery(" a  b ", 5, "newest", ("user", "tool"), "me")]
    assert titles == [
        'Search past sessions for "a b"',
        'Search past sessions for "a b": 1 session',
    ]
    assert json.loads(outcome.text) == {
        "mode": "discover",
        "query": " a  b ",
        "results": [
            SESSION_JSON
            | {
                "matches": 3,
                "match_message_id": 2,
                "matched_role": "user",
                "snippet": ">>>text<<<",
                "messages": [text_json(1), text_json(2, is_match=True)],
            }
        ],
        "notes": ["a note"],
    }


async def test_an_empty_result_is_not_an_error() -> None:
    outcome, titles = await use(FakeRecall(SessionSearchResults(())), query="x")
    assert json.loads(outcome.text) == {"mode": "discover", "query": "x", "results": []}
    assert (outcome.is_error, titles[-1]) == (False, 'Search past sessions for "x": nothing')


async def test_a_session_can_be_scrolled() -> None:
    recall = FakeRecall()
    outcome, titles = await use(recall, session_id=" s1 ", around_message_id=5, query="ignored")
    assert (recall.requests, titles) == (["s1", 5, 5], ["Read past session s1 around message 5"])
    assert json.loads(outcome.text) == {
        "mode": "scroll",
        "session": SESSION_JSON,
        "messages_before": 3,
        "messages_after": 6,
        "messages": [text_json(4), text_json(5, is_match=True)],
    }


async def test_a_session_can_be_read() -> None:
    recall = FakeRecall()
    outcome, titles = await use(recall, session_id="s1")
    assert (recall.requests, titles) == (["s1", READ_MESSAGES], ["Read past session s1"])
    assert json.loads(outcome.text) == {
        "mode": "read",
        "session": SESSION_JSON,
        "messages_omitted": 7,
        "messages": [text_json(4), text_json(5)],
    }


async def test_without_arguments_recent_sessions_are_listed() -> None:
    recall = FakeRecall()
    outcome, titles = await use(recall)
    assert (recall.requests, titles) == ([3, "me"], ["List past sessions"])
    assert json.loads(outcome.text) == {"mode": "browse", "sessions": [SESSION_JSON]}


@pytest.mark.parametrize(
    ("error", "arguments", "text"),
    [
        (UnknownSessionError("x"), {"session_id": "x"}, "there is no past session 'x'"),
        (ArchiveError("broken"), {"query": "x"}, "past sessions cannot be read: broken"),
        (None, {"query": "x", "role_filter": "king"}, "role_filter is a list of user, assistant"),
        (None, {"query": "x", "limit": 11}, "`limit` must be less than or equal to 10"),
        (None, {"query": "x", "sort": "best"}, "`sort` must be 'relevance'"),
    ],
    ids=["unknown session", "unreadable", "no role", "too many", "no order"],
)
async def test_an_invalid_request_is_explained(
    error: Exception | None, arguments: dict[str, JsonValue], text: str
) -> None:
    outcome, _ = await use(FakeRecall(error=error), None, **arguments)
    assert outcome.is_error
    assert text in outcome.text


async def test_a_message_not_in_the_session_is_reported() -> None:
    outcome, _ = await use(
        FakeRecall(excerpt=SessionExcerpt(SESSION, ())), session_id="s", around_message_id=9
    )
    assert (outcome.is_error, "has no message 9" in outcome.text) == (True, True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "q" * 50_000, "limit": 10},
        {"session_id": "s", "around_message_id": 1, "window": 20},
        {"session_id": "s"},
    ],
    ids=["discovery", "scrolling", "reading"],
)
async def test_a_response_is_never_long(arguments: dict[str, JsonValue]) -> None:
    long = "long text\n" * 5_000
    session = PastSession("s" * 36, "hermes", long, "/" + long, AT, AT)
    hits = tuple(
        SessionHit(session, past(n, long), long, tuple(past(m, long) for m in range(5)), 1)
        for n in range(10)
    )
    recall = FakeRecall(
        SessionSearchResults(hits), SessionExcerpt(session, tuple(past(n, long) for n in range(41)))
    )
    outcome, _ = await use(recall, None, **arguments)
    assert len(outcome.text) <= MAX_CHARACTERS
    assert json.loads(outcome.text)


async def test_a_summary_is_created_within_a_budget() -> None:
    limits: list[tuple[int, int]] = []

    async def condense(instructions: str, text: str, max_tokens: int) -> str:
        assert "records, not instructions" in instructions
        assert text.startswith("Question: q\n\n# Session s1, 2026-03-01T12:30Z: The title\n")
        limits.append((len(text), max_tokens))
        return "the summary"

    long = "word " * 50_000
    outcome, _ = await use(
        FakeRecall(SessionSearchResults((hit(long), hit(long)))),
        condense,
        query="q",
        summarize=True,
    )
    assert limits[0][0] < SUMMARY_INPUT_CHARACTERS * 1.02
    assert limits[0][1] == SUMMARY_OUTPUT_TOKENS
    answer = json.loads(outcome.text)
    assert answer["summary"] == "the summary"
    assert "messages" not in answer["results"][0]


async def test_the_model_is_called_only_if_a_summary_is_requested_and_there_are_hits() -> None:
    async def condense(instructions: str, text: str, max_tokens: int) -> str:
        raise AssertionError((instructions, text, max_tokens))

    await use(FakeRecall(), condense, query="q")
    await use(FakeRecall(SessionSearchResults(())), condense, query="q", summarize=True)


async def test_without_a_summary_the_hits_are_returned_unchanged() -> None:
    async def condense(instructions: str, text: str, max_tokens: int) -> str:
        del instructions, text, max_tokens
        raise SummaryError("overloaded")

    for summarizer, note in (
        (condense, "there is no summary: overloaded"),
        (None, "there is no model here to summarize with"),
    ):
        outcome, _ = await use(FakeRecall(), summarizer, query="q", summarize=True)
        answer = json.loads(outcome.text)
        assert answer["notes"] == ["a note", note]
        assert len(answer["results"][0]["messages"]) == 2


def test_the_tool_description_is_short() -> None:
    spec = session_search_tool(SessionSearchContext(FakeRecall(), "me")).spec
    assert len(spec.description) + len(json.dumps(spec.schema)) < 1_100
