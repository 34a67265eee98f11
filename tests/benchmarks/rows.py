"""Table of all rows by group: their titles and the machine limit shown next to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.agent_setup import Lab
from tests.benchmarks.figures import Figures, Row
from tests.benchmarks.groups.concurrency import measure_crowd
from tests.benchmarks.groups.faults import measure_faults
from tests.benchmarks.groups.history_search import Library
from tests.benchmarks.groups.prompt_costs import measure_words
from tests.benchmarks.groups.start import measure_start
from tests.benchmarks.groups.stored_sessions import Past
from tests.benchmarks.groups.streams import measure_streams
from tests.benchmarks.groups.turns import measure_turns

SEARCHED_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are measured together."""

    name: str
    title: str
    measure: Callable[[Lab], Figures]
    rows: Sequence[Row]
    most_runs: int = 1_000
    """Maximum number of runs: one for figures that do not vary, few for slow ones."""


def _memory(stage: str, title: str) -> list[Row]:
    return [
        Row(f"{stage}-pss", f"memory {title}, PSS", "MiB"),
        Row(f"{stage}-rss", f"memory {title}, RSS", "MiB"),
        Row(f"{stage}-cpu", f"CPU spent {title}", "s"),
    ]


START = [
    Row("initialize", "spawn to initialize answered", "ms", "python"),
    Row("session", "spawn to first session/new answered", "ms", "python"),
    Row("second-session", "second session/new", "ms", "pipe"),
    Row("at-once-chunk", "first prompt, sent at once: first chunk", "ms", "python"),
    Row("at-once-turn", "first prompt, sent at once: whole turn", "ms", "python"),
    Row("at-once-cpu", "first prompt, sent at once: CPU", "ms"),
    Row("at-once-total", "spawn to the end of a prompt sent at once", "ms", "python"),
    *_memory("initialize", "after initialize"),
    *_memory("session", "after the first session/new"),
]
TURNS = [
    Row("settled-chunk", "first prompt, 2.5 s later: first chunk", "ms", "request"),
    Row("settled-turn", "first prompt, 2.5 s later: whole turn", "ms", "request"),
    Row("warm-chunk", "warm prompt: first chunk", "ms", "request"),
    Row("warm-turn", "warm prompt: whole turn", "ms", "request"),
    Row("warm-cpu", "warm prompt: CPU", "ms"),
    Row("tool-turn", "turn with one tool call (a file read)", "ms", "request"),
    *_memory("settled", "2.5 s after session/new"),
    *_memory("turns", "after 28 turns"),
]
STREAMS = [
    Row("2k-wall", "2,000 chunks, whole turn", "ms"),
    Row("2k-cpu", "2,000 chunks, CPU of each", "µs", "chunk"),
    Row("2k-updates", "2,000 chunks, updates for each", ""),
    Row("20k-wall", "20,000 chunks, whole turn", "ms"),
    Row("20k-cpu", "20,000 chunks, CPU of each", "µs", "chunk"),
    Row("20k-updates", "20,000 chunks, updates for each", ""),
    Row("paced-cpu", "1,000 chunks, 2 ms apart, CPU of each", "µs", "chunk"),
    Row("grow-first", "1.5 s of writing a file: first diff after", "ms"),
    Row("grow-early", "diffs before the arguments were complete", "", is_more_better=True),
    Row("grow-updates", "diffs of a file that still grows", "", is_more_better=True),
    *_memory("stream", "after 4,000 chunks"),
    *_memory("end", "at the end, after 25,000 chunks"),
]
CROWD = [
    Row("crowd-chunk", "50 turns at once: last first chunk", "ms"),
    Row("crowd-median", "50 turns at once, each of 500 ms: median", "ms"),
    Row("crowd-worst", "50 turns at once: slowest", "ms"),
    Row("crowd-spread", "50 turns at once: slowest less fastest", "ms"),
    Row("crowd-cpu", "50 turns at once: CPU of each", "ms"),
    Row("idle-session", "memory of a session that is idle, PSS", "MiB"),
    Row("used-session", "memory of a session that had a turn, PSS", "MiB"),
]
PAST = [
    Row("load-150", "session/load of 150 turns", "ms", "query"),
    Row("load-1500", "session/load of 1,500 turns", "ms", "query"),
    Row("list-page", "session/list, first page of 1,000", "ms", "query"),
    Row("list-all", "session/list, all pages", "ms", "query"),
    Row("list-count", "sessions listed", "", is_more_better=True),
]
FINDING = [
    Row("search-median", "search over 10,000 sessions, median query, CPU", "ms", "match"),
    Row("search-worst", "search over 10,000 sessions, slowest query, CPU", "ms", "match"),
]
WORDS = [
    Row("prompt-characters", '"hi": system prompt and tools', "characters"),
    Row("prompt-tools", '"hi": tools offered', ""),
    Row("prompt-body", '"hi": whole body', "KB"),
    Row("day-billed", "20 turns, 60 calls: billed input", "k tokens"),
    Row("day-aside", "20 turns, 60 calls: of it beside the turns", "k tokens"),
    Row("day-share", "20 turns, 60 calls: input read from cache", "%", is_more_better=True),
    Row("day-requests", "20 turns, 60 calls: requests", ""),
    Row("day-failed", "20 turns, 60 calls: calls that failed", ""),
]
FAULTS = [
    Row("malformed", "malformed lines borne, of 6", "", is_more_better=True),
    Row("edits", "edits of a batch of 7 told as they end", "", is_more_better=True),
    Row("line-1", "a prompt of 1 MiB", "ms"),
    Row("line-10", "a prompt of 10 MiB", "ms"),
    Row("line-50", "a prompt of 50 MiB", "ms"),
    Row("killed", "stream lost by a kill -9 within it", "ms"),
    Row("leave", "gone after the editor left while a tool ran", "ms"),
    Row("cancel", "cancel answered while a tool ran", "ms"),
    Row("after-cancel", "next prompt works", "", is_more_better=True),
]
LIMITS: Mapping[str, str] = {
    "python": "bare Python, start to end",
    "echo": "bare Python, json: spawn to a line answered",
    "pipe": "json: a line through a pipe and back",
    "chunk": "json and a pipe: CPU of a chunk (µs)",
    "request": "a request to the endpoint, streamed",
    "stat": "stat of 1,000 files",
    "insert": "SQLite: insert and commit of a row",
    "query": "SQLite: read of 1,000 rows",
    "match": "SQLite: full-text search of 1,000 rows",
}


def make_groups() -> list[Group]:
    """Return all groups. Groups with stored sessions cache their preparations."""
    past, library = Past(), Library(SEARCHED_SESSIONS)
    return [
        Group("start", "Start", measure_start, START),
        Group("turns", "Turns", measure_turns, TURNS),
        Group("streams", "Streams", measure_streams, STREAMS, 5),
        Group("crowd", "Fifty sessions", measure_crowd, CROWD, 5),
        Group("past", "Kept sessions", past.measure, PAST, 5),
        Group("search", "Search", library.measure, FINDING, 1),
        Group("words", "What the model is sent", measure_words, WORDS, 1),
        Group("faults", "What is borne", measure_faults, FAULTS, 1),
    ]
