"""The count of questions that recorded sessions would bring."""

from tests.permissions.measure_questions import RecordedSession, measure, table

SESSION: RecordedSession = {
    "agent": "a",
    "root": "/code",
    "commands": [
        {"command": "ls", "cwd": "/code"},
        {"command": "cat /code/a.py", "cwd": "/code/sub"},
        {"command": "npm test"},
        {"command": "npm test -- --watch", "cwd": "/code"},
        {"command": "./run.sh", "cwd": "/code"},
        {"command": "rm a.py", "cwd": "/code"},
    ],
}


def test_questions_are_counted_by_kind_of_user() -> None:
    found = measure([SESSION])
    counts = {name: (each.passed, each.questions) for name, each in found.items()}
    assert counts == {
        "each for itself": (2, [4]),
        "the widest, in the sandbox": (2, [2]),
        "the widest, without a sandbox": (2, [3]),
    }
    rows = list(table(found, len(SESSION["commands"])))
    assert rows[0] == "6 commands of 1 sessions; 33.3% pass"
    assert rows[4] == "| the widest, in the sandbox | 2 | 50% | 2 | 2 |"
