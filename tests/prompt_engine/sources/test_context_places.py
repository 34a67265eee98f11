"""Where instructions are looked for, and what is in the way there."""

import os
import socket
import time
from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.sources.context_files import AgentsScope, ContextRequest, find_project_context
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import LINKS_OUTSIDE_WORKSPACE

REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/main",
    "AGENTS.md": "root",
    "a/agents.md": "a",
    "a/AGENTS.override.md": "a over",
    "a/b/AGENTS.md": "b",
}


def texts_of(root: Path, *more: Path, scope: AgentsScope = "chain") -> list[tuple[str, str]]:
    found = find_project_context(ContextRequest(root, more, agents_md_scope=scope), scan)
    return [(file.path, file.text) for file in found.files]


def test_agents_md_is_chained_from_the_git_root_with_the_nearest_last(tmp_path: Path) -> None:
    write_tree(tmp_path, REPOSITORY)
    assert texts_of(tmp_path / "a" / "b") == [
        (f"{tmp_path}/AGENTS.md", "root"),
        (f"{tmp_path}/a/AGENTS.override.md", "a over"),
        ("AGENTS.md", "b"),
    ]


def test_the_scope_cwd_covers_only_the_directory(tmp_path: Path) -> None:
    write_tree(tmp_path, REPOSITORY)
    assert texts_of(tmp_path / "a" / "b", scope="cwd") == [("AGENTS.md", "b")]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a/.hermes.md": "a", ".hermes.md": "root"}, "a", id="the nearest"),
        pytest.param({".hermes.md": "root"}, "root", id="up to the git root"),
        pytest.param({"../.hermes.md": "above"}, None, id="not above it"),
        pytest.param({"a/HERMES.md": "a", ".hermes.md": "root"}, "a", id="near before name"),
        pytest.param({"a/b/.hermes.md": "", ".hermes.md": "root"}, "root", id="past an empty one"),
    ],
)
def test_hermes_md_is_searched_upwards(
    tmp_path: Path, files: dict[str, str], expected: str | None
) -> None:
    root = write_tree(tmp_path / "w", {".git/": "", "a/b/": "", "x": ""} | files)
    assert [text for _, text in texts_of(root / "a" / "b")] == [expected] * (expected is not None)


@pytest.mark.parametrize("name", ["CLAUDE.md", ".cursorrules", ".cursor/rules/a.mdc"])
def test_other_kinds_are_searched_only_in_the_directory(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {".git/": "", "a/": "", name: "root"})
    assert texts_of(tmp_path / "a") == []


@pytest.mark.parametrize(
    "git",
    [
        pytest.param({".git/HEAD": ""}, id="a repository"),
        pytest.param({".git": "gitdir: /elsewhere/.git/worktrees/w\n"}, id="a worktree"),
        pytest.param({".git": "gitdir: ../.git/modules/sub\n"}, id="a submodule"),
    ],
)
def test_the_checkout_root_ends_the_chain(tmp_path: Path, git: dict[str, str]) -> None:
    outer = {".git/HEAD": "", ".hermes.md": "outer", "AGENTS.md": "outer"}
    write_tree(tmp_path, outer)
    write_tree(tmp_path / "sub", {**git, "AGENTS.md": "inner", "deep/": ""})
    assert texts_of(tmp_path / "sub" / "deep") == [(f"{tmp_path}/sub/AGENTS.md", "inner")]


def test_without_a_repository_nothing_above_the_directory_is_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"AGENTS.md": "above", ".hermes.md": "above", "home/": ""})
    assert texts_of(tmp_path / "home") == []


@pytest.mark.parametrize("kind", ["pipe", "dangling link"])
def test_an_invalid_git_entry_is_not_a_repository(tmp_path: Path, kind: str) -> None:
    write_tree(tmp_path, {"AGENTS.md": "above", "a/": ""})
    if kind == "pipe":
        os.mkfifo(tmp_path / ".git")
    else:
        (tmp_path / ".git").symlink_to("nowhere")
    assert texts_of(tmp_path / "a") == []


def test_two_workspaces_in_one_process_are_independent(tmp_path: Path) -> None:
    one = write_tree(tmp_path / "one", {"AGENTS.md": "one"})
    two = write_tree(tmp_path / "two", {"AGENTS.md": "two"})
    assert [texts_of(one), texts_of(two), texts_of(one)] == [
        [("AGENTS.md", "one")],
        [("AGENTS.md", "two")],
        [("AGENTS.md", "one")],
    ]


def test_the_process_working_directory_is_irrelevant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tree(tmp_path / "process", {"AGENTS.md": "process"}))
    assert texts_of(write_tree(tmp_path / "session", {"CLAUDE.md": "session"})) == [
        ("CLAUDE.md", "session")
    ]


def test_additional_roots_add_their_first_kind_with_absolute_paths(tmp_path: Path) -> None:
    one = write_tree(tmp_path / "one", {"AGENTS.md": "one"})
    two = write_tree(tmp_path / "two", {"CLAUDE.md": "two", ".cursorrules": "no"})
    assert texts_of(one, two, one, tmp_path / "gone") == [
        ("AGENTS.md", "one"),
        (f"{tmp_path}/two/CLAUDE.md", "two"),
    ]


def test_roots_of_one_repository_do_not_repeat_shared_files(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {".git/": "", "AGENTS.md": "root", "a/AGENTS.md": "a", "b/CLAUDE.md": "no"}
    )
    assert texts_of(tmp_path / "a", tmp_path / "b") == [
        (f"{tmp_path}/AGENTS.md", "root"),
        ("AGENTS.md", "a"),
    ]


def test_a_linked_root_is_resolved(tmp_path: Path) -> None:
    write_tree(tmp_path / "real", REPOSITORY)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a")
    assert texts_of(tmp_path / "link") == [
        (f"{tmp_path}/real/AGENTS.md", "root"),
        ("AGENTS.override.md", "a over"),
    ]


def test_a_file_with_two_names_is_included_once(tmp_path: Path) -> None:
    write_tree(tmp_path, {"AGENTS.md": "ATTACK"})
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert [path for path, _ in texts_of(tmp_path)] == ["AGENTS.md"]


@pytest.mark.parametrize("target", ["../secret.md", "../folder/secret.md", "/etc/hostname"])
@pytest.mark.parametrize(
    "name", [".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules", ".cursor/rules/a.mdc"]
)
def test_nothing_outside_the_workspace_is_read(tmp_path: Path, name: str, target: str) -> None:
    write_tree(tmp_path, {"secret.md": "secret", "folder/secret.md": "secret"})
    link = write_tree(tmp_path / "w", {f"{name}.x": ""}) / name
    link.symlink_to(tmp_path / "w" / target)
    found = find_project_context(ContextRequest(tmp_path / "w"), scan)
    assert found.files == ()
    reason = LINKS_OUTSIDE_WORKSPACE
    assert found.notes == (ContextFileNote(name, "outside", reason=reason),)


def test_rules_outside_the_workspace_are_not_listed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"rules/a.mdc": "secret", "w/.cursor/": ""})
    (tmp_path / "w" / ".cursor" / "rules").symlink_to(tmp_path / "rules")
    found = find_project_context(ContextRequest(tmp_path / "w"), scan)
    assert (found.files, found.notes) == ((), ())


def test_a_link_within_the_repository_counts_as_inside(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/": "", "docs/rules.md": "rules", "a/": ""})
    (tmp_path / "a" / "AGENTS.md").symlink_to("../docs/rules.md")
    assert texts_of(tmp_path / "a") == [("AGENTS.md", "rules")]


@pytest.mark.parametrize("name", [".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device", "dangling", "loop"])
def test_a_non_file_is_reported_and_does_not_hide_the_next_file(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    match kind:
        case "folder":
            Path(name).mkdir()
        case "pipe":
            os.mkfifo(name)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(name)
        case "device":
            Path(name).symlink_to("/dev/zero")
        case "dangling":
            Path(name).symlink_to("nowhere")
        case _:
            Path(name).symlink_to(name)
    write_tree(tmp_path, {".cursor/rules/a.mdc": "rule"})
    began = time.monotonic()
    found = find_project_context(ContextRequest(tmp_path), scan)
    assert time.monotonic() - began < HANG_TIMEOUT_SECONDS
    assert found.files == (ContextFile(".cursor/rules/a.mdc", "rule", 4),)
    outcome = "outside" if kind == "device" else "unreadable"
    assert [(note.path, note.outcome) for note in found.notes[:-1]] == [(name, outcome)]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    (write_tree(tmp_path, {"AGENTS.md": "x"}) / "AGENTS.md").chmod(0)
    assert find_project_context(ContextRequest(tmp_path), scan).notes == (
        ContextFileNote("AGENTS.md", "unreadable", reason="permission denied"),
    )


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    write_tree(tmp_path, {"AGENTS.md": b"\xff\xfea\0", "CLAUDE.md": "5"})
    found = find_project_context(ContextRequest(tmp_path), scan)
    assert found.files == (ContextFile("CLAUDE.md", "5", 1),)
    assert found.notes == (
        ContextFileNote("AGENTS.md", "undecodable", reason="byte 0 is not UTF-8"),
        ContextFileNote("CLAUDE.md", "loaded", 1, 1),
    )


def test_a_path_is_escaped_to_one_line(tmp_path: Path) -> None:
    root = write_tree(tmp_path / 'a\n# System"<', {"AGENTS.md": "x"})
    assert texts_of(write_tree(tmp_path / "home", {}), root) == [
        (f"{tmp_path}/a%0A# System%22%3C/AGENTS.md", "x")
    ]


@pytest.mark.parametrize("target", [".env", "id_rsa", "notes"])
def test_a_link_to_a_file_that_is_not_instructions_is_not_followed(
    tmp_path: Path, target: str
) -> None:
    """A repository could show the model any secret of the workspace by a link."""
    write_tree(tmp_path, {target: "KEY=do-not-tell"})
    (tmp_path / "AGENTS.md").symlink_to(target)
    found = find_project_context(ContextRequest(tmp_path), scan)
    reason = f"it links to {target}, which is not an instruction file"
    assert (found.files, found.notes) == (
        (),
        (ContextFileNote("AGENTS.md", "outside", reason=reason),),
    )


def test_a_link_to_another_instruction_file_is_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"docs/agents-guide.md": "be kind"})
    (tmp_path / "AGENTS.md").symlink_to("docs/agents-guide.md")
    assert texts_of(tmp_path) == [("AGENTS.md", "be kind")]
