"""Cost of storing sessions: `uv run python -m tests.benchmarks.history [--runs N]`.

Runs in one process on the disk of the temporary directory. Prints medians with the spread.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import psutil

from acp_server.history.archive import LazyArchive, SessionJournal
from acp_server.session.ports.archive import SessionFacts
from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    FileDiff,
    MessageChunk,
    PromptReceived,
)
from tests.history.samples import make_facts

CHUNKS = 100_000
TURNS = 150
SESSIONS = 1_000
COMMITS = 200
OUTPUT = "a line of output that a tool has printed\n" * 50
Figures = dict[str, float]


async def measure(folder: Path) -> Figures:
    """Return the figures of a new archive."""
    archive = LazyArchive(folder / "sessions.db")
    archive.on_problem = print
    figures: Figures = {}
    journal = archive.create(make_facts("long"))
    figures["open an empty database, ms"] = await _time_ms(archive.load)
    await _measure_recording(journal, figures)
    await _record_turns(journal, TURNS)
    figures[f"read {TURNS} turns, ms"] = await _time_ms(lambda: archive.read("long"))
    for number in range(SESSIONS):
        archive.create(_facts(number)).append(UserMessage((Text("hello"),)))
    await journal.commit()
    figures[f"a page of {SESSIONS} sessions, ms"] = await _time_ms(lambda: archive.page(None, None))
    figures[f"all pages of {SESSIONS} sessions, ms"] = await _time_ms(
        lambda: _page_through(archive)
    )
    await archive.close()
    figures["close, open and read one session, ms"] = await _time_ms(lambda: _reopen(folder))
    return figures


async def write_session_with_turns(path: Path, session_id: str, turns: int) -> None:
    """Create a database with one session of this many turns."""
    archive = LazyArchive(path)
    await _record_turns(archive.create(make_facts(session_id)), turns)
    await archive.close()


async def write_sessions(path: Path, count: int) -> None:
    """Create a database with this many sessions."""
    archive = LazyArchive(path)
    for number in range(count):
        archive.create(_facts(number)).append(UserMessage((Text("hello"),)))
    await archive.close()


async def measure_append_ms(path: Path) -> float:
    """Return the median milliseconds until one message is committed."""
    archive = LazyArchive(path)
    journal, message = archive.create(make_facts("one")), UserMessage((Text("hello"),))
    median = await _median_ms(lambda: _append(journal, message))
    await archive.close()
    return median


async def _record_turns(journal: SessionJournal, turns: int) -> None:
    for number in range(turns):
        _record_turn(journal, number)
        await journal.commit()
        journal.sync()
    await journal.commit()


async def _measure_recording(journal: SessionJournal, figures: Figures) -> None:
    process = psutil.Process()
    message = UserMessage((Text("hello"),))
    journal.begin_turn()
    started_at = time.perf_counter()
    for _ in range(COMMITS):
        journal.append(message)
    figures["append a message, µs of the loop"] = (time.perf_counter() - started_at) / COMMITS * 1e6
    await journal.commit()
    figures["append and commit, ms"] = await _median_ms(lambda: _append(journal, message))
    figures["commit of nothing, ms"] = await _median_ms(journal.commit)
    before = process.memory_info().rss
    busy = time.process_time()
    loop_seconds = 0.0
    for start in range(0, CHUNKS, 1000):
        started_at = time.perf_counter()
        for number in range(start, start + 1000):
            journal.show(MessageChunk(f"m{number // 5000}", "five words of text here. "))
        loop_seconds += time.perf_counter() - started_at
        await anyio.sleep(0.005)
    await journal.commit()
    figures["a chunk, µs of the loop"] = loop_seconds / CHUNKS * 1e6
    figures["a chunk, µs of CPU in all"] = (time.process_time() - busy) / CHUNKS * 1e6
    figures[f"memory after {CHUNKS:,} chunks, MiB"] = (process.memory_info().rss - before) / 2**20
    journal.end_turn()


def _record_turn(journal: SessionJournal, number: int) -> None:
    """Record a turn with two model requests: a prompt, two calls, a streamed answer."""
    journal.begin_turn()
    prompt = Text(f"Do the {number}th thing")
    journal.show(PromptReceived(f"p{number}", (prompt,)))
    journal.append(UserMessage((prompt,)))
    calls = [ToolCall(f"c{number}.{each}", "patch", '{"path": "/a"}') for each in range(2)]
    for call in calls:
        journal.show(CallAppeared(call.id, "patch", "edit"))
        journal.show(CallChanged(call.id, "in_progress", title="Edit a", raw_input={"path": "/a"}))
        diff = (FileDiff("/a", OUTPUT, OUTPUT + "more\n"),)
        journal.show(CallChanged(call.id, "completed", content=diff, raw_output={"text": "done"}))
    journal.append(AssistantMessage(tuple(calls)))
    journal.append(UserMessage(tuple(ToolResult(call.id, OUTPUT) for call in calls)))
    words = [f"word{each} " for each in range(200)]
    for word in words:
        journal.show(MessageChunk(f"m{number}", word))
    journal.append(AssistantMessage((Text("".join(words)),)))
    journal.end_turn()


async def _append(journal: SessionJournal, message: UserMessage) -> None:
    journal.append(message)
    await journal.commit()


async def _page_through(archive: LazyArchive) -> None:
    page = await archive.page(None, None)
    while page.cursor is not None:
        page = await archive.page(None, page.cursor)


async def _reopen(folder: Path) -> None:
    archive = LazyArchive(folder / "sessions.db")
    await archive.resume("7")
    await archive.read("7")
    await archive.close()


def _facts(number: int) -> SessionFacts:
    made = make_facts(str(number))
    return replace(made, title=f"Session {number}", updated_at=made.created_at + _days(number))


def _days(number: int) -> timedelta:
    return timedelta(days=number)


async def _time_ms(action: Callable[[], Awaitable[object]]) -> float:
    started_at = time.perf_counter()
    await action()
    return (time.perf_counter() - started_at) * 1000


async def _median_ms(action: Callable[[], Awaitable[object]]) -> float:
    return statistics.median([await _time_ms(action) for _ in range(COMMITS)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    runs: list[Figures] = []
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as name:
            runs.append(anyio.run(measure, Path(name)))
    for name in runs[0]:
        values = [run[name] for run in runs]
        spread = (max(values) - min(values)) / 2
        print(f"  {name:42} {statistics.median(values):9.3f}  ± {spread:8.3f}")


if __name__ == "__main__":
    main()
