"""The face of the package: small, with an example that runs, and cheap until it is used."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import skills_store
from skills_store.roots import resolve_roots
from skills_store.skill import SkillRoot
from tests.skills_store.skill_files import make_files_old, write_skill

CHEAP = """
import sys
import skills_store.atomic, skills_store.locks, skills_store.json_file
print([name for name in sys.modules if name == "yaml" or name.startswith("skills_store.")])
"""
FROM_SNAPSHOT = """
import sys
from pathlib import Path
from skills_store.library import SkillLibrary
from skills_store.skill import SkillRoot
home = Path(sys.argv[1])
library = SkillLibrary(lambda: [SkillRoot("home", home / "skills")], home / "snapshot")
print(len(library.skills()), "yaml" in sys.modules)
"""


def test_the_docstring_example_runs() -> None:
    results = doctest.testmod(skills_store, optionflags=doctest.ELLIPSIS)
    assert (results.failed, results.attempted > 5) == (0, True)


def test_importing_atomic_writes_does_not_import_skills() -> None:
    output = subprocess.run(
        [sys.executable, "-c", CHEAP], capture_output=True, check=True, text=True
    )
    names = [f"skills_store.{name}" for name in ("pinned_folder", "atomic", "locks", "json_file")]
    assert output.stdout.strip() == str(names)


@pytest.mark.parametrize(
    ("fields", "first"), [("tags: [a]\n", b"1 True\n"), ("tags: a\n", b"1 False\n")]
)
def test_neither_the_snapshot_nor_plain_frontmatter_needs_a_parser(
    tmp_path: Path, fields: str, first: bytes
) -> None:
    write_skill(tmp_path / "skills/pdf", fields=fields)
    make_files_old(tmp_path / "skills")
    command = [sys.executable, "-c", FROM_SNAPSHOT, str(tmp_path)]
    outputs = [subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)]
    assert outputs == [first, b"1 False\n"]


def test_roots_are_in_order_of_precedence(tmp_path: Path) -> None:
    home, user = tmp_path / "hermes", tmp_path / "user"
    for plugin in ("zeta", "alpha"):
        (home / "plugins" / plugin / "skills").mkdir(parents=True)
    (home / "plugins" / "README").touch()
    shared = user / ".agents" / "skills"
    locations = (home, user, tmp_path / "bundled", tmp_path / "work", (tmp_path / "ext", shared))
    assert resolve_roots(*locations) == (
        SkillRoot("workspace", tmp_path / "work/.agents/skills", is_writable=True),
        SkillRoot("workspace", tmp_path / "work/.hermes/skills", is_writable=True),
        SkillRoot("workspace", tmp_path / "work/.claude/skills", is_writable=True),
        SkillRoot("home", home / "skills", is_writable=True),
        SkillRoot("agents", shared, is_writable=True),
        SkillRoot("external", tmp_path / "ext"),
        SkillRoot("bundled", tmp_path / "bundled"),
        SkillRoot("plugin", home / "plugins/alpha/skills", plugin="alpha"),
        SkillRoot("plugin", home / "plugins/zeta/skills", plugin="zeta"),
    )


def test_an_untrusted_workspace_contributes_no_skills(tmp_path: Path) -> None:
    roots = resolve_roots(tmp_path / "hermes", tmp_path / "user", tmp_path / "bundled")
    assert [root.kind for root in roots] == ["home", "agents", "bundled"]
