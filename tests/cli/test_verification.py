import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.cli.demo import MODEL_SCRIPT
from acp_server.cli.demo_project import (
    DemoCheckResult,
    create_demo_project,
    load_demo_script,
    verify_demo,
)
from acp_server.cli.demo_runner import DemoTurn
from acp_server.cli.transcript import Transcript
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.models.script import CallLine, parse_script
from acp_server.models.scripted import SCRIPTS

SCRIPT = load_demo_script()
FIX_STEP = SCRIPT.steps[0]
DIFFERENT = f"the project's changes are not {', '.join(SCRIPT.changes)}"


@pytest.fixture(scope="module")
def expected() -> Mapping[str, str]:
    """The files that the model's script changes, with their new texts."""
    text = (SCRIPTS / f"{MODEL_SCRIPT}.script").read_text(encoding="utf-8")
    block = next(each for each in parse_script(text) if each.matches(FIX_STEP.prompt))
    changed: dict[str, str] = {}
    for line in block.lines:
        if isinstance(line, CallLine) and line.name in {"write_file", "patch"}:
            edit: dict[str, str] = json.loads(line.arguments)
            old = SCRIPT.files.get(edit["path"], "")
            is_patch = line.name == "patch"
            new = old.replace(edit["old_string"], edit["new_string"]) if is_patch else ""
            changed[edit["path"]] = new or edit["content"]
    return changed


async def findings(folder: Path, files: Mapping[str, str]) -> DemoCheckResult:
    """Write files into a new project; return what is found about its changes."""
    await create_demo_project(folder, SCRIPT.files)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tests, changes = await verify_demo(folder, SCRIPT.changes)
    assert tests.name == "tests"
    return changes


def test_the_script_changes_one_file_and_adds_another(expected: Mapping[str, str]) -> None:
    assert list(expected) == ["averages.py", "test_median.py"]
    assert expected["averages.py"].startswith(
        SCRIPT.files["averages.py"].partition("def median")[0]
    )
    assert "mean(ordered[" in expected["averages.py"]


async def test_a_fixed_project_passes(expected: Mapping[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    await create_demo_project(folder, SCRIPT.files)
    for name, text in expected.items():
        (folder / name).write_text(text, encoding="utf-8")
    tests, changes = await verify_demo(folder, SCRIPT.changes)
    assert (tests.problem, changes.problem) == ("", "")
    assert tests.result.startswith("Ran 8 tests in ")
    assert tests.result.endswith("s: OK (verified by the demo)")
    assert changes == DemoCheckResult("git diff", "averages.py +13 -2, test_median.py +27")


async def test_an_unchanged_project_fails(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    await create_demo_project(folder, SCRIPT.files)
    tests, changes = await verify_demo(folder, SCRIPT.changes)
    assert (tests.problem, changes.problem) == ("the project's tests fail", DIFFERENT)


async def test_unexpected_extra_changes_are_detected(
    expected: Mapping[str, str], tmp_path: Path
) -> None:
    found = await findings(tmp_path / "project", {**expected, "README.md": "Mine.\n"})
    assert found.problem == DIFFERENT


async def test_an_almost_correct_change_fails(expected: Mapping[str, str], tmp_path: Path) -> None:
    almost = {name: f"{text}\n" for name, text in expected.items()}
    found = await findings(tmp_path / "project", almost)
    assert found.problem == DIFFERENT


def test_a_turn_that_ends_otherwise_or_fails_a_call_is_a_problem() -> None:
    transcript = Transcript()
    transcript.entries += [ToolCallState(0.0, status="failed") for _ in range(2)]
    turn = DemoTurn(FIX_STEP, transcript, 0, 0.0, stop_reason="refusal")
    assert list(turn.problems) == [
        f"{FIX_STEP.prompt!r} ended with refusal, not end_turn",
        f"{FIX_STEP.prompt!r}: 2 tool calls failed, not 1",
    ]
