"""`acp-server skills curate`, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.cli.command_line import CliResult, run
from tests.learning.curator_library import (
    FIRST_PROMPT,
    MERGING,
    SIBLINGS,
    CuratorLibrary,
    absorb_steps,
)


@pytest.fixture
def library(tmp_path: Path) -> CuratorLibrary:
    return CuratorLibrary(tmp_path)


def curate(library: CuratorLibrary, *options: str, script: str = MERGING) -> CliResult:
    file = library.folder / "curator.script"
    file.write_text(script, encoding="utf-8")
    return run(library.home, "skills", "curate", "--model", f"scripted:{file}", *options)


def test_a_curation_can_be_planned_run_and_undone(library: CuratorLibrary) -> None:
    before = library.files()
    plan = curate(library, "--dry-run", "--json")
    assert (plan.exit_code, json.loads(plan.stdout)["is_plan"]) == (0, True)
    assert library.files() == before
    made = curate(library, "--json")
    report = json.loads(made.stdout)
    assert report["consolidations"] == [{"from": name, "into": "pdf"} for name in SIBLINGS]
    assert Path(report["report"], "report.md").is_file()
    undone = curate(library, "--undo")
    assert (undone.exit_code, library.files()) == (0, before)
    again = curate(library, "--undo")
    assert (again.exit_code, again.stdout) == (1, "")
    assert "already undone" in again.stderr


def test_an_incomplete_curation_exits_with_1(library: CuratorLibrary) -> None:
    outcome = curate(
        library, script=f"{FIRST_PROMPT}{absorb_steps('pdf-read', into='pdf-write')}fail: Dead.\n"
    )
    assert outcome.exit_code == 1
    assert "The model failed: Dead." in outcome.stdout
    assert library.absorbed_into() == {"pdf-read": "pdf-write"}


def test_a_plan_cannot_be_undone(library: CuratorLibrary) -> None:
    outcome = curate(library, "--dry-run", "--undo")
    assert outcome.exit_code == 2
