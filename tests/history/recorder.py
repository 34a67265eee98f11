"""Process that records until it is killed or done: `python -m tests.history.recorder PATH ID N`.

Prints a line for each committed message; without N it never ends.
"""

import sys
from itertools import count
from pathlib import Path

import anyio

from acp_server.history.archive import LazyArchive
from acp_server.turn.events import CallAppeared, CallChanged, MessageChunk, TerminalPrinted
from tests.history.samples import assistant_message, make_facts


def print_problem(problem: str) -> None:
    """Print a problem, distinct from the numbers of committed messages."""
    sys.stdout.write(f"problem: {problem}\n")
    sys.stdout.flush()


async def record(path: Path, session_id: str, rounds: int | None) -> None:
    """Record rounds of a turn."""
    archive = LazyArchive(path)
    archive.on_problem = print_problem
    journal = archive.create(make_facts(session_id))
    for number in count() if rounds is None else range(rounds):
        journal.begin_turn()
        journal.show(CallAppeared(f"c{number}", "terminal"))
        for piece in range(20):
            journal.show(MessageChunk(f"m{number}", f"{piece} "))
            journal.show(TerminalPrinted(f"c{number}", "t", "output\n"))
        journal.show(CallChanged(f"c{number}", "completed", raw_output={"text": "x" * 500}))
        journal.append(assistant_message(f"{number}"))
        await journal.commit()
        # printed only after the commit: the test kills this process and expects these messages
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        journal.sync()
        journal.end_turn()
    await archive.close()


if __name__ == "__main__":
    options = sys.argv[3:]
    anyio.run(record, Path(sys.argv[1]), sys.argv[2], int(options[0]) if options else None)
