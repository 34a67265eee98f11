from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.cli.demo import MODEL_SCRIPT
from acp_server.cli.demo_project import create_demo_project, expected_changes, verify_demo
from acp_server.cli.demo_results import DemoCheckResult, DemoSummary, DemoTurn, load_demo_script
from acp_server.models.scripted import SCRIPTS

TESTS = "tests"
FILES = load_demo_script().files
FIX_STEP = load_demo_script().steps[0]


@pytest.fixture(scope="module")
def expected() -> Mapping[str, str]:
    script = (SCRIPTS / f"{MODEL_SCRIPT}.script").read_text(encoding="utf-8")
    return expected_changes(FILES, script, FIX_STEP.prompt)


async def findings(
    folder: Path, expected: Mapping[str, str], files: Mapping[str, str]
) -> DemoCheckResult:
    """Write files into a new project; return what is found about its changes."""
    await create_demo_project(folder, FILES)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tests, changes = await verify_demo(folder, expected)
    assert tests.name == TESTS
    return changes


def test_the_script_changes_one_file_and_adds_another(expected: Mapping[str, str]) -> None:
    assert list(expected) == ["averages.py", "test_median.py"]
    assert expected["averages.py"].startswith(FILES["averages.py"].partition("def median")[0])
    assert "mean(ordered[" in expected["averages.py"]


async def test_a_fixed_project_passes(expected: Mapping[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    await create_demo_project(folder, FILES)
    for name, text in expected.items():
        (folder / name).write_text(text, encoding="utf-8")
    tests, changes = await verify_demo(folder, expected)
    assert [*tests.problems, *changes.problems] == []
    assert tests.result.startswith("Ran 8 tests in ")
    assert tests.result.endswith("s: OK (verified by the demo)")
    assert changes == DemoCheckResult("git diff", "averages.py +13 -2, test_median.py +27", [])


async def test_an_unchanged_project_fails(expected: Mapping[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    await create_demo_project(folder, FILES)
    tests, changes = await verify_demo(folder, expected)
    assert [*tests.problems, *changes.problems] == [
        "the project's tests fail",
        "averages.py does not have the expected content",
        "test_median.py does not have the expected content",
    ]


async def test_unexpected_extra_changes_are_detected(
    expected: Mapping[str, str], tmp_path: Path
) -> None:
    found = await findings(tmp_path / "project", expected, {**expected, "README.md": "Mine.\n"})
    assert found.problems == ["README.md changed unexpectedly"]


async def test_an_almost_correct_change_fails(expected: Mapping[str, str], tmp_path: Path) -> None:
    almost = {name: f"{text}\n" for name, text in expected.items()}
    found = await findings(tmp_path / "project", expected, almost)
    assert found.problems == [
        "averages.py does not have the expected content",
        "test_median.py does not have the expected content",
    ]


def test_failed_checks_are_problems_of_the_whole_demo() -> None:
    found = DemoCheckResult("git diff", "nothing", ("README.md changed unexpectedly",))
    turn = DemoTurn(FIX_STEP, 0.0, failed_calls=2, stop_reason="refusal")
    assert DemoSummary([turn], findings=(found,)).problems == [
        f"{FIX_STEP.prompt!r} ended with refusal, not end_turn",
        f"{FIX_STEP.prompt!r}: 2 tool calls failed, not 1",
        "README.md changed unexpectedly",
    ]
