"""Where changes can matter: folders of a workspace's files, and the state of delivered ones."""

from pathlib import Path

from prompt_engine.hint_blocks import LoadedHints
from prompt_engine.sources.context_files import ContextRequest, context_directories
from prompt_engine.sources.subdirectory_hints import HintFinder
from prompt_engine.threats import scan


def test_directories_from_the_repository_down_and_of_rules_are_watched(tmp_path: Path) -> None:
    root, other = tmp_path / "repository/a/b", tmp_path / "other"
    (tmp_path / "repository/.git").mkdir(parents=True)
    root.mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(root)
    own = (".cursor/rules", ".windsurf/rules", ".clinerules", ".claude")
    shared = (".github/instructions", ".github")
    repository = tmp_path / "repository"
    assert set(context_directories(ContextRequest(tmp_path / "link", (other, root)))) == {
        repository,
        repository / "a",
        root,
        *(root / name for name in own),
        *(repository / name for name in shared),
        other,
        *(other / name for name in (*own, *shared)),
    }


def test_the_state_of_a_delivered_file_is_read_from_disk(tmp_path: Path) -> None:
    names = ("a/AGENTS.md", "b/AGENTS.md", "c/AGENTS.md", ".cursor/rules/d.mdc")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("---\nglobs: a/*\n---\nRules." if name.endswith(".mdc") else f"Of {name}.")
    finder = HintFinder((tmp_path,), scan)
    touched = [tmp_path / each / "x.txt" for each in "abc"]
    loaded = finder.find(touched, LoadedHints()).loaded
    assert (set(loaded.files), finder.current_state(names)) == (set(names), loaded)
    (tmp_path / "a/AGENTS.md").write_text("Of a, now.")
    (tmp_path / "b/AGENTS.md").unlink()
    (tmp_path / "c/AGENTS.md").write_text("\n")
    now = finder.current_state(names).files
    again = finder.find(touched, loaded).loaded
    assert set(now) == {"a/AGENTS.md", ".cursor/rules/d.mdc"}
    assert again.files == {"a/AGENTS.md": now["a/AGENTS.md"]}


def test_a_path_outside_the_workspace_has_no_state(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "AGENTS.md").write_text("Of elsewhere.")
    finder = HintFinder((root,), scan)
    assert finder.current_state(["../AGENTS.md", str(tmp_path / "AGENTS.md")]) == LoadedHints()
