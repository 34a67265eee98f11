"""Which hints a touched path brings: each once, the right one, none from elsewhere."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.hint_blocks import (
    InstructionHint,
    LoadedHints,
    find_loaded_hints,
    short_digest,
    wrap_hint,
)
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.trust import sha256_of
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.user_texts import BLOCKED_NOT_SHOWN, LINKS_OUTSIDE_WORKSPACE

SECRET = b"of this session"


class HintConversation:
    """A conversation that keeps the hints it was given, as texts and nothing else."""

    def __init__(self, *roots: Path) -> None:
        self.finder = HintFinder(roots, scan, lambda _path, _sha256: self.is_trusting)
        self.prompt = find_project_context(ContextRequest(roots[0], roots[1:]), scan).loaded
        self.texts: list[str] = []
        self.is_trusting = False
        self.root = roots[0]

    def touch(self, *names: str) -> HintDelivery:
        """Touch some paths and keep what that brings."""
        loaded = self.prompt.merged_with(find_loaded_hints(self.texts, SECRET))
        delivery = self.finder.find([self.root / name for name in names], loaded)
        self.texts += [wrap_hint(hint, SECRET) for hint in delivery.hints]
        return delivery

    def hints_for(self, *names: str) -> list[tuple[str, str]]:
        """Touch some paths and return the labels and texts that brings."""
        return [(hint.label, hint.text) for hint in self.touch(*names).hints]


def test_a_hint_names_its_path_and_its_trigger(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/AGENTS.md": "---\nx: y\n---\n\nUse tabs.\n"})
    digest = short_digest(sha256_of((tmp_path / "a" / "AGENTS.md").read_bytes()))
    assert HintConversation(tmp_path).touch("a/new/x.py") == HintDelivery(
        hints=(
            InstructionHint(
                path=tmp_path / "a" / "AGENTS.md",
                label="a/AGENTS.md",
                text="Use tabs.",
                digest=digest,
                is_changed=False,
            ),
        ),
        notes=(ContextFileNote("a/AGENTS.md", "loaded", 9, 9),),
    )


TREE = {
    "AGENTS.md": "root",
    "a/AGENTS.md": "a",
    "a/b/CLAUDE.md": "b",
    "a/b/c/x.py": "",
    "z/AGENTS.md": "z",
}
A, B, Z = ("a/AGENTS.md", "a"), ("a/b/CLAUDE.md", "b"), ("z/AGENTS.md", "z")


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        pytest.param(["x.py"], [], id="the root has spoken already"),
        pytest.param(["."], [], id="the root itself"),
        pytest.param([".."], [], id="above the root"),
        pytest.param(["a/b/c/x.py"], [A, B], id="outermost first"),
        pytest.param(["a"], [A], id="a folder is its own folder"),
        pytest.param(["a/b/new/deep/x.py"], [A, B], id="a file that is not there yet"),
        pytest.param(["z/x", "a/b/x", "a/x"], [Z, A, B], id="paths in order"),
        pytest.param(["a/x", "a/b/x"], [A, B], id="what two paths share comes once"),
        pytest.param(["a/../z/x"], [Z], id="a way around"),
        pytest.param(["a/\0"], [], id="no path at all"),
        pytest.param(["a/" + "x" * 300], [A], id="a name too long"),
        pytest.param(["AGENTS.md/x"], [], id="a file as a folder"),
    ],
)
def test_a_path_triggers_the_hints_that_apply_to_it(
    tmp_path: Path, touched: Sequence[str], expected: list[tuple[str, str]]
) -> None:
    assert HintConversation(write_tree(tmp_path, TREE)).hints_for(*touched) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([".hermes.md", "AGENTS.override.md"], ".hermes.md", id=".hermes.md"),
        pytest.param(["AGENTS.override.md", "AGENTS.md"], "AGENTS.override.md", id="override"),
        pytest.param(["AGENTS.md", "CLAUDE.md"], "AGENTS.md", id="AGENTS.md"),
        pytest.param(["CLAUDE.md", ".cursorrules"], "CLAUDE.md", id="CLAUDE.md"),
        pytest.param([".cursorrules", "README.md"], ".cursorrules", id=".cursorrules"),
    ],
)
def test_the_first_file_name_in_a_directory_wins(
    tmp_path: Path, names: list[str], expected: str
) -> None:
    write_tree(tmp_path, {f"a/{name}": name for name in names})
    assert HintConversation(tmp_path).hints_for("a/x") == [(f"a/{expected}", expected)]


def test_an_empty_file_does_not_hide_the_next(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/AGENTS.md": "---\nx: y\n---\n", "a/CLAUDE.md": "a"})
    assert HintConversation(tmp_path).hints_for("a/x") == [("a/CLAUDE.md", "a")]


def test_five_ancestor_directories_are_searched(tmp_path: Path) -> None:
    folders = ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/b/c/d/e/f", "a/b/c/d/e/f/g"]
    write_tree(tmp_path, {f"{folders[0]}/AGENTS.md": "a", f"{folders[1]}/AGENTS.md": "b"})
    write_tree(tmp_path, {f"{folders[6]}/": ""})
    assert HintConversation(tmp_path).hints_for(f"{folders[6]}/x") == [("a/b/AGENTS.md", "b")]


def test_a_hint_is_delivered_once(tmp_path: Path) -> None:
    chat = HintConversation(write_tree(tmp_path, TREE))
    assert chat.hints_for("a/b/x") == [A, B]
    assert chat.touch("a/b/x", "a/y", "a/b/c/x.py") == HintDelivery()


def test_an_identical_copy_elsewhere_is_not_repeated(tmp_path: Path) -> None:
    write_tree(tmp_path, {"AGENTS.md": "root", "a/AGENTS.md": "same", "b/CLAUDE.md": "same"})
    write_tree(tmp_path, {"c/AGENTS.md": "root"})
    chat = HintConversation(tmp_path)
    assert chat.hints_for("a/x", "b/x") == [("a/AGENTS.md", "same")]
    assert chat.hints_for("b/x", "c/x") == []


def test_hints_lost_with_old_messages_return_on_the_next_touch(tmp_path: Path) -> None:
    chat = HintConversation(write_tree(tmp_path, TREE))
    chat.touch("a/x")
    chat.touch("a/b/x")
    del chat.texts[0]
    assert chat.hints_for("a/b/x") == [A]
    assert chat.hints_for("a/b/x") == []


def test_another_conversation_has_its_own_hints(tmp_path: Path) -> None:
    one = HintConversation(write_tree(tmp_path, TREE))
    one.touch("a/x")
    fork = HintConversation(tmp_path)
    fork.texts = list(one.texts)
    assert fork.hints_for("a/x", "z/x") == [Z]
    assert HintConversation(tmp_path).hints_for("a/x") == [A]


@pytest.mark.parametrize("name", ["a/AGENTS.md", "AGENTS.md", ".cursor/rules/always.mdc"])
def test_a_changed_file_is_delivered_again_as_changed(tmp_path: Path, name: str) -> None:
    files = {name: "old"} if name != "a/AGENTS.md" else {"AGENTS.md": "root", name: "old"}
    chat = HintConversation(write_tree(tmp_path, files))
    chat.touch("a/x")
    for text in ("new", "old"):
        write_tree(tmp_path, {name: text})
        hints = chat.touch("a/x").hints
        assert [(hint.label, hint.text, hint.is_changed) for hint in hints] == [(name, text, True)]
        assert chat.hints_for("a/x") == []


def test_a_changed_file_above_the_workspace_is_delivered_again(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/": "", "AGENTS.md": "old", "w/x": ""})
    chat = HintConversation(tmp_path / "w")
    write_tree(tmp_path, {"AGENTS.md": "new"})
    assert chat.hints_for("x") == [(f"{tmp_path}/AGENTS.md", "new")]


def test_another_file_taking_over_a_directory_is_a_change(tmp_path: Path) -> None:
    chat = HintConversation(write_tree(tmp_path, TREE))
    chat.touch("a/x")
    write_tree(tmp_path, {"a/AGENTS.override.md": "over"})
    (hint,) = chat.touch("a/x").hints
    assert (hint.label, hint.is_changed) == ("a/AGENTS.override.md", True)


def test_each_root_has_its_own_hints(tmp_path: Path) -> None:
    one = write_tree(tmp_path / "one", {"a/AGENTS.md": "one"})
    two = write_tree(tmp_path / "two", {"AGENTS.md": "root", "a/AGENTS.md": "two"})
    chat = HintConversation(one, two, one / "a" / "nested")
    assert chat.hints_for("a/x", "../two/a/x") == [
        ("a/AGENTS.md", "one"),
        (f"{two}/a/AGENTS.md", "two"),
    ]
    assert HintConversation(one).hints_for("../two/a/x") == []


def test_links_are_resolved_before_any_other_check(tmp_path: Path) -> None:
    write_tree(tmp_path / "w", TREE)
    write_tree(tmp_path / "out", {"AGENTS.md": "secret", "x": ""})
    (tmp_path / "w" / "away").symlink_to(tmp_path / "out")
    (tmp_path / "w" / "same").symlink_to("a")
    (tmp_path / "w" / "z" / "AGENTS.override.md").symlink_to(tmp_path / "out" / "AGENTS.md")
    chat = HintConversation(tmp_path / "w")
    assert chat.hints_for("away/x") == []
    assert chat.hints_for("same/x") == [A]
    delivery = chat.touch("z/x")
    assert [hint.text for hint in delivery.hints] == ["z"]
    assert delivery.notes[0] == ContextFileNote(
        "z/AGENTS.override.md", "outside", reason=LINKS_OUTSIDE_WORKSPACE
    )


def test_an_unreadable_hint_is_noted_once_without_blocking(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/AGENTS.md/": "", "a/CLAUDE.md": b"\xff"})
    os.mkfifo(tmp_path / "a" / ".hermes.md")
    os.mkfifo(tmp_path / "a" / ".gitignore")
    chat = HintConversation(tmp_path)
    assert [(note.path, note.outcome) for note in chat.touch("a/x").notes] == [
        ("a/.hermes.md", "unreadable"),
        ("a/AGENTS.md", "unreadable"),
        ("a/CLAUDE.md", "undecodable"),
    ]
    assert chat.touch("a/x") == HintDelivery()


def test_a_blocked_hint_is_one_line_and_does_not_hide_the_next(tmp_path: Path) -> None:
    chat = HintConversation(write_tree(tmp_path, {"a/AGENTS.md": "ATTACK", "a/CLAUDE.md": "a"}))
    line = f"[a/AGENTS.md {BLOCKED_NOT_SHOWN}: bad-word in line 1.]"
    delivery = chat.touch("a/x")
    assert [hint.text for hint in delivery.hints] == [line, "a"]
    assert [note.outcome for note in delivery.notes] == ["blocked", "loaded"]
    assert chat.hints_for("a/x") == []


def test_a_hint_that_becomes_trusted_is_delivered_as_changed(tmp_path: Path) -> None:
    chat = HintConversation(write_tree(tmp_path, {"a/AGENTS.md": "ATTACK"}))
    chat.touch("a/x")
    chat.is_trusting = True
    (hint,) = chat.touch("a/x").hints
    assert (hint.text, hint.is_changed) == ("ATTACK", True)


def test_a_directory_with_a_hostile_name_cannot_escape_the_wrapper(tmp_path: Path) -> None:
    write_tree(tmp_path, {'a">\n<b/AGENTS.md': "x"})
    chat = HintConversation(tmp_path)
    assert chat.hints_for('a">\n<b/x') == [("a%22%3E%0A%3Cb/AGENTS.md", "x")]
    assert chat.hints_for('a">\n<b/x') == []


def test_a_non_utf8_name_is_supported(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff")
    try:
        write_tree(tmp_path, {f"{name}/AGENTS.md": "x", ".gitignore": "build"})
    except OSError:
        pytest.skip("this disk has no such names")
    chat = HintConversation(tmp_path)
    assert chat.hints_for(f"{name}/x") == [("a%FFFD/AGENTS.md", "x")]
    assert chat.prompt.merged_with(find_loaded_hints(chat.texts, SECRET)) != LoadedHints()


def test_many_files_of_a_directory_cost_little_more_than_one(tmp_path: Path) -> None:
    """What was looked at for one path of a call is not looked at again for the next."""
    write_tree(tmp_path, {"a/AGENTS.md": "Of a.", "a/b/AGENTS.md": "Of b.", "a/b/x.py": ""})
    finder = HintFinder((tmp_path,), scan)
    paths = [tmp_path / "a" / "b" / "x.py"] * 3
    found = finder.find(paths, LoadedHints())
    assert [hint.label for hint in found.hints] == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert found == finder.find(paths[:1], LoadedHints())
