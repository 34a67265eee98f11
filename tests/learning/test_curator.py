"""A curator's pass end to end: a library, a model that plays a script, and what is left of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from acp_server.learning.curator_run import NothingToUndoError
from skills_store.curation.schedule import CurationSchedule
from skills_store.locks import LockedError
from tests.learning.curator_library import (
    ALL_MERGED,
    ATTEMPTS,
    CORRECTION_PROMPT,
    CREATE,
    FIRST_PROMPT,
    PICTURE,
    REPEAT_PROMPT,
    SIBLINGS,
    CuratorLibrary,
    absorb_steps,
    summary_step,
)
from tests.skills_store.skill_home import files_in, write_skill


@pytest.fixture
def library(tmp_path: Path) -> CuratorLibrary:
    return CuratorLibrary(tmp_path)


async def test_three_narrow_skills_are_merged_into_one(library: CuratorLibrary) -> None:
    run = await library.make_curator_runs().run()
    assert library.absorbed_into() == dict.fromkeys(SIBLINGS, "pdf")
    assert (library.skills / "pdf" / "assets" / "page.png").read_bytes() == PICTURE
    assert run.report.issues == ()
    assert run.report.summary == "3 skills merged into 1; changed: pdf"


async def test_the_report_matches_the_actual_changes(library: CuratorLibrary) -> None:
    run = await library.make_curator_runs().run()
    assert run.directory is not None
    report = yaml.safe_load((run.directory / "report.yaml").read_text())
    assert {key: report[key] for key in ("consolidations", "prunings")} == {
        "consolidations": [
            {"from": name, "into": "pdf", "reason": "One tool."} for name in SIBLINGS
        ],
        "prunings": [],
    }
    assert "## Merged into `pdf`" in (run.directory / "report.md").read_text()


async def test_undo_restores_every_byte(library: CuratorLibrary) -> None:
    before = library.files()
    runs = library.make_curator_runs()
    await runs.run()
    assert library.files() != before
    await runs.undo()
    assert library.files() == before
    with pytest.raises(NothingToUndoError):
        await runs.undo()


async def test_a_run_without_changes_keeps_the_previous_one_undoable(
    library: CuratorLibrary,
) -> None:
    before = library.files()
    await library.make_curator_runs().run()
    await library.make_curator_runs(f"{FIRST_PROMPT}{summary_step({})}").run()
    await library.make_curator_runs().undo()
    assert library.files() == before


async def test_a_dry_run_writes_nothing_and_reports_the_planned_changes(
    library: CuratorLibrary,
) -> None:
    before = files_in(library.home)
    run = await library.make_curator_runs().dry_run()
    assert files_in(library.home) == before
    assert run.directory is None
    assert run.report.summary == "3 skills merged into 1; changed: pdf"


async def test_an_incorrect_summary_is_requested_again(library: CuratorLibrary) -> None:
    wrong = summary_step(dict.fromkeys(SIBLINGS[:2], "pdf"))
    script = (
        f"{FIRST_PROMPT}{CREATE}{absorb_steps(*SIBLINGS)}{wrong}{CORRECTION_PROMPT}{ALL_MERGED}"
    )
    run = await library.make_curator_runs(script).run()
    assert run.report.issues == ()
    assert [each.source for each in run.report.curator_summary.consolidations] == [*SIBLINGS]


async def test_a_persistently_incorrect_summary_is_noted_in_the_report(
    library: CuratorLibrary,
) -> None:
    script = (
        f"{FIRST_PROMPT}{CREATE}{absorb_steps('pdf-read')}say: Done.\n"
        f"{CORRECTION_PROMPT}say: Done, I said.\n"
    )
    run = await library.make_curator_runs(script).run()
    assert run.directory is not None
    assert len(run.report.issues) == 1
    report = yaml.safe_load((run.directory / "report.yaml").read_text())
    assert report["consolidations"] == [
        {"from": "pdf-read", "into": "pdf", "reason": "No reason was given."}
    ]
    assert "## To be looked at" in (run.directory / "report.md").read_text()


async def test_the_model_is_asked_again_while_mergeable_skills_remain(
    library: CuratorLibrary,
) -> None:
    first = f"{FIRST_PROMPT}{CREATE}{absorb_steps('pdf-read')}{summary_step({'pdf-read': 'pdf'})}"
    script = f"{first}{REPEAT_PROMPT}{absorb_steps('pdf-split', 'pdf-write')}{ALL_MERGED}"
    run = await library.make_curator_runs(script).run()
    assert library.absorbed_into() == dict.fromkeys(SIBLINGS, "pdf")
    assert run.report.issues == ()


async def test_changes_made_before_a_model_failure_are_kept_and_undoable(
    library: CuratorLibrary,
) -> None:
    before = library.files()
    runs = library.make_curator_runs(
        f"{FIRST_PROMPT}{CREATE}{absorb_steps('pdf-read')}fail: The line is dead.\n"
    )
    run = await runs.run()
    assert run.report.issues == ("The model failed: The line is dead.",)
    assert library.absorbed_into() == {"pdf-read": "pdf"}
    await runs.undo()
    assert library.files() == before


async def test_without_candidates_no_model_request_is_made(library: CuratorLibrary) -> None:
    for name in SIBLINGS:
        library.skill_editor.usage.pin(name)
    curated = await library.make_curator_runs(f"{FIRST_PROMPT}fail: It was asked.\n").run()
    assert (curated.usage_totals.requests, curated.report.issues) == (0, ())


async def test_the_curator_is_given_overlaps_found_by_reviews_once(library: CuratorLibrary) -> None:
    CurationSchedule(library.skill_editor.home).record_overlaps(["pdf-read, release"])
    script = f"prompt: - pdf-read, release\n{summary_step({})}"
    assert (await library.make_curator_runs(script).run()).report.issues == ()
    assert CurationSchedule(library.skill_editor.home).overlaps() == ()


async def test_only_one_curation_runs_at_a_time(library: CuratorLibrary) -> None:
    with CurationSchedule(library.skill_editor.home).exclusive(), pytest.raises(LockedError):
        await library.make_curator_runs().run()


def pinned(library: CuratorLibrary) -> str:
    library.create_skill("kept")
    library.skill_editor.usage.pin("kept")
    return "kept"


def bundled_by_us(library: CuratorLibrary) -> str:
    return write_skill(library.folder / "bundled", "ours").name


def bundled_by_hermes(library: CuratorLibrary) -> str:
    library.create_skill("theirs")
    (library.skills / ".bundled_manifest").write_text("theirs:0\n")
    return "theirs"


def installed(library: CuratorLibrary) -> str:
    library.create_skill("got")
    (library.home / "acp" / "installed.json").write_text('{"installed": {"got": {}}}')
    return "got"


def in_another_root(library: CuratorLibrary) -> str:
    return write_skill(library.folder / "user" / ".agents" / "skills", "shared").name


@pytest.mark.parametrize(
    "put", [pinned, bundled_by_us, bundled_by_hermes, installed, in_another_root]
)
async def test_the_model_cannot_change_skills_of_others(
    library: CuratorLibrary, put: Callable[[CuratorLibrary], str]
) -> None:
    name = put(library)
    picture = library.skills / "pdf-read" / "assets" / "page.png"
    picture.unlink()  # so that nothing but the archive could take it up
    before = {path: data for path, data in everything(library).items() if name in path}
    assert before
    await library.make_curator_runs(
        f"{FIRST_PROMPT}{ATTEMPTS.format(name=name)}{summary_step({})}"
    ).run()
    after = {path: data for path, data in everything(library).items() if name in path}
    assert after == before


def everything(library: CuratorLibrary) -> dict[str, bytes]:
    """Return all files of all roots, without what is kept about them."""
    return files_in(
        library.folder, is_hidden=lambda path: path.startswith(("home/acp/", "home/skills/."))
    )
