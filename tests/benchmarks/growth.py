"""Cost growth: `uv run python -m tests.benchmarks.growth [sessions history skills files]`.

Starts one server per size with a scripted model, so only our own work is measured. CPU time covers
the server and its children, memory is the proportional set size. Both are given per additional
session, turn, skill or file and depend little on the machine's other load. `--full` adds the
largest size of each.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from pydantic import JsonValue

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.history import write_session_with_turns
from tests.benchmarks.processes import tree_memory
from tests.benchmarks.skills import make_skills

SCRIPT = """\
prompt: change
call: terminal
  command: echo changed > changed.txt
step:
say: Done.

prompt: find
call: search_files
  pattern: needle
step:
say: Done.

prompt: *
say: Hello.
"""
SETTLED_SECONDS = 3.0
IDLE_SECONDS = 5.0
WARM_TURNS = 20
FILES_PER_FOLDER = 100
SIZES: Mapping[str, Sequence[int]] = {
    "sessions": (1, 10, 50, 100),
    "history": (15, 150, 1_500, 15_000),
    "skills": (0, 10, 300, 3_000),
    "files": (10, 1_000, 10_000, 100_000),
}
Figures = dict[str, float]


def serve(home: Path) -> MeasuredAgent:
    """Start a server that asks for no permission."""
    script = home / "test.script"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "acp_server", "serve", "--mode", "bypass"]
    return MeasuredAgent([*command, "--model", f"scripted:{script}"], home)


def measure_cpu_ms(agent: MeasuredAgent, work: Callable[[], object], times: int = 1) -> float:
    """Return the CPU time of some work in milliseconds."""
    before = agent.cpu_seconds
    for _ in range(times):
        work()
    return (agent.cpu_seconds - before) / times * 1000


def measure_sessions(folder: Path, count: int) -> Figures:
    """Open this many sessions with one turn each."""
    with serve(folder) as agent:
        agent.initialize()
        opened = [agent.new_session(folder)]
        agent.prompt(opened[0], "hi")
        time.sleep(SETTLED_SECONDS)
        memory = tree_memory(agent.pid).proportional
        opening = measure_cpu_ms(
            agent, lambda: opened.extend(_open_sessions(agent, folder, count - 1))
        )
        for session in opened[1:]:
            agent.prompt(session, "hi")
        time.sleep(SETTLED_SECONDS)
        grown = tree_memory(agent.pid).proportional - memory
        more = max(1, count - 1)
        return {
            "session/new, CPU ms": opening / more,
            "warm turn, CPU ms": _measure_warm_turns(agent, opened[-1]),
            "idle, CPU ms a second": measure_cpu_ms(agent, lambda: time.sleep(IDLE_SECONDS))
            / IDLE_SECONDS,
            "memory, MiB": tree_memory(agent.pid).proportional,
            "memory of one more, MiB": grown / more,
        }


def _open_sessions(agent: MeasuredAgent, folder: Path, count: int) -> list[str]:
    return [agent.new_session(folder) for _ in range(count)]


def measure_history(folder: Path, turns: int) -> Figures:
    """Load a session of this many turns and continue it."""
    database = folder / "acp" / "sessions.db"
    anyio.run(write_session_with_turns, database, "long", turns)
    size = sum(path.stat().st_size for path in database.parent.glob("sessions.db*"))
    params: JsonValue = {"sessionId": "long", "cwd": str(folder), "mcpServers": []}
    with serve(folder) as agent:
        agent.initialize()
        agent.prompt(agent.new_session(folder), "hi")
        time.sleep(SETTLED_SECONDS)
        memory = tree_memory(agent.pid).proportional
        return {
            "session/load, CPU ms": measure_cpu_ms(
                agent, lambda: agent.call("session/load", params)
            ),
            "warm turn, CPU ms": _measure_warm_turns(agent, "long"),
            "memory of the session, MiB": tree_memory(agent.pid).proportional - memory,
            "database, MiB": size / 2**20,
        }


def measure_skills(folder: Path, count: int) -> Figures:
    """Start with this many skills, all of them in the user's own directory."""
    make_skills(folder / "skills", count)
    return {
        **_measure_first_session(folder, folder),
        **_measure_first_session(folder, folder, "again"),
    }


def _measure_first_session(home: Path, cwd: Path, again: str = "") -> Figures:
    """Open a session and run a turn on a new server."""
    name = f"with what was kept, {again}: " if again else ""
    with serve(home) as agent:
        agent.initialize()
        session = agent.new_session(cwd)
        agent.prompt(session, "hi")
        time.sleep(SETTLED_SECONDS)
        return {
            f"{name}all until the first answer, CPU ms": agent.cpu_seconds * 1000,
            f"{name}warm turn, CPU ms": _measure_warm_turns(agent, session),
            f"{name}session/new, CPU ms": measure_cpu_ms(agent, lambda: agent.new_session(cwd), 5),
            f"{name}memory, MiB": tree_memory(agent.pid).proportional,
        }


def measure_files(folder: Path, count: int) -> Figures:
    """Work in a directory of this many files."""
    project = folder / "project"
    for number in range(count):
        parent = project / f"folder-{number // FILES_PER_FOLDER:04}"
        if number % FILES_PER_FOLDER == 0:
            parent.mkdir(parents=True)
        (parent / f"file-{number}.txt").write_text(f"line {number}\n" * 20)
    with serve(folder) as agent:
        agent.initialize()
        session = agent.new_session(project)
        agent.prompt(session, "hi")
        time.sleep(SETTLED_SECONDS)
        return {
            "all until the first answer, CPU ms": agent.cpu_seconds * 1000,
            "warm turn, CPU ms": _measure_warm_turns(agent, session),
            "first command, with its snapshot, CPU ms": measure_cpu_ms(
                agent, lambda: agent.prompt(session, "change")
            ),
            "next command, CPU ms": measure_cpu_ms(
                agent, lambda: agent.prompt(session, "change"), 3
            ),
            "search through all, CPU ms": measure_cpu_ms(
                agent, lambda: agent.prompt(session, "find"), 3
            ),
            "memory, MiB": tree_memory(agent.pid).proportional,
        }


def _measure_warm_turns(agent: MeasuredAgent, session: str) -> float:
    agent.prompt(session, "hi")
    return measure_cpu_ms(agent, lambda: agent.prompt(session, "hi"), WARM_TURNS)


MEASURES: Mapping[str, Callable[[Path, int], Figures]] = {
    "sessions": measure_sessions,
    "history": measure_history,
    "skills": measure_skills,
    "files": measure_files,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=[[], *MEASURES])
    parser.add_argument("--full", action="store_true", help="the largest sizes too")
    arguments = parser.parse_args()
    for what in arguments.what or MEASURES:
        sizes = SIZES[what] if arguments.full else SIZES[what][:-1]
        columns: list[Figures] = []
        for size in sizes:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
                columns.append(MEASURES[what](Path(name), size))
        print(f"\n{what:46}" + "".join(f"{size:>10,}" for size in sizes))
        for row in columns[0]:
            print(f"  {row:44}" + "".join(f"{column[row]:10.1f}" for column in columns))


if __name__ == "__main__":
    main()
