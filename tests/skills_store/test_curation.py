"""Putting skills in order: what may be merged, what is said about it, and what happened."""

import doctest
from pathlib import Path

import pytest
import yaml

import skills_store.curation.candidates
import skills_store.curation.outcome
import skills_store.curation.summary
from skills_store.background_editor import UnaskedKeeper
from skills_store.calls import ManageCall
from skills_store.curation import (
    Archival,
    Block,
    BlockError,
    Candidate,
    Consolidation,
    CuratorKeeper,
    Hints,
    Pruning,
    Report,
    archivals,
    discrepancies,
    find_candidates,
    hints_on,
    parse_block,
    report_text,
    report_yaml,
    write_report,
)
from tests.skills_store.skill_home import House, document, write_skill

MODULES = (
    skills_store.curation.summary,
    skills_store.curation.candidates,
    skills_store.curation.outcome,
)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def make(house: House, name: str, category: str | None = None) -> None:
    house.do(ManageCall("create", name, content=document(name), category=category))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_examples_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # pyright: ignore[reportArgumentType]


def test_only_what_an_agent_made_and_nobody_pinned_is_a_candidate(house: House) -> None:
    for name in ("pdf-read", "pinned", "bundled", "hub", "installed"):
        make(house, name)
    house.do(ManageCall("create", "mine", content=document("mine"), origin="user"))
    write_skill(house.skills, "unknown")
    write_skill(house.external, "external")
    write_skill(house.workspace, "workspace")
    house.keeper.usage.pin("pinned")
    (house.skills / ".bundled_manifest").write_text("bundled:0\n")
    (house.skills / ".hub").mkdir()
    (house.skills / ".hub" / "lock.json").write_text('{"installed": {"hub": {}}}')
    (house.home / "acp" / "installed.json").write_text('{"installed": {"installed": {}}}')
    found = find_candidates(house.keeper)
    assert found == (Candidate("pdf-read", "What it is for", ""),)


HINTS = {
    "one word in common": (["pdf-read", "pdf-write"], Hints((("pdf", ("pdf-read", "pdf-write")),))),
    "a name and one that begins with it": (
        ["git", "git-push"],
        Hints((("git", ("git", "git-push")),)),
    ),
    "part of a word only": (["gitlab", "git"], Hints()),
    "a ticket": (["pr-1234-review"], Hints((), (("pr-1234-review", "names a ticket"),))),
    "a story": (["debug-login"], Hints((), (("debug-login", "tells one story"),))),
    "an error": (["import-error"], Hints((), (("import-error", "names an error"),))),
    "a day": (["sync-2026-01"], Hints((), (("sync-2026-01", "names a date"),))),
    "a version": (["django-4-2"], Hints((), (("django-4-2", "names a version"),))),
    "broad names": (["release", "code-review"], Hints()),
}


@pytest.mark.parametrize(("names", "expected"), HINTS.values(), ids=HINTS.keys())
def test_what_stands_out_among_names(names: list[str], expected: Hints) -> None:
    assert hints_on(names) == expected


ANSWER = """I merged two.

```yaml
consolidations:
  - from: pdf-read
    into: pdf
    reason: "One tool: read and written."
  - from: pdf-write
    into: pdf
    reason: The same.
prunings:
  - name: empty
    reason: It said nothing.
```
"""
SAID = Block(
    (
        Consolidation("pdf-read", "pdf", "One tool: read and written."),
        Consolidation("pdf-write", "pdf", "The same."),
    ),
    (Pruning("empty", "It said nothing."),),
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ANSWER, SAID),
        ("consolidations: []\nprunings: []\n", Block()),
        (f"```yaml\nconsolidations: []\nprunings: []\n```\nNo:\n{ANSWER}", SAID),
    ],
    ids=["fenced", "bare and empty", "the last one counts"],
)
def test_a_block_is_found_and_read(answer: str, expected: Block) -> None:
    assert parse_block(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "Nothing to do.",
        "```yaml\nconsolidations: []\n```",
        "```yaml\nconsolidations:\nprunings: []\n```",
        "```yaml\nconsolidations: []\nprunings: []\nnotes: []\n```",
        "```yaml\nconsolidations:\n  - from: a\n    into: b\nprunings: []\n```",
        "```yaml\nconsolidations:\n  - from: a\n    into:\n    reason: c\nprunings: []\n```",
        "```yaml\nconsolidations: &all []\nprunings: *all\n```",
        "```yaml\nconsolidations: [\nprunings: ]\n```",
    ],
    ids=[
        "no block",
        "one list only",
        "null for a list",
        "another key",
        "no reason",
        "an empty name",
        "an alias",
        "no YAML",
    ],
)
def test_a_block_that_is_not_as_it_should_be_is_refused(answer: str) -> None:
    with pytest.raises(BlockError):
        parse_block(answer)


HAPPENED = (Archival("pdf-read", "pdf"), Archival("pdf-write", "pdf"), Archival("empty"))


@pytest.mark.parametrize(
    ("block", "happened", "expected"),
    [
        (SAID, HAPPENED, ()),
        (Block(), (), ()),
        (
            SAID,
            HAPPENED[:2],
            ("'empty' stands in the block and was not archived.",),
        ),
        (
            Block(SAID.consolidations),
            HAPPENED,
            ("'empty' was archived as a plain pruning and stands in no list.",),
        ),
        (
            Block((Consolidation("pdf-read", "docs", "So."),)),
            HAPPENED[:1],
            ("'pdf-read' was archived into 'pdf' and stands otherwise in the block.",),
        ),
        (
            Block((), (SAID.prunings[0], SAID.prunings[0])),
            HAPPENED[2:],
            ("'empty' stands in the block 2 times; once is right.",),
        ),
        (Block((Consolidation("docs/pdf-read", "docs/pdf", "So."),)), HAPPENED[:1], ()),
    ],
    ids=["agrees", "nothing", "too much", "too little", "otherwise", "twice", "with categories"],
)
def test_a_block_is_held_against_what_happened(
    block: Block, happened: tuple[Archival, ...], expected: tuple[str, ...]
) -> None:
    assert discrepancies(block, happened) == expected


def test_what_an_unasked_keeper_changes_is_the_pass_s_whatever_the_call_says(house: House) -> None:
    keeper = UnaskedKeeper(house.home, house.roots, house.clock)
    for name in ("one", "two"):
        call = ManageCall("create", name, content=document(name), origin="user")
        keeper.commit(keeper.plan(call), "another-id")
    (kept,) = house.keeper.passes()
    assert (kept.id, kept.origin) == (keeper.undo_id, "review")
    assert [change.name for change in keeper.made] == ["one", "two"]
    house.keeper.undo(keeper.undo_id)
    assert not (house.skills / "one").exists()
    assert not (house.skills / "two").exists()


def test_a_report_says_what_happened_and_gives_the_reasons(house: House) -> None:
    for name in ("pdf", "pdf-read", "pdf-write", "empty"):
        make(house, name)
    keeper = CuratorKeeper(house.home, house.roots, house.clock)
    for name, into in (("pdf-read", "pdf"), ("pdf-write", "pdf"), ("empty", "")):
        keeper.commit(keeper.plan(ManageCall("delete", name, absorbed_into=into)))
    report = Report(house.clock(), tuple(keeper.made), SAID, ("Look.",), "20260101T120000-ab")
    folder = house.home / "acp" / "curator" / "now"
    write_report(folder, report)
    assert archivals(keeper.made) == HAPPENED
    assert report.summary == "2 skills merged into 1; 1 skill put away"
    assert (folder / "report.md").read_text() == report_text(report)
    loaded = yaml.safe_load((folder / "report.yaml").read_text())
    assert {key: loaded[key] for key in ("consolidations", "prunings")} == {
        "consolidations": [
            {"from": "pdf-read", "into": "pdf", "reason": "One tool: read and written."},
            {"from": "pdf-write", "into": "pdf", "reason": "The same."},
        ],
        "prunings": [{"name": "empty", "reason": "It said nothing."}],
    }
    assert "- `pdf-read`: One tool: read and written." in report_text(report)
    assert "- Look." in report_text(report)


def test_a_report_of_nothing_has_empty_lists(house: House) -> None:
    report = Report(house.clock(), ())
    assert report.summary == "nothing to do"
    assert report_yaml(report).endswith("consolidations: []\nprunings: []\n")
