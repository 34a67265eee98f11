"""Which files speak for a folder: kinds in order, empty and blocked ones fall through."""

from pathlib import Path

import pytest

from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.sources.context_files import (
    ContextRequest,
    FrontmatterSettings,
    find_project_context,
)
from prompt_engine.sources.subdirectory_hints import HintFinder
from tests.prompt_engine.sources.trees import scan, write_tree
from tests.support.user_texts import (
    BLOCKED_NOT_SHOWN,
    FRONTMATTER_NOT_PLAIN_YAML,
    ONLY_DESCRIPTION_SHOWN,
)

BLOCKED = f"{BLOCKED_NOT_SHOWN}: bad-word in line 1.]"


def texts_of(root: Path) -> list[tuple[str, str]]:
    return [
        (file.path, file.text) for file in find_project_context(ContextRequest(root), scan).files
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, [], id="an empty folder"),
        pytest.param(
            {".hermes.md": "1", "HERMES.md": "2", "AGENTS.md": "3"}, [(".hermes.md", "1")],
            id=".hermes.md before all",
        ),
        pytest.param({"HERMES.md": "2", "AGENTS.md": "3"}, [("HERMES.md", "2")], id="HERMES.md"),
        pytest.param(
            {"AGENTS.override.md": "3", "AGENTS.md": "4", "CLAUDE.md": "5"},
            [("AGENTS.override.md", "3")],
            id="an override before AGENTS.md",
        ),
        pytest.param({"AGENTS.md": "4", "CLAUDE.md": "5"}, [("AGENTS.md", "4")], id="AGENTS.md"),
        pytest.param({"agents.md": "4"}, [("agents.md", "4")], id="agents.md"),
        pytest.param({"CLAUDE.md": "5", ".cursorrules": "6"}, [("CLAUDE.md", "5")], id="CLAUDE.md"),
        pytest.param({"claude.md": "5"}, [("claude.md", "5")], id="claude.md"),
        pytest.param(
            {".cursor/rules/b.mdc": "8", ".cursor/rules/a.mdc": "7", ".cursorrules": "6"},
            [(".cursorrules", "6"), (".cursor/rules/a.mdc", "7"), (".cursor/rules/b.mdc", "8")],
            id="Cursor's both kinds, rules sorted",
        ),
        pytest.param(
            {"CLAUDE.local.md": "3", ".claude/CLAUDE.md": "2", ".cursorrules": "6"},
            [(".claude/CLAUDE.md", "2"), ("CLAUDE.local.md", "3")],
            id="CLAUDE.md in its directory, then the user's own",
        ),
        pytest.param(
            {"CLAUDE.md": "1", ".claude/CLAUDE.md": "2"}, [("CLAUDE.md", "1")],
            id="CLAUDE.md before the one in the directory",
        ),
        pytest.param(
            {".cursorrules": "6", ".github/copilot-instructions.md": "7"}, [(".cursorrules", "6")],
            id="Cursor's before Copilot's",
        ),
        pytest.param(
            {".github/copilot-instructions.md": "7", ".windsurf/rules/a.md": "8"},
            [(".github/copilot-instructions.md", "7")],
            id="Copilot's before Windsurf's",
        ),
        pytest.param(
            {".windsurf/rules/b.md": "9", ".windsurf/rules/a.md": "8", ".clinerules": "10"},
            [(".windsurf/rules/a.md", "8"), (".windsurf/rules/b.md", "9")],
            id="Windsurf's before Cline's",
        ),
        pytest.param({".clinerules": "10"}, [(".clinerules", "10")], id="Cline's file"),
        pytest.param(
            {".clinerules/b.md": "12", ".clinerules/a.md": "11"},
            [(".clinerules/a.md", "11"), (".clinerules/b.md", "12")],
            id="Cline's directory",
        ),
        pytest.param(
            {".cursor/rules/a.md": "no rule", ".cursor/rules/deep/b.mdc": "too deep"}, [],
            id="other files beside rules",
        ),
        pytest.param(
            {".hermes.md": " \n", "AGENTS.md": "---\na: b\n---\n\n", "CLAUDE.md": "5"},
            [("CLAUDE.md", "5")],
            id="empty files fall through",
        ),
        pytest.param(
            {".hermes.md": "ATTACK", "HERMES.md": "2", "AGENTS.md": "3"},
            [(".hermes.md", f"[.hermes.md {BLOCKED}"), ("HERMES.md", "2")],
            id="a blocked file leaves a line and falls through within its kind",
        ),
        pytest.param(
            {"AGENTS.override.md": "ATTACK", "AGENTS.md": "ATTACK", "CLAUDE.md": "5"},
            [
                ("AGENTS.override.md", f"[AGENTS.override.md {BLOCKED}"),
                ("AGENTS.md", f"[AGENTS.md {BLOCKED}"),
                ("CLAUDE.md", "5"),
            ],
            id="and to the next kind",
        ),
        pytest.param({"AGENTS.md": "\ufeff---\na: b\n---\nx\r\ny"}, [("AGENTS.md", "x\ny")],
            id="a byte order mark, frontmatter and other line ends go"),
    ],
)  # fmt: skip
def test_the_first_kind_with_content_wins(
    tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    got = texts_of(write_tree(tmp_path, files))
    assert [text for _, text in got] == [text for _, text in expected]
    # some disks find agents.md as AGENTS.md
    assert [path.casefold() for path, _ in got] == [path.casefold() for path, _ in expected]


@pytest.mark.parametrize(
    ("rule", "expected", "note"),
    [
        pytest.param("x", "x", ContextFileNote("r", "loaded", 1, 1), id="without frontmatter"),
        pytest.param(
            "---\nalwaysApply: true\n---\nx", "x", ContextFileNote("r", "loaded", 1, 1), id="always"
        ),
        pytest.param(
            "---\nalwaysApply: true\nglobs: a\n---\nx", "x", ContextFileNote("r", "loaded", 1, 1),
            id="always and for paths",
        ),
        pytest.param(
            "---\ndescription: How\n  to test\nalwaysApply: false\n---\nx",
            "Read this rule when it applies: How to test",
            ContextFileNote("r", "named", 1, 0, ONLY_DESCRIPTION_SHOWN),
            id="a description alone",
        ),
        pytest.param(
            "---\nglobs: a/*.ts, b\ndescription: d\n---\nx", None,
            ContextFileNote("r", "waiting", 1, 0, "for paths like a/*.ts, b"),
            id="for paths",
        ),
        pytest.param(
            "---\nalwaysApply: false\n---\nx", None,
            ContextFileNote("r", "unused", 1, 0, "it has neither globs nor a description"),
            id="by hand only",
        ),
        pytest.param(
            "---\nalwaysApply: true\n---\n", None, ContextFileNote("r", "empty"), id="empty"
        ),
    ],
)  # fmt: skip
def test_a_rule_applies_according_to_its_frontmatter(
    tmp_path: Path, rule: str, expected: str | None, note: ContextFileNote
) -> None:
    path = ".cursor/rules/r.mdc"
    found = find_project_context(ContextRequest(write_tree(tmp_path, {path: rule})), scan)
    assert [(file.path, file.text) for file in found.files] == [(path, expected)] * bool(expected)
    (got,) = found.notes
    assert got == ContextFileNote(
        path, note.outcome, note.total_characters, note.kept_characters, note.reason
    )


def test_path_rules_are_deferred_whichever_kind_wins(tmp_path: Path) -> None:
    files = {".cursor/rules/a.mdc": "always", ".cursor/rules/b.mdc": "---\nglobs: b\n---\nx"}
    found = find_project_context(
        ContextRequest(write_tree(tmp_path, {"AGENTS.md": "4", **files})), scan
    )
    assert found.files == (ContextFile("AGENTS.md", "4", 1),)
    assert [(rule.source.label, rule.globs) for rule in found.rules] == [
        (".cursor/rules/b.mdc", ("b",))
    ]
    assert [note.outcome for note in found.notes] == ["loaded", "waiting"]


def test_a_blocked_rule_with_only_a_description_is_hidden_entirely(tmp_path: Path) -> None:
    write_tree(tmp_path, {".cursor/rules/r.mdc": "---\ndescription: d\n---\nATTACK"})
    (file,) = find_project_context(ContextRequest(tmp_path), scan).files
    assert file.text == (f"[.cursor/rules/r.mdc {BLOCKED_NOT_SHOWN}: bad-word in line 4.]")


def test_rules_beyond_the_limit_are_named(tmp_path: Path) -> None:
    write_tree(tmp_path, {f".cursor/rules/{number:03}.mdc": "x" for number in range(202)})
    notes = find_project_context(ContextRequest(tmp_path), scan).notes
    assert notes[200:] == tuple(
        ContextFileNote(f".cursor/rules/{number}.mdc", "unused", reason="only 200 rules are read")
        for number in (200, 201)
    )


def test_requested_settings_are_listed_and_not_applied(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            ".git/": "",
            ".hermes.md": "---\nmodel: x\nhooks: [a]\n---\nRoot.",
            "sub/.hermes.md": "---\nmode: plan\n---\n",
            "sub/HERMES.md": "---\nmode: ask\n---\nATTACK",
        },
    )
    found = find_project_context(ContextRequest(tmp_path / "sub"), scan)
    assert found.settings == (
        FrontmatterSettings(".hermes.md", {"mode": "plan"}),
        FrontmatterSettings(f"{tmp_path}/.hermes.md", {"model": "x", "hooks": ["a"]}),
    )


def test_unreadable_frontmatter_is_noted(tmp_path: Path) -> None:
    write_tree(tmp_path, {".hermes.md": "---\nmodel: @x\n---\nx"})
    (note,) = find_project_context(ContextRequest(tmp_path), scan).notes
    assert note.outcome == "loaded"
    assert note.reason.startswith(FRONTMATTER_NOT_PLAIN_YAML)


@pytest.mark.parametrize(
    ("path", "frontmatter", "outcome"),
    [
        (".github/instructions/r.instructions.md", "applyTo: '**/*.ts,*.js'", "waiting"),
        (".github/instructions/r.instructions.md", "description: d", "named"),
        (".github/instructions/r.instructions.md", "x: y", "unused"),
        (".windsurf/rules/r.md", "trigger: always_on", "loaded"),
        (".windsurf/rules/r.md", "trigger: glob\nglobs: '*.ts'", "waiting"),
        (".windsurf/rules/r.md", "trigger: model_decision\ndescription: d", "named"),
        (".windsurf/rules/r.md", "trigger: manual\nglobs: '*.ts'\ndescription: d", "unused"),
        (".clinerules/r.md", "paths:\n  - '*.ts'", "waiting"),
        (".clinerules/r.md", "x: y", "loaded"),
    ],
)
def test_rules_of_other_editors_apply_according_to_their_frontmatter(
    tmp_path: Path, path: str, frontmatter: str, outcome: str
) -> None:
    write_tree(tmp_path, {path: f"---\n{frontmatter}\n---\nx"})
    found = find_project_context(ContextRequest(tmp_path), scan)
    assert [(note.path, note.outcome) for note in found.notes] == [(path, outcome)]


def test_copilot_files_belong_to_the_root_of_the_repository(tmp_path: Path) -> None:
    files = {
        ".git/": "",
        ".github/copilot-instructions.md": "of all",
        ".github/instructions/a.instructions.md": "---\napplyTo: 'sub/*.ts'\n---\nof paths",
        "sub/x.ts": "",
    }
    home = write_tree(tmp_path, files) / "sub"
    found = find_project_context(ContextRequest(home), scan)
    assert [file.text for file in found.files] == ["of all"]
    delivery = HintFinder((home,), scan).find([home / "x.ts"], found.loaded)
    assert [hint.text for hint in delivery.hints] == ["of paths"]
