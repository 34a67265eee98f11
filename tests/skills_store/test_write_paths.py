"""Names and paths as an attacker would give them: none of them leads anywhere."""

from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.errors import SkillError, SkillNotFoundError, SkillPathRefusedError
from skills_store.write_errors import InvalidSkillNameError, SymlinkRefusedError
from tests.skills_store.skill_home import SkillHome, files_in, skill_document, write_skill
from tests.support.case_table import each_case

NAMES = [
    "",
    ".",
    "..",
    "../evil",
    "a/../../evil",
    "/etc",
    "a/b",
    "a\\b",
    "..\\evil",
    "C:evil",
    "c:\\evil",
    "a\0b",
    "a\nb",
    "a b",
    " a",
    "a ",
    "a.",
    ".hidden",
    ".git",
    ".archive",
    "Upper",
    "under_score",
    "dot.ted",
    "-a",
    "a-",
    "a--b",
    "a:b",
    "a*",
    "~",
    "~root",
    "$HOME",
    "con",
    "nul",
    "com1",
    "lpt9",
    "references",
    "scripts",
    "node_modules",
    "venv",
    "ünïcode",
    "\u0430bc",
    "a\u200bb",
    "a\u202eb",
    "a\ud800",
    "x" * 65,
    "x" * 300,
    "%2e%2e",
    "skill.md",
]
CATEGORIES = [
    ".",
    "..",
    "../evil",
    "a/../b",
    "a//b",
    "/a",
    "a/",
    "a\\b",
    "C:",
    "a\0",
    ".archive",
    ".git",
    ".hub",
    "A",
    "con",
    "a/nul",
    "references",
    "a/scripts",
    "node_modules",
    "a b",
    "ä",
    "x" * 65,
    "x" * 300,
    "a/b/c/d/e",
    "~",
]
FILES = [
    "",
    ".",
    "..",
    "references",
    "references/",
    "/etc/passwd",
    "/references/a",
    "../brew/references/a",
    "references/../SKILL.md",
    "references/../../other/SKILL.md",
    "references/./a",
    "references//a",
    "references\\a",
    "references/..\\..\\a",
    "C:references/a",
    "c:/references/a",
    "\\\\server\\share",
    "references/a\0.md",
    "references/a\n.md",
    "references/a:stream",
    "references/con",
    "references/nul.txt",
    "references/COM1.md",
    "references/a.",
    "references/a ",
    "references/ a",
    "references/a?",
    "references/a*",
    'references/"a"',
    "references/<a>",
    "references/a|b",
    "References/a",
    "SCRIPTS/a",
    "skill.md",
    "Skill.md",
    "DESCRIPTION.md",
    "other.md",
    "docs/a.md",
    ".git/config",
    "references/.git/config",
    "references/.GIT/config",
    "references/SKILL.md",
    "references/x/Skill.MD",
    "references/DESCRIPTION.md",
    "~/references/a",
    "references/a\u200b",
    "references/a\u202egnp",
    "references/a\ud800",
    "references/a/b/c/d/e/f",
    f"references/{'x' * 300}",
    f"references/{'ä' * 150}",
    f"{'references/' * 100}a",
    "node_modules/a",
    "references/node_modules/a",
]


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    skill_home = SkillHome(tmp_path)
    write_skill(skill_home.skills, "brew", references__a_dot_md="a")
    write_skill(skill_home.skills, "other")
    return skill_home


@each_case("name", NAMES, ids=ascii)
def test_a_skill_is_not_created_with_an_invalid_name(skill_home: SkillHome, name: str) -> None:
    before = files_in(skill_home.folder)
    with pytest.raises(InvalidSkillNameError):
        skill_home.editor.plan(ManageCall("create", name, content=skill_document(name)))
    assert files_in(skill_home.folder) == before


@each_case("name", NAMES, ids=ascii)
@each_case("action", ["edit", "patch", "delete", "write_file", "remove_file"])
def test_no_skill_is_found_by_an_invalid_name(
    skill_home: SkillHome, action: str, name: str
) -> None:
    calls = {
        "edit": ManageCall("edit", name, content=skill_document("brew", "x\n")),
        "patch": ManageCall("patch", name, old_string="Do", new_string="x"),
        "delete": ManageCall("delete", name),
        "write_file": ManageCall("write_file", name, file_path="assets/a", file_content="x"),
        "remove_file": ManageCall("remove_file", name, file_path="references/a.md"),
    }
    with pytest.raises(SkillNotFoundError):
        skill_home.editor.plan(calls[action])


@each_case("category", CATEGORIES, ids=ascii)
def test_a_skill_is_not_created_in_an_invalid_category(
    skill_home: SkillHome, category: str
) -> None:
    call = ManageCall("create", "new", content=skill_document("new"), category=category)
    with pytest.raises(InvalidSkillNameError):
        skill_home.editor.plan(call)


@each_case("path", FILES, ids=ascii)
def test_an_invalid_file_path_is_not_written_removed_or_patched(
    skill_home: SkillHome, path: str
) -> None:
    before = files_in(skill_home.folder)
    calls = [
        ManageCall("write_file", "brew", file_path=path, file_content="x"),
        ManageCall("remove_file", "brew", file_path=path),
        ManageCall("patch", "brew", file_path=path or "x", old_string="a", new_string="b"),
    ]
    for call in calls:
        with pytest.raises(SkillPathRefusedError):
            skill_home.editor.plan(call)
    assert files_in(skill_home.folder) == before


@pytest.mark.parametrize(
    "path",
    [
        "references/a-b_c.1.md",
        "templates/.gitignore",
        "scripts/sub/dir/run.sh",
        "assets/größe.txt",
        "assets/a b.txt",
        f"references/{'x' * 255}",
    ],
    ids=ascii,
)
def test_a_valid_path_is_written(skill_home: SkillHome, path: str) -> None:
    skill_home.apply(ManageCall("write_file", "brew", file_path=path, file_content="x"))
    assert (skill_home.skills / "brew" / path).read_text() == "x"


@pytest.mark.parametrize("path", ["references/A.md", "references/a.MD"])
def test_a_file_name_that_differs_only_in_case_is_refused(skill_home: SkillHome, path: str) -> None:
    with pytest.raises(SkillPathRefusedError, match=r"it is there as a\.md"):
        skill_home.editor.plan(ManageCall("write_file", "brew", file_path=path, file_content="x"))


def test_a_file_name_that_differs_only_in_unicode_form_is_refused(skill_home: SkillHome) -> None:
    composed, decomposed = "assets/\u00e9", "assets/e\u0301"
    skill_home.apply(ManageCall("write_file", "brew", file_path=composed, file_content="x"))
    with pytest.raises(SkillPathRefusedError):
        skill_home.editor.plan(
            ManageCall("write_file", "brew", file_path=decomposed, file_content="y")
        )


@pytest.mark.parametrize(
    ("link", "target"),
    [
        pytest.param("brew/references/a.md", "secret", id="a file, out"),
        pytest.param("brew/assets", "outside", id="a folder, out"),
        pytest.param("brew/assets", "home/skills/brew/references", id="a folder, in"),
        pytest.param("brew/references/a.md", "home/skills/brew/SKILL.md", id="a file, in"),
        pytest.param("brew/SKILL.md", "secret", id="the document, out"),
        pytest.param("brew/references/a.md", "nowhere", id="a file, to nothing"),
    ],
)
def test_nothing_is_written_through_a_link(skill_home: SkillHome, link: str, target: str) -> None:
    (skill_home.folder / "secret").write_text(skill_document("brew"))
    (skill_home.folder / "outside").mkdir()
    path = skill_home.skills / link
    path.unlink(missing_ok=True)
    path.symlink_to(skill_home.folder / target)
    before = files_in(skill_home.folder / "outside"), (skill_home.folder / "secret").read_bytes()
    calls = {
        "brew/references/a.md": ManageCall(
            "write_file", "brew", file_path="references/a.md", file_content="x"
        ),
        "brew/assets": ManageCall("write_file", "brew", file_path="assets/a", file_content="x"),
        "brew/SKILL.md": ManageCall("edit", "brew", content=skill_document("brew", "x\n")),
    }
    with pytest.raises(SymlinkRefusedError):
        skill_home.apply(calls[link])
    after = files_in(skill_home.folder / "outside"), (skill_home.folder / "secret").read_bytes()
    assert after == before


def test_a_linked_skill_is_neither_changed_nor_archived(skill_home: SkillHome) -> None:
    elsewhere = write_skill(skill_home.folder / "elsewhere", "linked")
    (skill_home.skills / "linked").symlink_to(elsewhere)
    calls = [
        ManageCall("edit", "linked", content=skill_document("linked", "x\n")),
        ManageCall("delete", "linked"),
        ManageCall("write_file", "linked", file_path="assets/a", file_content="x"),
    ]
    for call in calls:
        with pytest.raises(SymlinkRefusedError):
            skill_home.editor.plan(call)


def test_a_linked_category_is_not_written_to(skill_home: SkillHome) -> None:
    (skill_home.folder / "outside").mkdir()
    (skill_home.skills / "cat").symlink_to(skill_home.folder / "outside")
    call = ManageCall("create", "new", content=skill_document("new"), category="cat")
    with pytest.raises(SymlinkRefusedError):
        skill_home.editor.plan(call)


def test_a_link_created_after_planning_is_noticed(skill_home: SkillHome) -> None:
    call = ManageCall("write_file", "brew", file_path="assets/a", file_content="x")
    change = skill_home.editor.plan(call)
    (skill_home.folder / "outside").mkdir()
    (skill_home.skills / "brew" / "assets").symlink_to(skill_home.folder / "outside")
    with pytest.raises(SkillError):
        skill_home.editor.commit(change)
    assert files_in(skill_home.folder / "outside") == {}


def test_a_link_in_a_deleted_skill_is_moved_without_following_it(skill_home: SkillHome) -> None:
    (skill_home.folder / "outside").mkdir()
    (skill_home.folder / "outside" / "a").write_text("a")
    (skill_home.skills / "brew" / "assets").symlink_to(skill_home.folder / "outside")
    skill_home.apply(ManageCall("delete", "brew"))
    moved = skill_home.skills / ".archive" / "brew" / "assets"
    assert moved.readlink() == skill_home.folder / "outside"
    assert files_in(skill_home.folder / "outside") == {"a": b"a"}
