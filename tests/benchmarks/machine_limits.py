"""Lower bounds of this machine: no agent can be faster.

Bare Python, a line of JSON through a pipe and back, encoding and parsing a chunk, a request to the
endpoint, one `stat` for each of many files, and SQLite inserting, listing and finding rows.
"""

import http.client
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.benchmarks.agent_setup import EndpointProcess
from tests.benchmarks.clock import measure_bare_python, time_ms
from tests.benchmarks.endpoint.answers import make_chunk
from tests.benchmarks.figures import Figures

ECHO = """\
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    sys.stdout.buffer.write(json.dumps({"id": message["id"], "result": {}}).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""
CHUNKS = 20_000
FILES = 1_000
ROWS = 1_000
TIMES = 20


def measure_limits(endpoint: EndpointProcess) -> Figures:
    """Yield the figures of one run."""
    yield "python", measure_bare_python()
    yield from _measure_pipe()
    yield "chunk", _measure_chunks()
    yield "request", _measure_request(endpoint)
    with tempfile.TemporaryDirectory() as name:
        yield "stat", _measure_stats(Path(name))
        yield from _measure_rows(Path(name) / "rows.db")


def _measure_pipe() -> Figures:
    started_at = time.perf_counter()
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode()
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask() -> None:
            stdin.write(line + b"\n")
            stdin.flush()
            stdout.readline()

        ask()
        yield "echo", (time.perf_counter() - started_at) * 1000
        yield "pipe", _median(ask)


def _measure_chunks() -> float:
    """Return the CPU microseconds to encode and parse a chunk as JSON."""
    event = json.dumps({"type": "content_block_delta", "delta": {"text": make_chunk(0)}})
    read, write = os.pipe()
    started_at = time.process_time()
    for _ in range(CHUNKS):
        text = json.loads(event)["delta"]["text"]
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        params = {"sessionId": "s", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        os.write(write, json.dumps(message).encode() + b"\n")
        os.read(read, 4096)
    cpu_seconds = time.process_time() - started_at
    os.close(read)
    os.close(write)
    return cpu_seconds / CHUNKS * 1e6


def _measure_request(endpoint: EndpointProcess) -> float:
    """Return the milliseconds of a streamed greeting over an open connection."""
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    body = json.dumps({"stream": True, "model": "m", "messages": []}).encode()

    def ask() -> None:
        connection.request("POST", "/v1/messages", body)
        connection.getresponse().read()

    with closing(connection):
        ask()
        return _median(ask)


def _measure_stats(folder: Path) -> float:
    names = [str(folder / f"file-{number}") for number in range(FILES)]
    for name in names:
        Path(name).touch()
    return _median(lambda: [os.stat(name) for name in names])  # noqa: PTH116


def _measure_rows(path: Path) -> Figures:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        rows = [(number, f"word{number} " * 20) for number in range(ROWS)]
        connection.executemany("INSERT INTO messages VALUES (?, ?)", rows)
        connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
        connection.commit()

        def insert() -> None:
            connection.execute("INSERT INTO messages (text) VALUES ('a message')")
            connection.commit()

        def find() -> None:
            list(connection.execute("SELECT text FROM words WHERE words MATCH 'word500'"))

        yield "insert", _median(insert)
        yield "query", _median(lambda: list(connection.execute("SELECT * FROM messages")))
        yield "match", _median(find)


def _median(work: Callable[[], object]) -> float:
    return statistics.median(time_ms(work) for _ in range(TIMES))
