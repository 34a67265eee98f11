"""What a model sees of a skill: the text as it is now, what goes with it, and what it lacks."""

import os
from pathlib import Path

import pytest

from skills_store.errors import SkillFileTooLongError, UnreadableSkillError
from skills_store.linked import MAX_LISTED, LinkedFiles, linked_files
from skills_store.skill import MAX_DOCUMENT_CHARACTERS, MAX_FILE_BYTES, DocumentProblem
from skills_store.viewing import BinaryFileView, SkillView, TextFileView, ViewContext
from tests.skills_store.skill_files import make_library, skill_text, write_file, write_skill

VARIABLES = "in ${HERMES_SKILL_DIR} of ${HERMES_SESSION_ID}, $HERMES_SKILL_DIR\n"
NO_FILES: dict[str, tuple[str, ...]] = {
    "references": (),
    "templates": (),
    "scripts": (),
    "assets": (),
}


def test_a_view_has_the_whole_text_and_its_supporting_files(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "coding/pdf", "Use: it.")
    for path in ("references/b.md", "references/a/deep.md", "scripts/run.sh", "forms.md"):
        write_file(folder / path)
    text = (folder / "SKILL.md").read_text()
    assert make_library(tmp_path).view("pdf") == SkillView(
        "pdf",
        "Use: it.",
        text,
        folder,
        LinkedFiles(
            {
                **NO_FILES,
                "references": ("references/a/deep.md", "references/b.md"),
                "scripts": ("scripts/run.sh",),
            },
            ("forms.md",),
        ),
        problems=(
            DocumentProblem(
                3,
                "its frontmatter is no YAML (mapping values are not allowed in this context); "
                "read as if quoted",
            ),
        ),
    )


def test_variables_are_replaced_only_in_markdown(tmp_path: Path) -> None:
    folder = tmp_path / "pdf"
    write_file(folder / "SKILL.md", skill_text("pdf", body=VARIABLES))
    write_file(folder / "references/a.md", VARIABLES)
    write_file(folder / "scripts/run.sh", VARIABLES)
    library, viewer = make_library(tmp_path), ViewContext(session_id="s-1")
    completed = f"in {folder} of s-1, $HERMES_SKILL_DIR\n"
    assert library.view("pdf", viewer).content.endswith(f"\n{completed}")
    assert library.view("pdf").content.endswith("of ${HERMES_SESSION_ID}, $HERMES_SKILL_DIR\n")
    note, script = "references/a.md", "scripts/run.sh"
    assert [library.view_file("pdf", path, viewer) for path in (note, script)] == [
        TextFileView("pdf", note, folder / note, completed, len(VARIABLES)),
        TextFileView("pdf", script, folder / script, VARIABLES, len(VARIABLES)),
    ]


def test_missing_requirements_are_reported(tmp_path: Path) -> None:
    fields = (
        "prerequisites:\n  commands: [here, gone]\n  env_vars: [SET, EMPTY]\n"
        "required_environment_variables:\n  - name: UNSET"
    )
    write_skill(tmp_path / "skills/pdf", fields=fields)
    write_file(tmp_path / "bin/here").chmod(0o755)
    viewer = ViewContext({"PATH": str(tmp_path / "bin"), "SET": "1", "EMPTY": ""})
    view = make_library(tmp_path / "skills").view("pdf", viewer)
    assert (view.missing_commands, view.missing_variables) == (("gone",), ("UNSET", "EMPTY"))


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.png", b"\x89PNG\r\n\0", "image/png"),
        ("a.ttf", b"\0\1\0\0", "font/ttf"),
        ("a.tar.gz", b"\x1f\x8b\0", "application/gzip"),
        ("a.unknown", b"a\0b", "application/octet-stream"),
        ("a.txt", b"caf\xe9", "text/plain"),
        ("large.bin", b"\xff" * (MAX_FILE_BYTES + 1), "application/octet-stream"),
    ],
)
def test_a_binary_file_is_described_by_size_and_type(
    tmp_path: Path, name: str, data: bytes, media_type: str
) -> None:
    path = write_skill(tmp_path / "pdf") / "assets" / name
    path.parent.mkdir()
    path.write_bytes(data)
    assert make_library(tmp_path).view_file("pdf", f"assets/{name}") == BinaryFileView(
        "pdf", f"assets/{name}", path, len(data), media_type
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"", ""), (b"\xef\xbb\xbfx\r\n", "x\r\n"), ("é\u2028".encode(), "é\u2028")],
    ids=["empty", "mark", "unicode"],
)
def test_text_is_shown_unchanged(tmp_path: Path, data: bytes, text: str) -> None:
    path = write_skill(tmp_path / "pdf") / "notes"
    path.write_bytes(data)
    expected = TextFileView("pdf", "notes", path, text, len(data))
    assert make_library(tmp_path).view_file("pdf", "notes") == expected


@pytest.mark.parametrize("size", [MAX_FILE_BYTES, MAX_FILE_BYTES + 1])
def test_text_is_shown_up_to_a_size_limit(tmp_path: Path, size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    path = write_file(write_skill(tmp_path / "pdf") / "long.txt", text)
    if size > MAX_FILE_BYTES:
        with pytest.raises(SkillFileTooLongError, match=f"has {size} bytes"):
            make_library(tmp_path).view_file("pdf", "long.txt")
    else:
        expected = TextFileView("pdf", "long.txt", path, text, size)
        assert make_library(tmp_path).view_file("pdf", "long.txt") == expected


def test_an_oversized_document_is_truncated_with_a_notice(tmp_path: Path) -> None:
    write_file(tmp_path / "pdf/SKILL.md", skill_text("pdf", body="x" * MAX_DOCUMENT_CHARACTERS))
    view = make_library(tmp_path).view("pdf")
    assert len(view.content) == MAX_DOCUMENT_CHARACTERS
    assert view.problems == (DocumentProblem(1, "it has 100040 characters, more than 100000"),)


def test_a_document_is_shown_in_its_current_state(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    library = make_library(tmp_path)
    library.set_watched(is_watched=True)
    library.skills()
    write_file(folder / "SKILL.md", "# Spoilt\n")
    view = library.view("pdf")
    assert (view.content, view.description) == ("# Spoilt\n", "Use it.")
    assert view.problems[0].is_fatal
    (folder / "SKILL.md").unlink()
    with pytest.raises(UnreadableSkillError, match="No such file"):
        library.view("pdf")


def test_third_party_metadata_and_clutter_are_not_listed(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    write_skill(folder / "inner")
    write_skill(folder / "templates/example")
    for path in (
        *("references/.DS_Store", "references/.git/config", "scripts/__pycache__/a.pyc"),
        *(".env", ".hidden/x", "category/DESCRIPTION.md", "DESCRIPTION.md", "templates/.keep"),
    ):
        write_file(folder / path)
    write_file(tmp_path / "secret")
    (folder / "references/out").symlink_to("../../secret")
    (folder / "references/in").symlink_to("../SKILL.md")
    (folder / "references/loop").symlink_to("loop")
    (folder / "references/up").symlink_to("..")
    os.mkfifo(folder / "scripts/fifo")
    assert linked_files(folder) == LinkedFiles(
        {
            **NO_FILES,
            "references": ("references/in",),
            "templates": ("templates/.keep", "templates/example/SKILL.md"),
        }
    )


def test_a_long_file_list_is_truncated_and_the_rest_counted(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    for number in range(MAX_LISTED + 5):
        write_file(folder / f"assets/{number:04}")
    found = linked_files(folder)
    assert (len(found.by_folder["assets"]), found.omitted) == (MAX_LISTED, 5)
