"""Cursor's rules that the scan blocks: a line stands for them, and nothing else is lost."""

from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.findings import ThreatFinding
from prompt_engine.hint_blocks import LoadedHints
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.user_texts import BLOCKED_NOT_SHOWN

RULE = ".cursor/rules/bad.mdc"
TEXT = "---\nglobs: '*.py'\n---\nfine\nATTACK"
LINE = f"[{RULE} {BLOCKED_NOT_SHOWN}: bad-word in line 5.]"


class BlockedRuleWorkspace:
    """A workspace with a rule that is blocked, and what of it the model has."""

    def __init__(self, root: Path, rule: str = TEXT) -> None:
        self.root = write_tree(root, {RULE: rule, "a/AGENTS.md": "Of a."})
        self.is_trusting = False
        self.finder = HintFinder((root,), scan, lambda _path, _sha256: self.is_trusting)
        self.loaded = LoadedHints()

    def touch(self, name: str = "a/x.py") -> HintDelivery:
        found = self.finder.find([self.root / name], self.loaded)
        self.loaded = self.loaded.merged_with(found.loaded)
        return found

    def hints_for(self, name: str = "a/x.py") -> list[tuple[str, str, bool]]:
        return [(hint.label, hint.text, hint.is_changed) for hint in self.touch(name).hints]


def test_a_notice_replaces_it_and_directory_instructions_still_arrive(
    tmp_path: Path,
) -> None:
    workspace = BlockedRuleWorkspace(tmp_path)
    assert workspace.hints_for() == [("a/AGENTS.md", "Of a.", False), (RULE, LINE, False)]
    assert workspace.hints_for() == []


def test_the_user_is_notified_with_pattern_and_line(tmp_path: Path) -> None:
    notes = {note.path: note for note in BlockedRuleWorkspace(tmp_path).touch().notes}
    found = (ThreatFinding("bad-word", "context", 5, 1),)
    assert notes[RULE] == ContextFileNote(RULE, "blocked", 11, 0, "bad-word in line 5", found)


def test_a_path_outside_its_globs_adds_no_notice(tmp_path: Path) -> None:
    assert BlockedRuleWorkspace(tmp_path).hints_for("a/x.ts") == [("a/AGENTS.md", "Of a.", False)]


def test_a_blocked_rule_does_not_hide_other_rules(tmp_path: Path) -> None:
    workspace = BlockedRuleWorkspace(tmp_path)
    write_tree(tmp_path, {".cursor/rules/good.mdc": "---\nglobs: '*.py'\n---\nUse tabs."})
    assert [label for label, _, _ in workspace.hints_for()] == [
        "a/AGENTS.md",
        RULE,
        ".cursor/rules/good.mdc",
    ]


def test_the_frontmatter_is_scanned_too(tmp_path: Path) -> None:
    workspace = BlockedRuleWorkspace(tmp_path, "---\nglobs: '*.py'\ndescription: ATTACK\n---\nfine")
    assert workspace.hints_for()[1][1] == LINE.replace("line 5", "line 3")


@pytest.mark.parametrize(
    ("change", "text"), [("trust", "fine\nATTACK"), ("mend", "fine")], ids=["trusted", "mended"]
)
def test_a_rule_that_becomes_trusted_or_fixed_is_delivered_as_changed(
    tmp_path: Path, change: str, text: str
) -> None:
    workspace = BlockedRuleWorkspace(tmp_path)
    workspace.touch()
    workspace.is_trusting = change == "trust"
    if change == "mend":
        write_tree(tmp_path, {RULE: TEXT.removesuffix("\nATTACK")})
    assert workspace.hints_for() == [(RULE, text, True)]
    assert workspace.hints_for() == []


def test_a_rule_that_becomes_blocked_is_replaced_by_a_notice(tmp_path: Path) -> None:
    workspace = BlockedRuleWorkspace(tmp_path, TEXT.removesuffix("\nATTACK"))
    assert workspace.hints_for()[1] == (RULE, "fine", False)
    write_tree(tmp_path, {RULE: TEXT})
    assert workspace.hints_for() == [(RULE, LINE, True)]
