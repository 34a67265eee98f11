"""Every call of the table is applied as meant or refused usefully; none is silently wrong."""

from pathlib import Path

import pytest

from acp_server.turn.conversation import ToolCall
from tests.tools.dialects.calls import FILES, TABLE, Case
from tests.tools.editor_session import CallUpdates, ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call, raw_call

MIN_CALLS = 200


def tool_call(case: Case) -> ToolCall:
    if isinstance(case.arguments, str):
        return raw_call(case.tool, case.arguments)
    return call(case.tool, **case.arguments)


def tree(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in files}


def reset(session: ToolEditorSession) -> None:
    for name in tree(session.root).keys() - FILES.keys():
        (session.root / name).unlink()
    for name, text in FILES.items():
        session.write_file(name, text)


def faults(case: Case, updates: CallUpdates, after: dict[str, str]) -> list[str]:
    """Return what is wrong with the result of a call."""
    expected = {**FILES, **case.writes}
    found = [f"no {each!r}" for each in case.says if each not in f"{updates.text}\n"]
    found += [f"has {each!r}" for each in case.says_not if each in f"{updates.text}\n"]
    if (updates.status == "failed") != case.is_refused:
        found.append(f"is {updates.status}")
    if after != {name: text for name, text in expected.items() if text is not None}:
        found.append(f"files {after.items() - FILES.items()}, gone {FILES.keys() - after.keys()}")
    return [f"{case}: {'; '.join(found)}\n    {updates.text}"] if found else []


def test_the_table_is_large() -> None:
    assert sum(map(len, TABLE.values())) >= MIN_CALLS


@pytest.mark.parametrize("group", TABLE)
async def test_a_foreign_or_broken_call_is_applied_as_meant_or_refused_usefully(
    tmp_path: Path, group: str
) -> None:
    wrong: list[str] = []
    async with open_tool_editor(tmp_path) as session:
        for case in TABLE[group]:
            reset(session)
            updates = await session.run_one(tool_call(case))
            wrong += faults(case, updates, tree(session.root))
    assert "\n".join(wrong) == ""
