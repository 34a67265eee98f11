"""What a delivery holds, where hints never come from, and which rules a path brings."""

import time
from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.hint_blocks import LoadedHints
from prompt_engine.sources.subdirectory_hints import HintFinder
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.user_texts import CHARACTERS_SHOWN

NOTHING = LoadedHints()
DEEP = "a/b/c/d/e/f"


def labels(root: Path, *names: str, loaded: LoadedHints = NOTHING) -> list[str]:
    delivery = HintFinder([root], scan).find([root / name for name in names], loaded)
    return [hint.label for hint in delivery.hints]


def test_a_long_hint_keeps_its_head_and_tail(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/AGENTS.md": "a" * 8_000 + "z" * 8_000})
    delivery = HintFinder([tmp_path], scan).find([tmp_path / "a" / "x"], NOTHING)
    marker = f"[… 7,200 of 16,000 {CHARACTERS_SHOWN}; read a/AGENTS.md for the rest …]"
    assert [hint.text for hint in delivery.hints] == [f"{'a' * 5_600}\n\n{marker}\n\n{'z' * 1_600}"]
    assert delivery.notes == (ContextFileNote("a/AGENTS.md", "cut", 16_000, 7_200),)


def test_five_files_are_delivered_and_the_rest_named_for_later_delivery(tmp_path: Path) -> None:
    folders = [DEEP[:end] for end in range(1, len(DEEP) + 1, 2)]
    write_tree(tmp_path, {f"{folder}/AGENTS.md": folder for folder in folders})
    finder = HintFinder([tmp_path], scan)
    touched = [tmp_path / DEEP / "x"]
    first = finder.find(touched, NOTHING)
    assert [hint.label for hint in first.hints] == [f"{folder}/AGENTS.md" for folder in folders[1:]]
    assert first.named_only == ("a/AGENTS.md",)
    assert first.notes[-1] == ContextFileNote("a/AGENTS.md", "named", 1, 0, "the delivery is full")
    second = finder.find(touched, first.loaded)
    assert ([hint.label for hint in second.hints], second.named_only) == (["a/AGENTS.md"], ())


def test_a_delivery_has_a_character_limit(tmp_path: Path) -> None:
    texts = {f"{name}/AGENTS.md": name * 7_000 for name in "abcd"} | {"e/AGENTS.md": "e" * 3_000}
    write_tree(tmp_path, texts)
    delivery = HintFinder([tmp_path], scan).find([tmp_path / f"{n}/x" for n in "abcde"], NOTHING)
    assert [hint.label for hint in delivery.hints] == [f"{n}/AGENTS.md" for n in "abce"]
    assert delivery.named_only == ("d/AGENTS.md",)


@pytest.mark.parametrize(
    ("files", "touched"),
    [
        pytest.param({"node_modules/p/AGENTS.md": "x"}, "node_modules/p/i.js", id="node_modules"),
        pytest.param({"a/Node_Modules/p/AGENTS.md": "x"}, "a/Node_Modules/p/i", id="in any case"),
        pytest.param({".venv/lib/AGENTS.md": "x"}, ".venv/lib/m.py", id=".venv"),
        pytest.param({"py/pyvenv.cfg": "", "py/lib/AGENTS.md": "x"}, "py/lib/m.py", id="a venv"),
        pytest.param({"dist/AGENTS.md": "x"}, "dist/x.js", id="dist"),
        pytest.param({"build/AGENTS.md": "x"}, "build/x.js", id="build"),
        pytest.param({"target/debug/AGENTS.md": "x"}, "target/debug/x", id="target"),
        pytest.param({".git/AGENTS.md": "x"}, ".git/config", id="git's own folder"),
        pytest.param({".gitignore": "/gen/", "gen/AGENTS.md": "x"}, "gen/x", id="ignored"),
        pytest.param({".gitignore": "gen", "a/gen/b/AGENTS.md": "x"}, "a/gen/b/x", id="anywhere"),
        pytest.param(
            {".gitignore": "gen/", "gen/.gitignore": "!b", "gen/b/AGENTS.md": "x"}, "gen/b/x",
            id="nothing is taken back below an ignored folder",
        ),
        pytest.param({"a/.gitignore": "b", "a/b/AGENTS.md": "x"}, "a/b/x", id="a nested file"),
        pytest.param({".gitignore": "AGENTS.md", "a/AGENTS.md": "x"}, "a/x", id="the hint itself"),
        pytest.param({".git/info/exclude": "a", "a/AGENTS.md": "x"}, "a/x", id="info/exclude"),
        pytest.param({".gitignore": "\ufeffgen\r\n", "gen/AGENTS.md": "x"}, "gen/x", id="CRLF"),
        pytest.param({".gitignore": "!\na[z-b]\n\\\ngen", "gen/AGENTS.md": "x"}, "gen/x",
            id="beside patterns that make no sense"),
    ],
)  # fmt: skip
def test_third_party_paths_trigger_no_hints(
    tmp_path: Path, files: dict[str, str], touched: str
) -> None:
    assert labels(write_tree(tmp_path, {"x": "", **files}), touched) == []


@pytest.mark.parametrize(
    ("files", "touched", "expected"),
    [
        pytest.param(
            {"a/AGENTS.md": "a", "a/node_modules/p/AGENTS.md": "x"}, "a/node_modules/p/i.js",
            ["a/AGENTS.md"],
            id="the project's own folder around dependencies",
        ),
        pytest.param(
            {".gitignore": "*.md\n!AGENTS.md", "a/AGENTS.md": "a"}, "a/x", ["a/AGENTS.md"],
            id="an exception",
        ),
        pytest.param(
            {".gitignore": "gen", "a/.gitignore": "!gen", "a/gen/AGENTS.md": "a"}, "a/gen/x",
            ["a/gen/AGENTS.md"],
            id="an exception further down",
        ),
        pytest.param(
            {"a/AGENTS.md": "a", "a/b/.gitignore": "*.md"}, "a/b/x", ["a/AGENTS.md"],
            id="rules of a deeper folder",
        ),
        pytest.param({".gitignore": b"\xff", "a/AGENTS.md": "a"}, "a/x", ["a/AGENTS.md"],
            id="an ignore file that is no text"),
        pytest.param({".gitignore": "a*" * 100 + "\n" + "\n".join(["a*" * 100] * 300) + "\nq",
            "b/AGENTS.md": "b"}, "b/x", ["b/AGENTS.md"], id="more patterns than fit in one set"),
    ],
)  # fmt: skip
def test_paths_that_are_not_ignored_trigger_hints(
    tmp_path: Path, files: dict[str, str | bytes], touched: str, expected: list[str]
) -> None:
    assert labels(write_tree(tmp_path, files), touched) == expected


def test_ignore_rules_above_the_workspace_apply_in_it(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {".git/": "", ".gitignore": "gen", "w/gen/AGENTS.md": "x", "w/a/AGENTS.md": "a"}
    )
    assert labels(tmp_path / "w", "gen/x", "a/x") == ["a/AGENTS.md"]


def test_ignore_rules_that_exclude_the_whole_workspace_are_not_applied(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/": "", ".gitignore": "*", "w/a/AGENTS.md": "a"})
    write_tree(tmp_path, {"w/.gitignore": "gen", "w/gen/AGENTS.md": "x"})
    assert labels(tmp_path / "w", "gen/x", "a/x") == ["a/AGENTS.md"]


def test_a_changed_ignore_file_takes_effect_at_once(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "gen", "gen/AGENTS.md": "x"})
    finder = HintFinder([tmp_path], scan)
    assert not finder.find([tmp_path / "gen" / "x"], NOTHING).hints
    write_tree(tmp_path, {".gitignore": "foo"})
    assert finder.find([tmp_path / "gen" / "x"], NOTHING).hints


@pytest.mark.parametrize(
    ("globs", "matching", "other"),
    [
        pytest.param("*.ts", ["x.ts", "a/b/x.ts"], ["x.tsx", "ts"], id="a name anywhere"),
        pytest.param("src/*.ts", ["src/x.ts"], ["src/a/x.ts", "a/src/x.ts"], id="a folder's"),
        pytest.param("src/**/*.ts", ["src/x.ts", "src/a/b/x.ts"], ["x.ts"], id="below a folder"),
        pytest.param("**/*.ts", ["x.ts", "a/x.ts"], ["x.js"], id="two stars"),
        pytest.param("*.ts, src/**", ["x.ts", "src/x.py"], ["a.py"], id="a line of globs"),
        pytest.param("['*.ts', 'b/']", ["x.ts", "b/x"], ["x"], id="a list of globs"),
        pytest.param('"*.{ts,tsx}"', ["x.ts", "a/x.tsx"], ["x.js"], id="braces"),
        pytest.param("{a,b}/*.{x,y}, c", ["a/f.x", "b/f.y", "c/d"], ["a/f.z"], id="more braces"),
        pytest.param("./src/a.py", ["src/a.py"], ["src/b.py"], id="a dot at the beginning"),
        pytest.param("*.ts # the page", ["x.ts"], ["# the page"], id="a comment"),
        pytest.param("**", ["x", "a/x"], [], id="everything"),
        pytest.param("{", [], ["x"], id="nonsense"),
        pytest.param("{a,b}" * 40, [], ["x"], id="too many choices"),
    ],
)
def test_a_path_rule_is_delivered_when_a_path_matches(
    tmp_path: Path, globs: str, matching: list[str], other: list[str]
) -> None:
    name = ".cursor/rules/r.mdc"
    write_tree(tmp_path, {name: f"---\nglobs: {globs}\nalwaysApply: false\n---\nrule"})
    got = {path: labels(tmp_path, path) for path in matching + other}
    assert got == {path: [name] for path in matching} | {path: [] for path in other}


def test_rules_come_after_directory_hints_sorted_and_once(tmp_path: Path) -> None:
    rule = "---\nglobs: '**'\n---\n"
    write_tree(tmp_path, {f".cursor/rules/{name}.mdc": rule + name for name in "ba"})
    write_tree(tmp_path, {"s/AGENTS.md": "s", ".cursor/rules/c.mdc": "always"})
    finder = HintFinder([tmp_path], scan)
    first = finder.find([tmp_path / "s" / "x", tmp_path / "y"], NOTHING)
    assert [(hint.label, hint.text) for hint in first.hints] == [
        ("s/AGENTS.md", "s"),
        (".cursor/rules/a.mdc", "a"),
        (".cursor/rules/b.mdc", "b"),
    ]
    assert not finder.find([tmp_path / "y"], first.loaded).hints


def test_a_third_party_or_ignored_path_triggers_no_rule(tmp_path: Path) -> None:
    write_tree(tmp_path, {".cursor/rules/r.mdc": "---\nglobs: '**'\n---\nr", ".gitignore": "*.log"})
    assert labels(tmp_path, "node_modules/x.ts", "x.log") == []


def test_a_new_rule_is_found(tmp_path: Path) -> None:
    finder = HintFinder([write_tree(tmp_path, {".cursor/rules/": ""})], scan)
    assert not finder.find([tmp_path / "x"], NOTHING).hints
    write_tree(tmp_path, {".cursor/rules/r.mdc": "---\nglobs: x\n---\nr"})
    assert finder.find([tmp_path / "x"], NOTHING).hints


def test_a_lookup_without_new_hints_is_fast_at_any_size(tmp_path: Path) -> None:
    write_tree(tmp_path, {f"a/b/{number}.py": "" for number in range(300)})
    write_tree(tmp_path, {"a/AGENTS.md": "a", ".git/": "", ".gitignore": "*.o\nbuild/"})
    finder = HintFinder([tmp_path], scan)
    touched = [tmp_path / "a" / "b" / "7.py"]
    loaded = finder.find(touched, NOTHING).loaded
    began = time.process_time()
    for _ in range(50):
        assert not finder.find(touched, loaded).hints
    assert (time.process_time() - began) / 50 < 0.01  # ten times what is promised: slow machines
