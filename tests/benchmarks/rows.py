"""Table of all rows by group: their titles and the machine limit shown next to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures, MetricRow
from tests.benchmarks.groups.concurrency import measure_concurrency
from tests.benchmarks.groups.faults import measure_faults
from tests.benchmarks.groups.history_search import SearchDatabase
from tests.benchmarks.groups.many_sessions import measure_many_sessions
from tests.benchmarks.groups.many_skills import measure_many_skills
from tests.benchmarks.groups.prompt_costs import measure_prompt_costs
from tests.benchmarks.groups.start import measure_start
from tests.benchmarks.groups.stored_sessions import StoredSessionBenchmark
from tests.benchmarks.groups.streams import measure_streams
from tests.benchmarks.groups.turns import measure_turns

SEARCHED_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that are measured together."""

    name: str
    title: str
    measure: Callable[[AgentSetup], Figures]
    rows: Sequence[MetricRow]
    max_runs: int = 1_000
    """Maximum number of runs: one for figures that do not vary, few for slow ones."""


def _memory(prefix: str, title: str) -> list[MetricRow]:
    return [
        MetricRow(f"{prefix}-pss", f"memory {title}, PSS", "MiB"),
        MetricRow(f"{prefix}-rss", f"memory {title}, RSS", "MiB"),
        MetricRow(f"{prefix}-cpu", f"CPU spent {title}", "s"),
    ]


START = [
    MetricRow("initialize", "spawn to initialize answered", "ms", "python"),
    MetricRow("session", "spawn to first session/new answered", "ms", "python"),
    MetricRow("second-session", "second session/new", "ms", "pipe"),
    MetricRow("at-once-chunk", "first prompt, sent at once: first chunk", "ms", "python"),
    MetricRow("at-once-turn", "first prompt, sent at once: whole turn", "ms", "python"),
    MetricRow("at-once-cpu", "first prompt, sent at once: CPU", "ms"),
    MetricRow("at-once-total", "spawn to the end of a prompt sent at once", "ms", "python"),
    *_memory("initialize", "after initialize"),
    *_memory("session", "after the first session/new"),
]
TURNS = [
    MetricRow("settled-chunk", "first prompt, 2.5 s later: first chunk", "ms", "request"),
    MetricRow("settled-turn", "first prompt, 2.5 s later: whole turn", "ms", "request"),
    MetricRow("warm-chunk", "warm prompt: first chunk", "ms", "request"),
    MetricRow("warm-turn", "warm prompt: whole turn", "ms", "request"),
    MetricRow("warm-cpu", "warm prompt: CPU", "ms"),
    MetricRow("tool-turn", "turn with one tool call (a file read)", "ms", "request"),
    *_memory("settled", "2.5 s after session/new"),
    *_memory("turns", "after 28 turns"),
]
STREAMS = [
    MetricRow("2k-wall", "2,000 chunks, whole turn", "ms"),
    MetricRow("2k-cpu", "2,000 chunks, CPU of each", "µs", "chunk"),
    MetricRow("2k-updates", "2,000 chunks, updates for each", ""),
    MetricRow("20k-wall", "20,000 chunks, whole turn", "ms"),
    MetricRow("20k-cpu", "20,000 chunks, CPU of each", "µs", "chunk"),
    MetricRow("20k-updates", "20,000 chunks, updates for each", ""),
    MetricRow("paced-cpu", "1,000 chunks, 2 ms apart, CPU of each", "µs", "chunk"),
    MetricRow("grow-first", "1.5 s of writing a file: first diff after", "ms"),
    MetricRow("grow-early", "diffs before the arguments were complete", "", is_higher_better=True),
    MetricRow("grow-updates", "diffs of a file that still grows", "", is_higher_better=True),
    *_memory("stream", "after 4,000 chunks"),
    *_memory("end", "at the end, after 25,000 chunks"),
]
CROWD = [
    MetricRow("crowd-chunk", "50 turns at once: last first chunk", "ms"),
    MetricRow("crowd-median", "50 turns at once, each of 500 ms: median", "ms"),
    MetricRow("crowd-worst", "50 turns at once: slowest", "ms"),
    MetricRow("crowd-spread", "50 turns at once: slowest less fastest", "ms"),
    MetricRow("crowd-cpu", "50 turns at once: CPU of each", "ms"),
    MetricRow("used-session", "memory of a session that had a turn, PSS", "MiB"),
]
MANY = [
    MetricRow("idle-session", "memory of a session that is idle, PSS", "MiB"),
    MetricRow("hundred-idle", "100 idle sessions, above one: PSS", "MiB"),
    MetricRow("hundred-used", "100 sessions that had a turn, above one: PSS", "MiB"),
    MetricRow("hundred-loaded", "the same 100 sessions, loaded again, above one: PSS", "MiB"),
]
SKILLS = [
    MetricRow("skills-first", "3,000 skills: added to a first prompt, CPU", "ms"),
    MetricRow("skills-new-home", "the same at the first start in a home, CPU", "ms"),
]
PAST = [
    MetricRow("load-150", "session/load of 150 turns", "ms", "query"),
    MetricRow("load-1500", "session/load of 1,500 turns", "ms", "query"),
    MetricRow("load-15000-cpu", "session/load of 15,000 turns, CPU", "s"),
    MetricRow("load-15000-pss", "session/load of 15,000 turns: most memory, PSS", "MiB"),
    MetricRow("list-page", "session/list, first page of 1,000", "ms", "query"),
    MetricRow("list-all", "session/list, all pages", "ms", "query"),
    MetricRow("list-count", "sessions listed", "", is_higher_better=True),
]
FINDING = [
    MetricRow("search-median", "search over 10,000 sessions, median query, CPU", "ms", "match"),
    MetricRow("search-worst", "search over 10,000 sessions, slowest query, CPU", "ms", "match"),
]
WORDS = [
    MetricRow("prompt-characters", '"hi": system prompt and tools', "characters"),
    MetricRow("prompt-tools", '"hi": tools offered', ""),
    MetricRow("prompt-body", '"hi": whole body', "KB"),
    MetricRow("day-billed", "20 turns, 60 calls: billed input", "k tokens"),
    MetricRow("day-aside", "20 turns, 60 calls: of it beside the turns", "k tokens"),
    MetricRow("day-share", "20 turns, 60 calls: input read from cache", "%", is_higher_better=True),
    MetricRow("day-requests", "20 turns, 60 calls: requests", ""),
    MetricRow("day-failed", "20 turns, 60 calls: calls that failed", ""),
]
FAULTS = [
    MetricRow("malformed", "malformed lines survived, of 6", "", is_higher_better=True),
    MetricRow("edits", "edits of a batch of 7 told as they end", "", is_higher_better=True),
    MetricRow("line-1", "a prompt of 1 MiB", "ms"),
    MetricRow("line-10", "a prompt of 10 MiB", "ms"),
    MetricRow("line-50", "a prompt of 50 MiB", "ms"),
    MetricRow("killed", "stream lost by a kill -9 within it", "ms"),
    MetricRow("leave", "gone after the editor left while a tool ran", "ms"),
    MetricRow("cancel", "cancel answered while a tool ran", "ms"),
    MetricRow("after-cancel", "next prompt works", "", is_higher_better=True),
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


def make_groups() -> list[RowGroup]:
    """Return all groups. Groups with stored sessions cache their preparations."""
    past, library = StoredSessionBenchmark(), SearchDatabase(SEARCHED_SESSIONS)
    return [
        RowGroup("start", "Start", measure_start, START),
        RowGroup("turns", "Turns", measure_turns, TURNS),
        RowGroup("streams", "Streams", measure_streams, STREAMS, 5),
        RowGroup("crowd", "Fifty sessions", measure_concurrency, CROWD, 5),
        RowGroup("many", "A hundred sessions", measure_many_sessions, MANY, 3),
        RowGroup("skills", "Three thousand skills", measure_many_skills, SKILLS, 3),
        RowGroup("past", "Kept sessions", past.measure, PAST, 5),
        RowGroup("search", "Search", library.measure, FINDING, 1),
        RowGroup("words", "What the model is sent", measure_prompt_costs, WORDS, 1),
        RowGroup("faults", "Robustness", measure_faults, FAULTS, 1),
    ]
