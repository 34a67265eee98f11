"""What we write as a SKILL.md pleases the standard's own validator."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills_store.document import is_standard_name, validate_new_document
from tests.skills_store.skill_files import skill_text
from tests.support.case_table import each_case

GOOD = {
    "smallest": skill_text("pdf"),
    "all-fields": skill_text(
        "pdf",
        "'Use when: always'",
        "license: MIT\ncompatibility: Linux\nallowed-tools: Read Write\n"
        "metadata:\n  version: 1.0\n  hermes:\n    tags:\n      - a\n      - b",
    ),
    "tools-as-a-list": skill_text("pdf", fields="allowed-tools:\n  - Read\n  - Write"),
    "block-text": skill_text("pdf", ">\n  Use when: always\n  and more"),
    "longest-description": skill_text("pdf", "d" * 1024),
    "a-rule-in-the-body": skill_text("pdf", body="a\n\n---\n\nb\n"),
}
BAD = {
    "no-frontmatter": ("# Title", 1),
    "mark": ("\ufeff" + skill_text("pdf"), 1),
    "another-name": (skill_text("other"), 2),
    "no-description": ("---\nname: pdf\n---\nx", 1),
    "description-in-the-body": ("---\nname: pdf\n---\ndescription: x", 1),
    "empty-description": (skill_text("pdf", "''"), 3),
    "long-description": (skill_text("pdf", "d" * 1025), 3),
    "colon": (skill_text("pdf", "Use when: always"), 3),
    "flow-list": (skill_text("pdf", fields="metadata:\n  tags: [a]"), 5),
    "flow-mapping": (skill_text("pdf", fields="metadata: {}"), 4),
    "tag": (skill_text("pdf", fields="license: !!str MIT"), 4),
    "anchor": (skill_text("pdf", fields="license: &a MIT"), 4),
    "alias": (skill_text("pdf", fields="license: &a MIT\ncompatibility: *a"), 5),
    "unknown-field": (skill_text("pdf", fields="license: MIT\nversion: 1"), 5),
    "field-twice": (skill_text("pdf", fields="name: pdf"), 4),
    "compatibility-as-a-list": (skill_text("pdf", fields="compatibility:\n  - Linux"), 4),
    "long-compatibility": (skill_text("pdf", fields=f"compatibility: {'c' * 501}"), 4),
    "indented-otherwise": (
        skill_text("pdf", fields="metadata:\n  a:\n    x: 1\n  b:\n      y: 1"),
        8,
    ),
}
OURS_ALONE = {
    "tab": (skill_text("pdf", "a\tb"), 3),
    "line-separator": (skill_text("pdf", "a\u2028b"), 3),
    "lone-return": (skill_text("pdf", "a\rb"), 3),
    "rule-in-the-frontmatter": (skill_text("pdf", "a --- b"), 3),
    "empty-body": (skill_text("pdf", body=""), 5),
    "nul": (skill_text("pdf", body="a\0b"), 1),
    "long": (skill_text("pdf", body="x" * 100_000), 1),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_a_valid_document_has_no_problems(text: str) -> None:
    assert validate_new_document("pdf", text) == ()


@each_case(("text", "line"), {**BAD, **OURS_ALONE}.values(), ids={**BAD, **OURS_ALONE})
def test_a_problem_is_reported_with_its_line(text: str, line: int) -> None:
    assert line in {problem.line for problem in validate_new_document("pdf", text)}


@each_case(
    ("name", "is_standard"),
    [
        ("a", True),
        ("a-b-2", True),
        ("2", True),
        ("n" * 64, True),
        ("n" * 65, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a--b", False),
        ("a_b", False),
        ("a.b", False),
        ("A", False),
        ("é", False),
        ("a\n", False),
        ("a/b", False),
    ],
)
def test_names_follow_the_standard(name: str, *, is_standard: bool) -> None:
    assert is_standard_name(name) is is_standard
    is_clean = not any("no valid name" in each.text for each in validate_new_document(name, ""))
    assert is_clean is is_standard


@pytest.fixture(scope="module")
def validate() -> Callable[[Path], list[str]]:
    pytest.importorskip("skills_ref", reason="the standard's validator is not installed")
    module = importlib.import_module("skills_ref.validator")
    return cast("Callable[[Path], list[str]]", module.validate)


def _verdict(validate: Callable[[Path], list[str]], folder: Path, text: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(text.encode("utf-8", "surrogatepass"))
    return validate(folder)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_the_reference_validator_accepts_a_valid_document(
    tmp_path: Path, text: str, validate: Callable[[Path], list[str]]
) -> None:
    assert _verdict(validate, tmp_path / "pdf", text) == []


@pytest.mark.parametrize("text", [text for text, _ in BAD.values()], ids=BAD.keys())
def test_the_reference_validator_rejects_an_invalid_document(
    tmp_path: Path, text: str, validate: Callable[[Path], list[str]]
) -> None:
    assert _verdict(validate, tmp_path / "pdf", text) != []


PIECES = st.sampled_from(
    [
        *("license: ", "metadata:", "compatibility: ", "allowed-tools: ", "\n", "\n  ", "\n    "),
        *(
            "a",
            "b: ",
            "- ",
            "'",
            '"',
            "[",
            "]",
            "{",
            "#",
            " #",
            "&",
            "*",
            "!",
            "|",
            ">",
            ": ",
            "---",
        ),
        *("é", "\t", "\r", "\u2028", "\x85", "%", "@", "`", "?", "? ", "...", "<<: ", "~", "true"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=st.lists(PIECES, max_size=14).map("".join))
def test_every_accepted_document_passes_the_reference_validator(
    tmp_path: Path, fields: str, validate: Callable[[Path], list[str]]
) -> None:
    text = skill_text("pdf", fields=fields)
    if not validate_new_document("pdf", text):
        assert _verdict(validate, tmp_path / "pdf", text) == []
