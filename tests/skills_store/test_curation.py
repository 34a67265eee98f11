"""Putting skills in order: what may be merged, what is said about it, and what happened."""

import doctest
from pathlib import Path

import pytest
import yaml

import skills_store.curation.candidates
import skills_store.curation.outcome
import skills_store.curation.summary
from skills_store.background_editor import BackgroundSkillEditor
from skills_store.calls import ManageCall
from skills_store.curation.candidates import (
    CurationCandidate,
    NameHints,
    find_candidates,
    find_name_hints,
)
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.curation.outcome import ArchiveOutcome, archive_outcomes, find_discrepancies
from skills_store.curation.report import (
    CurationReport,
    render_report,
    render_report_yaml,
    write_report,
)
from skills_store.curation.summary import (
    Consolidation,
    CuratorSummary,
    CuratorSummaryError,
    Pruning,
    parse_summary,
)
from tests.skills_store.skill_home import SkillHome, skill_document, write_skill
from tests.support.case_table import each_case

MODULES = (
    skills_store.curation.summary,
    skills_store.curation.candidates,
    skills_store.curation.outcome,
)


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def make(skill_home: SkillHome, name: str, category: str | None = None) -> None:
    skill_home.apply(ManageCall("create", name, content=skill_document(name), category=category))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_doctests_pass(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # pyright: ignore[reportArgumentType]


def test_only_unpinned_agent_made_skills_are_candidates(skill_home: SkillHome) -> None:
    for name in ("pdf-read", "pinned", "bundled", "hub", "installed"):
        make(skill_home, name)
    skill_home.apply(ManageCall("create", "mine", content=skill_document("mine"), origin="user"))
    write_skill(skill_home.skills, "unknown")
    write_skill(skill_home.external, "external")
    write_skill(skill_home.workspace, "workspace")
    skill_home.editor.usage.pin("pinned")
    (skill_home.skills / ".bundled_manifest").write_text("bundled:0\n")
    (skill_home.skills / ".hub").mkdir()
    (skill_home.skills / ".hub" / "lock.json").write_text('{"installed": {"hub": {}}}')
    (skill_home.home / "acp" / "installed.json").write_text('{"installed": {"installed": {}}}')
    found = find_candidates(skill_home.editor)
    assert found == (CurationCandidate("pdf-read", "What it is for", ""),)


HINTS = {
    "one word in common": (
        ["pdf-read", "pdf-write"],
        NameHints((("pdf", ("pdf-read", "pdf-write")),)),
    ),
    "a name and one that begins with it": (
        ["git", "git-push"],
        NameHints((("git", ("git", "git-push")),)),
    ),
    "part of a word only": (["gitlab", "git"], NameHints()),
    "a ticket": (["pr-1234-review"], NameHints((), (("pr-1234-review", "names a ticket"),))),
    "a story": (["debug-login"], NameHints((), (("debug-login", "tells one story"),))),
    "an error": (["import-error"], NameHints((), (("import-error", "names an error"),))),
    "a day": (["sync-2026-01"], NameHints((), (("sync-2026-01", "names a date"),))),
    "a version": (["django-4-2"], NameHints((), (("django-4-2", "names a version"),))),
    "broad names": (["release", "code-review"], NameHints()),
}


@each_case(("names", "expected"), HINTS.values(), ids=HINTS.keys())
def test_related_names_are_found(names: list[str], expected: NameHints) -> None:
    assert find_name_hints(names) == expected


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
SUMMARY = CuratorSummary(
    (
        Consolidation("pdf-read", "pdf", "One tool: read and written."),
        Consolidation("pdf-write", "pdf", "The same."),
    ),
    (Pruning("empty", "It said nothing."),),
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ANSWER, SUMMARY),
        ("consolidations: []\nprunings: []\n", CuratorSummary()),
        (f"```yaml\nconsolidations: []\nprunings: []\n```\nNo:\n{ANSWER}", SUMMARY),
    ],
    ids=["fenced", "bare and empty", "the last one counts"],
)
def test_a_report_block_is_found_and_parsed(answer: str, expected: CuratorSummary) -> None:
    assert parse_summary(answer) == expected


@each_case(
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
def test_a_malformed_report_block_is_rejected(answer: str) -> None:
    with pytest.raises(CuratorSummaryError):
        parse_summary(answer)


HAPPENED = (
    ArchiveOutcome("pdf-read", "pdf"),
    ArchiveOutcome("pdf-write", "pdf"),
    ArchiveOutcome("empty"),
)


@pytest.mark.parametrize(
    ("block", "happened", "expected"),
    [
        (SUMMARY, HAPPENED, ()),
        (CuratorSummary(), (), ()),
        (
            SUMMARY,
            HAPPENED[:2],
            ("'empty' stands in the block and was not archived.",),
        ),
        (
            CuratorSummary(SUMMARY.consolidations),
            HAPPENED,
            ("'empty' was archived as a plain pruning and stands in no list.",),
        ),
        (
            CuratorSummary((Consolidation("pdf-read", "docs", "So."),)),
            HAPPENED[:1],
            ("'pdf-read' was archived into 'pdf' and stands otherwise in the block.",),
        ),
        (
            CuratorSummary((), (SUMMARY.prunings[0], SUMMARY.prunings[0])),
            HAPPENED[2:],
            ("'empty' stands in the block 2 times; once is right.",),
        ),
        (CuratorSummary((Consolidation("docs/pdf-read", "docs/pdf", "So."),)), HAPPENED[:1], ()),
    ],
    ids=["agrees", "nothing", "too much", "too little", "otherwise", "twice", "with categories"],
)
def test_a_report_block_is_compared_with_the_actual_changes(
    block: CuratorSummary, happened: tuple[ArchiveOutcome, ...], expected: tuple[str, ...]
) -> None:
    assert find_discrepancies(block, happened) == expected


def test_background_changes_belong_to_the_review_run_whatever_the_call_says(
    skill_home: SkillHome,
) -> None:
    editor = BackgroundSkillEditor(skill_home.home, skill_home.roots, skill_home.clock)
    for name in ("one", "two"):
        call = ManageCall("create", name, content=skill_document(name), origin="user")
        editor.commit(editor.plan(call), "another-id")
    (record,) = skill_home.editor.undo_records()
    assert (record.id, record.origin) == (editor.undo_id, "review")
    assert [change.name for change in editor.changes] == ["one", "two"]
    skill_home.editor.undo(editor.undo_id)
    assert not (skill_home.skills / "one").exists()
    assert not (skill_home.skills / "two").exists()


def test_a_report_lists_changes_and_reasons(skill_home: SkillHome) -> None:
    for name in ("pdf", "pdf-read", "pdf-write", "empty"):
        make(skill_home, name)
    editor = CuratorSkillEditor(skill_home.home, skill_home.roots, skill_home.clock)
    for name, into in (("pdf-read", "pdf"), ("pdf-write", "pdf"), ("empty", "")):
        editor.commit(editor.plan(ManageCall("delete", name, absorbed_into=into)))
    report = CurationReport(
        skill_home.clock(), tuple(editor.changes), SUMMARY, ("Look.",), "20260101T120000-ab"
    )
    folder = skill_home.home / "acp" / "curator" / "now"
    write_report(folder, report)
    assert archive_outcomes(editor.changes) == HAPPENED
    assert report.summary == "2 skills merged into 1; 1 skill put away"
    assert (folder / "report.md").read_text() == render_report(report)
    loaded = yaml.safe_load((folder / "report.yaml").read_text())
    assert {key: loaded[key] for key in ("consolidations", "prunings")} == {
        "consolidations": [
            {"from": "pdf-read", "into": "pdf", "reason": "One tool: read and written."},
            {"from": "pdf-write", "into": "pdf", "reason": "The same."},
        ],
        "prunings": [{"name": "empty", "reason": "It said nothing."}],
    }
    assert "- `pdf-read`: One tool: read and written." in render_report(report)
    assert "- Look." in render_report(report)


def test_an_empty_report_has_empty_lists(skill_home: SkillHome) -> None:
    report = CurationReport(skill_home.clock(), ())
    assert report.summary == "nothing to do"
    assert render_report_yaml(report).endswith("consolidations: []\nprunings: []\n")


def test_a_run_that_changed_nothing_offers_no_undo(skill_home: SkillHome) -> None:
    report = CurationReport(skill_home.clock(), (), snapshot_id="20261123T080000Z")
    assert "Nothing to do." in render_report(report)
    assert "--undo" not in render_report(report)
