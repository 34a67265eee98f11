"""A curator's pass end to end: a library, a model that plays a script, and what is left of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from acp_server.learning.curator_run import NothingToUndoError
from skills_store.curation import Schedule
from skills_store.locks import LockedError
from tests.learning.curator_library import (
    AGAIN,
    ALL_MERGED,
    ATTEMPTS,
    CORRECTED,
    CREATE,
    FIRST,
    PICTURE,
    SIBLINGS,
    Library,
    absorb,
    account,
)
from tests.skills_store.skill_home import files_in, write_skill


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


async def test_three_narrow_skills_end_under_one_umbrella(library: Library) -> None:
    curated = await library.curation().run()
    assert library.archived() == dict.fromkeys(SIBLINGS, "pdf")
    assert (library.skills / "pdf" / "assets" / "page.png").read_bytes() == PICTURE
    assert curated.report.faults == ()
    assert curated.report.summary == "3 skills merged into 1; changed: pdf"


async def test_the_report_s_block_is_what_happened(library: Library) -> None:
    curated = await library.curation().run()
    assert curated.folder is not None
    told = yaml.safe_load((curated.folder / "report.yaml").read_text())
    assert {key: told[key] for key in ("consolidations", "prunings")} == {
        "consolidations": [
            {"from": name, "into": "pdf", "reason": "One tool."} for name in SIBLINGS
        ],
        "prunings": [],
    }
    assert "## Merged into `pdf`" in (curated.folder / "report.md").read_text()


async def test_undo_restores_every_byte(library: Library) -> None:
    before = library.files()
    curation = library.curation()
    await curation.run()
    assert library.files() != before
    await curation.undo()
    assert library.files() == before
    with pytest.raises(NothingToUndoError):
        await curation.undo()


async def test_a_pass_that_changes_nothing_leaves_the_last_one_to_undo(library: Library) -> None:
    before = library.files()
    await library.curation().run()
    await library.curation(f"{FIRST}{account({})}").run()
    await library.curation().undo()
    assert library.files() == before


async def test_a_dry_run_writes_nothing_and_says_what_would_be_done(library: Library) -> None:
    before = files_in(library.home)
    curated = await library.curation().rehearse()
    assert files_in(library.home) == before
    assert curated.folder is None
    assert curated.report.summary == "3 skills merged into 1; changed: pdf"


async def test_an_account_that_is_wrong_is_asked_for_again(library: Library) -> None:
    wrong = account(dict.fromkeys(SIBLINGS[:2], "pdf"))
    script = f"{FIRST}{CREATE}{absorb(*SIBLINGS)}{wrong}{CORRECTED}{ALL_MERGED}"
    curated = await library.curation(script).run()
    assert curated.report.faults == ()
    assert [each.source for each in curated.report.block.consolidations] == [*SIBLINGS]


async def test_an_account_that_stays_wrong_is_told_in_the_report(library: Library) -> None:
    script = f"{FIRST}{CREATE}{absorb('pdf-read')}say: Done.\n{CORRECTED}say: Done, I said.\n"
    curated = await library.curation(script).run()
    assert curated.folder is not None
    assert len(curated.report.faults) == 1
    told = yaml.safe_load((curated.folder / "report.yaml").read_text())
    assert told["consolidations"] == [
        {"from": "pdf-read", "into": "pdf", "reason": "No reason was given."}
    ]
    assert "## To be looked at" in (curated.folder / "report.md").read_text()


async def test_it_is_asked_again_while_something_stands_out(library: Library) -> None:
    first = f"{FIRST}{CREATE}{absorb('pdf-read')}{account({'pdf-read': 'pdf'})}"
    script = f"{first}{AGAIN}{absorb('pdf-split', 'pdf-write')}{ALL_MERGED}"
    curated = await library.curation(script).run()
    assert library.archived() == dict.fromkeys(SIBLINGS, "pdf")
    assert curated.report.faults == ()


async def test_what_a_failing_model_has_done_stays_and_can_be_undone(library: Library) -> None:
    before = library.files()
    curation = library.curation(f"{FIRST}{CREATE}{absorb('pdf-read')}fail: The line is dead.\n")
    curated = await curation.run()
    assert curated.report.faults == ("The model failed: The line is dead.",)
    assert library.archived() == {"pdf-read": "pdf"}
    await curation.undo()
    assert library.files() == before


async def test_without_candidates_no_model_is_asked(library: Library) -> None:
    for name in SIBLINGS:
        library.keeper.usage.pin(name)
    curated = await library.curation(f"{FIRST}fail: It was asked.\n").run()
    assert (curated.spent.requests, curated.report.faults) == (0, ())


async def test_it_is_told_what_reviews_found_to_overlap_once(library: Library) -> None:
    Schedule(library.keeper.home).note_overlaps(["pdf-read, release"])
    script = f"prompt: - pdf-read, release\n{account({})}"
    assert (await library.curation(script).run()).report.faults == ()
    assert Schedule(library.keeper.home).overlaps() == ()


async def test_one_pass_at_a_time(library: Library) -> None:
    with Schedule(library.keeper.home).alone(), pytest.raises(LockedError):
        await library.curation().run()


def pinned(library: Library) -> str:
    library.make("kept")
    library.keeper.usage.pin("kept")
    return "kept"


def bundled_by_us(library: Library) -> str:
    return write_skill(library.folder / "bundled", "ours").name


def bundled_by_hermes(library: Library) -> str:
    library.make("theirs")
    (library.skills / ".bundled_manifest").write_text("theirs:0\n")
    return "theirs"


def installed(library: Library) -> str:
    library.make("got")
    (library.home / "acp" / "installed.json").write_text('{"installed": {"got": {}}}')
    return "got"


def elsewhere(library: Library) -> str:
    return write_skill(library.folder / "user" / ".agents" / "skills", "shared").name


@pytest.mark.parametrize("put", [pinned, bundled_by_us, bundled_by_hermes, installed, elsewhere])
async def test_whatever_the_model_tries_the_skills_of_others_stay(
    library: Library, put: Callable[[Library], str]
) -> None:
    name = put(library)
    picture = library.skills / "pdf-read" / "assets" / "page.png"
    picture.unlink()  # so that nothing but the archive could take it up
    before = {path: data for path, data in everything(library).items() if name in path}
    assert before
    await library.curation(f"{FIRST}{ATTEMPTS.format(name=name)}{account({})}").run()
    after = {path: data for path, data in everything(library).items() if name in path}
    assert after == before


def everything(library: Library) -> dict[str, bytes]:
    """Return all files of all roots, without what is kept about them."""
    return files_in(
        library.folder, is_hidden=lambda path: path.startswith(("home/acp/", "home/skills/."))
    )
