"""Instruction files that other instruction files name by `@path`."""

from pathlib import Path

from prompt_engine.hint_blocks import LoadedHints
from prompt_engine.mentions import find_mentions
from prompt_engine.sources.context_files import ContextRequest, ProjectContext, find_project_context
from prompt_engine.sources.subdirectory_hints import HintFinder
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.case_table import each_case

MENTIONS = {
    "@AGENTS.md": ["AGENTS.md"],
    "- @docs/style.md": ["docs/style.md"],
    "See @README.md and (@package.json).": ["README.md", "package.json)."],
    "@with\\ blanks.md": ["with blanks.md"],
    "mail me@example.org": [],
    "`@code.md` and ``a ` @code.md``": [],
    "```\n@code.md\n```\n@text.md": ["text.md"],
    "~~~~\n@code.md\n~~~\n@code.md\n~~~~\n@text.md": ["text.md"],
    "@a.md\n@a.md": ["a.md"],
    "@~/notes.md": ["~/notes.md"],
}


def contents(found: ProjectContext) -> list[tuple[str, str]]:
    return [(file.path, file.text) for file in found.files]


def outcomes(found: ProjectContext) -> dict[str, str]:
    return {note.path: note.outcome for note in found.notes}


def read(root: Path, files: dict[str, str | bytes]) -> ProjectContext:
    return find_project_context(ContextRequest(write_tree(root, files)), scan)


@each_case(("text", "expected"), MENTIONS.items(), ids=MENTIONS)
def test_paths_outside_of_code_are_imports(text: str, expected: list[str]) -> None:
    assert [each.path for each in find_mentions(text)] == expected


def test_a_file_that_only_names_another_brings_it(tmp_path: Path) -> None:
    found = read(tmp_path, {"CLAUDE.md": "@docs/rules.md\n", "docs/rules.md": "Use tabs."})
    assert contents(found) == [("CLAUDE.md", "@docs/rules.md"), ("docs/rules.md", "Use tabs.")]


def test_imports_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"AGENTS.md": "See @a/b.md.", "a/b.md": "@c.md", "a/c.md": "C"}
    assert [path for path, _ in contents(read(tmp_path, files))] == [
        "AGENTS.md",
        "a/b.md",
        "a/c.md",
    ]


def test_each_file_comes_once_and_four_levels_are_read(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"CLAUDE.md": "@1.md\n@CLAUDE.md"}
    files |= {f"{number}.md": f"@{number + 1}.md\n@1.md" for number in range(1, 6)}
    found = read(tmp_path, files)
    assert [path for path, _ in contents(found)] == ["CLAUDE.md", *(f"{n}.md" for n in range(1, 5))]
    assert outcomes(found)["5.md"] == "unused"


def test_only_a_line_of_its_own_names_a_missing_file(tmp_path: Path) -> None:
    found = read(tmp_path, {"CLAUDE.md": "@gone.md\nAsk @alice or see @lost.md."})
    assert outcomes(found) == {"CLAUDE.md": "loaded", "gone.md": "unreadable"}


def test_nothing_outside_the_workspace_is_imported(tmp_path: Path) -> None:
    write_tree(tmp_path, {"secret.md": "secret", "root/": ""})
    root = tmp_path / "root"
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    text = f"@../secret.md\n@{tmp_path}/secret.md\n@link.md\n@~/secret.md"
    found = read(root, {"CLAUDE.md": text})
    assert contents(found) == [("CLAUDE.md", text)]
    assert sorted(outcomes(found).values()) == ["loaded", "outside", "outside", "unreadable"]


def test_a_blocked_file_imports_nothing_and_a_blocked_import_is_one_line(tmp_path: Path) -> None:
    blocked = read(tmp_path / "a", {"CLAUDE.md": "ATTACK\n@b.md", "b.md": "B"})
    assert [path for path, _ in contents(blocked)] == ["CLAUDE.md"]
    imported = read(tmp_path / "b", {"CLAUDE.md": "@b.md", "b.md": "ATTACK"})
    assert outcomes(imported) == {"CLAUDE.md": "loaded", "b.md": "blocked"}


def test_frontmatter_of_an_imported_file_sets_nothing(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        ".hermes.md": "---\nmode: plan\n---\n@other.md",
        "other.md": "---\nmodel: m\n---\ntext",
    }
    assert [each.values for each in read(tmp_path, files).settings] == [{"mode": "plan"}]


def test_instructions_of_a_directory_bring_their_imports(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/CLAUDE.md": "@rules.md", "a/rules.md": "Use tabs.", "a/x.py": ""})
    delivery = HintFinder((tmp_path,), scan).find([tmp_path / "a/x.py"], LoadedHints())
    assert [(hint.label, hint.text) for hint in delivery.hints] == [
        ("a/CLAUDE.md", "@rules.md"),
        ("a/rules.md", "Use tabs."),
    ]
