"""Every call of the table is applied as meant or refused usefully; none is silently wrong."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Toolbox
from tests.permissions.secret_workspace import EventLog
from tests.tools.dialects.calls import FILES, TABLE, Case
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call, raw_call

MIN_CALLS = 200


def tool_call(case: Case) -> ToolCall:
    if isinstance(case.arguments, str):
        return raw_call(case.tool, case.arguments)
    return call(case.tool, **case.arguments)


def tree(root: Path) -> dict[str, str]:
    """Return all files; by plain strings, since each case looks at them."""
    start = len(f"{root}/")
    files = [f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names]
    return {file[start:]: _read(file) for file in files}


def _read(file: str) -> str:
    with open(file, encoding="utf-8") as opened:  # noqa: PTH123  as above
        return opened.read()


def reset(session: ToolEditorSession, left: Mapping[str, str]) -> None:
    """Restore the files, of which these are left."""
    for name in left.keys() - FILES.keys():
        (session.root / name).unlink()
    for name, text in FILES.items():
        if left.get(name) != text:
            session.write_file(name, text)


async def run_case(session: ToolEditorSession, toolbox: Toolbox, case: Case) -> tuple[str, bool]:
    """Make a call; return the text for the model, and whether the call failed.

    The toolbox is called directly: what the editor sees of calls is tested elsewhere. Only
    arguments that are no JSON take the way of a whole turn, which repairs them.
    """
    made = tool_call(case)
    if isinstance(case.arguments, str):
        updates = await session.run_one(made)
        return updates.text, updates.status == "failed"
    live = await toolbox.open(made.id, made.name, EventLog())
    middle = len(made.arguments) // 2
    for piece in (made.arguments[:middle], made.arguments[middle:]):
        await live.write(piece)
    outcome = await live.run(made)
    return outcome.text, outcome.is_error


def faults(case: Case, text: str, after: Mapping[str, str], *, has_failed: bool) -> list[str]:
    """Return what is wrong with the result of a call."""
    expected = {**FILES, **case.writes}
    found = [f"no {each!r}" for each in case.says if each not in f"{text}\n"]
    found += [f"has {each!r}" for each in case.says_not if each in f"{text}\n"]
    if has_failed != case.is_refused:
        found.append("failed" if has_failed else "did not fail")
    if after != {name: text for name, text in expected.items() if text is not None}:
        found.append(f"files {after.items() - FILES.items()}, gone {FILES.keys() - after.keys()}")
    return [f"{case}: {'; '.join(found)}\n    {text}"] if found else []


def test_the_table_is_large() -> None:
    assert sum(map(len, TABLE.values())) >= MIN_CALLS


@pytest.mark.parametrize("group", TABLE)
async def test_a_foreign_or_broken_call_is_applied_as_meant_or_refused_usefully(
    tmp_path: Path, group: str
) -> None:
    wrong: list[str] = []
    async with open_tool_editor(tmp_path) as session:
        toolbox = await session.toolbox()
        left: Mapping[str, str] = {}
        for case in TABLE[group]:
            reset(session, left)
            text, has_failed = await run_case(session, toolbox, case)
            left = tree(session.root)
            wrong += faults(case, text, left, has_failed=has_failed)
    assert "\n".join(wrong) == ""
