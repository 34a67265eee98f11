"""300 steps of a model at work on one repository: 30 turns of nine calls and a closing text.

Each turn reads two large files and a part of a third, searches, writes a test that fails, runs it,
corrects it, runs it again, and has a sub-agent look at a file or looks at the history. Together the
results fill two context windows. The repository is this one.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.benchmarks.endpoint.tool_dialects import Arguments, DialectCall, translate_call

REPOSITORY = Path(__file__).parents[3]
TURNS = 30
STEPS = 10
"""Answers of a turn; the last one is a text."""
LARGE_BYTES = range(14_000, 40_000)
PATTERNS = ("frozen_dataclass", "class .*Error", "async def close", "tuple\\(", "to_thread")
SUB_AGENTS: Mapping[str, tuple[str, Arguments]] = {
    "delegate_task": ("goal", {}),
    "Task": ("prompt", {"description": "Look", "subagent_type": "general-purpose"}),
    "Agent": ("prompt", {"description": "Look", "subagent_type": "general-purpose"}),
}
"""By the tool that starts a sub-agent: the field of its task, and further arguments."""
SUMMARY = (
    "The tests so far are written and pass. Go on with [bench workday {turn} {done} in {folder}]."
)
SUB_AGENT_STEP = 7
SUMMARY_BYTES = 100_000
"""A shorter request without tools asks for a title, not for a summary."""
FAILING = """\
import unittest


class TestCase{turn}(unittest.TestCase):
    def test_sum(self) -> None:
        found = [number * {turn} for number in range(40)]
        self.assertEqual(found[:3], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
"""


@cache
def large_files() -> tuple[str, ...]:
    """Return the large files of the repository's source and documents, in a fixed order."""
    paths = [*REPOSITORY.glob("acp_server/**/*.py"), *REPOSITORY.glob("docs/*.md")]
    fitting = [path for path in paths if path.stat().st_size in LARGE_BYTES]
    return tuple(sorted(path.relative_to(REPOSITORY).as_posix() for path in fitting))


def workday_call(tools: frozenset[str], folder: str, turn: int, step: int) -> DialectCall:
    """Return the call of a step, in the words of the agent that offers these tools."""
    if step == SUB_AGENT_STEP and turn % 2 == 0:
        call = _sub_agent(tools, folder)
        if call is not None:
            return call
    name, arguments = _calls(turn)[step]
    return translate_call(tools, folder, name, arguments)


def _calls(turn: int) -> Sequence[tuple[str, Arguments]]:
    files, test = large_files(), f"day/test_case{turn}.py"
    read_1, read_2, read_3 = (files[(3 * turn + number) % len(files)] for number in range(3))
    run = ("terminal", {"command": f"python3 {test}"})
    old, new = "[1, 2, 3]", f"[0, {turn}, {2 * turn}]"
    return (
        ("read_file", {"path": read_1, "offset": 1, "limit": 500}),
        ("search_files", {"pattern": PATTERNS[turn % len(PATTERNS)], "limit": 20}),
        ("read_file", {"path": read_2, "offset": 1, "limit": 120}),
        ("write_file", {"path": test, "content": FAILING.format(turn=turn)}),
        run,
        ("patch", {"path": test, "old_string": old, "new_string": new}),
        run,
        ("terminal", {"command": "git log --oneline -n 30 -- acp_server"}),
        ("read_file", {"path": read_3, "offset": 1, "limit": 500}),
    )


def _sub_agent(tools: frozenset[str], folder: str) -> DialectCall | None:
    for tool, (field, more) in SUB_AGENTS.items():
        if tool in tools:
            task = f"Look at one file and report. [bench explore 2 in {folder}]"
            return DialectCall(tool, json.dumps({field: task, **more}))
    return None
