"""No path that a model gives shows anything but a file in the skill's own folder."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_store.errors import (
    MissingSkillFileError,
    SkillFileError,
    SkillPathRefusedError,
    UnreadableSkillFileError,
)
from skills_store.paths import split_path
from skills_store.viewing import TextFileView, ViewContext
from tests.skills_store.skill_files import make_library, write_file, write_skill
from tests.support.case_table import each_case


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path / "skills" / "pdf")
    write_file(folder / "references/api.md", "api\n")
    write_file(folder / "references/Cased.md", "cased\n")
    write_file(folder / ".git/config", "secret\n")
    write_file(tmp_path / "secret", "secret\n")
    write_file(tmp_path / "skills-of-others/x", "secret\n")
    return folder


def view(folder: Path, path: str) -> str:
    """The content of a file of a skill."""
    viewed = make_library(folder.parent).view_file("pdf", path, ViewContext())
    assert isinstance(viewed, TextFileView)
    return viewed.content


@each_case(
    ("path", "reason"),
    [
        ("", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("//server/share", "it is absolute"),
        ("\\\\server\\share", "it is absolute"),
        ("\\Windows\\x", "it is absolute"),
        ("C:\\Windows\\x", "it names a drive"),
        ("c:x", "it names a drive"),
        ("references/api.md:stream", "it holds a colon"),
        ("~/secret", "it begins with ~"),
        ("..", "it goes up"),
        ("../../secret", "it goes up"),
        ("references/../../../secret", "it goes up"),
        ("references/../references/api.md", "it goes up"),
        ("references\\..\\..\\secret", "it holds a backslash"),
        ("references//api.md", "it has an empty name"),
        ("./references/api.md", "it has an empty name or a single dot"),
        ("references/", "it has an empty name"),
        ("references/api.md\0", "it holds a NUL"),
        ("references/api.md\0.png", "it holds a NUL"),
        ("references/\napi.md", "it holds characters that cannot be seen"),
        ("references/\u202eapi.md", "it holds characters that cannot be seen"),
        ("references/\ud800", "it holds characters that cannot be seen"),
        ("references", "it is a folder"),
        ("con", "con is reserved"),
        ("references/NUL.txt", "NUL.txt is reserved"),
        ("references/aux .md", "aux .md is reserved"),
        ("references/Lpt1", "Lpt1 is reserved"),
        ("references/api.md.", "ends with a dot"),
        ("references/api.md ", "ends with a dot or a blank"),
        ("references./api.md", "ends with a dot"),
        (".git/config", ".git holds nothing of a skill"),
        (".GIT/config", ".GIT holds nothing of a skill"),
        ("references/cased.md", "it is there as 'Cased.md'"),
        ("REFERENCES/api.md", "it is there as 'references'"),
        ("skill.md", "it is there as 'SKILL.md'"),
        (f"references/{'n' * 300}", "longer than 255 bytes"),
        (f"references/{'é' * 200}", "longer than 255 bytes"),
        ("a/" * 600 + "a", "longer than 1024 characters"),
    ],
    ids=lambda row: re.sub(r"[^\w./\\~:-]", "_", row[0])[:30],
)
def test_an_invalid_path_is_refused_with_a_reason(skill: Path, path: str, reason: str) -> None:
    with pytest.raises(SkillPathRefusedError, match=re.escape(reason)):
        view(skill, path)


@pytest.mark.parametrize(
    "path", ["references/none.md", "none", "%2e%2e/secret", "references/api.md/x"]
)
def test_a_missing_file_is_answered_with_the_existing_ones(skill: Path, path: str) -> None:
    with pytest.raises(MissingSkillFileError) as raised:
        view(skill, path)
    assert raised.value.available == ("references/Cased.md", "references/api.md")


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("references/out", "../../../secret"),
        ("references/absolute", "/etc/hosts"),
        ("out-folder", "../.."),
        ("sibling", "../../skills-of-others"),
    ],
)
def test_a_link_pointing_outside_is_refused(skill: Path, name: str, target: str) -> None:
    (skill / name).symlink_to(target)
    path = {"out-folder": f"{name}/secret", "sibling": f"{name}/x"}.get(name, name)
    with pytest.raises(SkillPathRefusedError, match="leads out of the skill's folder"):
        view(skill, path)


def test_a_directory_with_the_same_name_prefix_is_not_inside(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    write_file(tmp_path / "pdf-secret/x", "secret\n")
    (folder / "x").symlink_to("../pdf-secret/x")
    with pytest.raises(SkillPathRefusedError):
        view(folder, "x")


def test_a_link_within_the_directory_is_followed(skill: Path) -> None:
    (skill / "references/in.md").symlink_to("api.md")
    (skill / "docs").symlink_to("references")
    assert (view(skill, "references/in.md"), view(skill, "docs/api.md")) == ("api\n", "api\n")


def test_circular_and_dangling_links_are_reported(skill: Path) -> None:
    (skill / "circle").symlink_to("circle")
    (skill / "nothing").symlink_to("none")
    for path in ("circle", "nothing"):
        with pytest.raises(UnreadableSkillFileError, match="leads nowhere"):
            view(skill, path)


def test_a_fifo_does_not_block(skill: Path) -> None:
    os.mkfifo(skill / "references/fifo")
    with pytest.raises(UnreadableSkillFileError, match="no regular file"):
        view(skill, "references/fifo")


def test_a_name_in_another_unicode_form_is_the_same(skill: Path) -> None:
    write_file(skill / "references/caf\u00e9.md", "coffee\n")
    assert view(skill, "references/cafe\u0301.md") == "coffee\n"


@given(st.text(alphabet=st.sampled_from("a./\\:~\0 C\n-é\ud800"), max_size=20))
def test_an_accepted_path_stays_in_the_directory(path: str) -> None:
    try:
        names = split_path(path)
    except SkillFileError:
        return
    normalized = os.path.normpath("/skill/" + path)
    assert normalized == "/skill/" + "/".join(names)
