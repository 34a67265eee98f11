"""A SKILL.md is loaded if at all possible, whoever wrote it, and what is wrong is told by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_store.document import SkillDocument, parse_document
from skills_store.json_file import Json
from skills_store.skill import DocumentProblem
from tests.skills_store.skill_files import skill_text
from tests.support.case_table import each_case
from tests.support.user_texts import HAS_NO_DESCRIPTION


def test_unknown_fields_are_kept() -> None:
    fields = "license: MIT\nmetadata:\n  hermes:\n    tags: [a, b]\n  other: 1\nzoo: [x, {y: z}]"
    assert parse_document(skill_text("pdf", fields=fields), "pdf") == SkillDocument(
        {
            "name": "pdf",
            "description": "Use it.",
            "license": "MIT",
            "metadata": {"hermes": {"tags": ["a", "b"]}, "other": 1},
            "zoo": ["x", {"y": "z"}],
        },
        "\n1. Do.\n",
    )


@each_case(
    ("text", "value"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("1.10", "1.10"),
        (".nan", ".nan"),
        ("1e400", "1e400"),
        ("0x1F", "0x1F"),
        ("12", 12),
        ("-0", 0),
        ("9" * 19, "9" * 19),
        ("yes", "yes"),
        ("true", True),
        ("'true'", "true"),
        ("~", None),
        ("", None),
        ("!!python/object/apply:os.system [id]", ["id"]),
        ("!!binary aGk=", "aGk="),
        ("? a", "? a"),
    ],
)
def test_odd_values_are_harmless(text: str, value: Json) -> None:
    document = parse_document(skill_text("pdf", fields=f"field: {text}"))
    assert document.frontmatter.get("field") == value


@each_case(
    ("line", "description"),
    [
        ("description: Use when: always", "Use when: always"),
        ("description: @mention it: now", "@mention it: now"),
        ("description: *starred*: text", "*starred*: text"),
        ('description: it\'s: "quoted"', 'it\'s: "quoted"'),
        ("description: [Beta] reads: PDF", "[Beta] reads: PDF"),
        ("description: %percent: x", "%percent: x"),
        ("description: one: two\n  and three", "one: two and three"),
        ("description: |\n  one: two\nother: a: b", "one: two"),
        ("description: >-\n  one: two\n  three\nother: a: b", "one: two three"),
        ('description: "one: two"\nother: a: b', "one: two"),
        ("description: `code`: x", "`code`: x"),
    ],
)
def test_unquoted_values_are_parsed_on_the_second_try(line: str, description: str) -> None:
    document = parse_document(f"---\nname: pdf\n{line}\n---\nbody")
    assert (document.description, len(document.problems)) == (description, 1)
    assert "read as if quoted" in document.problems[0].text


@each_case(
    ("text", "problem"),
    [
        ("", DocumentProblem(1, "it does not begin with frontmatter (a line ---)", is_fatal=True)),
        (
            "# Title",
            DocumentProblem(1, "it does not begin with frontmatter (a line ---)", is_fatal=True),
        ),
        (
            "---\nname: x\n",
            DocumentProblem(1, "its frontmatter has no end (a line ---)", is_fatal=True),
        ),
        ("---\n---\nx", DocumentProblem(1, HAS_NO_DESCRIPTION, is_fatal=True)),
        ("---\ndescription:\n---\nx", DocumentProblem(1, HAS_NO_DESCRIPTION, is_fatal=True)),
        (
            "---\ndescription: [a]\n---\nx",
            DocumentProblem(1, HAS_NO_DESCRIPTION, is_fatal=True),
        ),
        (
            "---\n- a\n---\nx",
            DocumentProblem(2, "it is no mapping of fields to values", is_fatal=True),
        ),
        (
            "---\nname: x\n\tdescription: y\n---\nx",
            DocumentProblem(3, "found a tab character that violates indentation", is_fatal=True),
        ),
    ],
)
def test_an_unloadable_document_reports_the_reason_and_line(
    text: str, problem: DocumentProblem
) -> None:
    assert parse_document(text).problems == (problem,)


@pytest.mark.parametrize(
    ("text", "folder", "problem"),
    [
        (
            skill_text("other"),
            "pdf",
            DocumentProblem(2, "its name is 'other'; it is called 'pdf' like its folder"),
        ),
        (
            "---\ndescription: x\n---\n",
            "pdf",
            DocumentProblem(1, "it has no name; it is called 'pdf' like its folder"),
        ),
        (
            skill_text("n" * 65),
            "n" * 65,
            DocumentProblem(2, "its name is longer than 64 characters"),
        ),
        (
            skill_text("Pdf"),
            "Pdf",
            DocumentProblem(2, "its name has other characters than a-z, 0-9, hyphen, _ and ."),
        ),
        (
            skill_text("pdf", "d" * 1025),
            "pdf",
            DocumentProblem(3, "its description has 1025 characters, more than 1024"),
        ),
        (
            skill_text("pdf", fields="name: pdf"),
            "pdf",
            DocumentProblem(4, "the field 'name' a second time"),
        ),
        (
            skill_text("pdf", body="x" * 100_000),
            "pdf",
            DocumentProblem(1, "it has 100040 characters, more than 100000"),
        ),
    ],
    ids=["another-name", "no-name", "long-name", "capital", "long-description", "twice", "long"],
)
def test_a_questionable_document_loads_with_a_warning(
    text: str, folder: str, problem: DocumentProblem
) -> None:
    document = parse_document(text, folder)
    assert (document.problems, document.is_usable) == ((problem,), True)


@pytest.mark.parametrize("name", ["with_underscore", "with.dot", "a--b", "-edge-"])
def test_nonstandard_names_are_read_without_a_warning(name: str) -> None:
    assert parse_document(skill_text(name), name).problems == ()


def test_crlf_line_ends_and_a_byte_order_mark_are_supported() -> None:
    text = "\ufeff" + skill_text("pdf").replace("\n", "\r\n")
    document = parse_document(text, "pdf")
    assert (document.description, document.body, document.problems) == (
        "Use it.",
        "\r\n1. Do.\r\n",
        (),
    )


@pytest.mark.parametrize(
    "yaml",
    ["a: " + "[" * 5000, "a: " + "{a: " * 5000, "- " * 5000, "a: [" + "x, " * 20_000 + "]"],
    ids=["lists", "mappings", "dashes", "many"],
)
def test_an_expanding_yaml_block_is_rejected_or_read_as_text(yaml: str) -> None:
    document = parse_document(f"---\ndescription: x\n{yaml}\n---\n")
    assert document.problems
    assert all(isinstance(value, str) for value in document.frontmatter.values())


def test_an_alias_is_read_as_text() -> None:
    document = parse_document("---\ndescription: x\na: &a [x]\nb: *a\n---\n")
    assert document.frontmatter == {"description": "x", "a": "&a [x]", "b": "*a"}


@given(
    st.text(alphabet=st.sampled_from("abn: -\n'\"[]{}|>#&*!%@`~?,\\\t.\r\x00é\ud800"), max_size=80)
)
def test_no_text_raises(text: str) -> None:
    document = parse_document(f"---\nname: a\n{text}\n---\nbody", "a")
    assert document.is_usable or document.problems
