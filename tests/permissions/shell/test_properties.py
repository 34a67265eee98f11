import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.patterns import could_match_name
from tests.permissions.shell.attempts import ATTEMPTS
from tests.permissions.shell.ordinary import HARMLESS_COMMANDS
from tests.support.case_table import each_case

WORKSPACE = "/code/space"
HOME = "/home/user"

ordinary = st.sampled_from(sorted(HARMLESS_COMMANDS))
PIECES = (
    *("ls", "cat", "cd", "sort", "-o", "x", ".env", "E", "0", "for", "in", "do", "done", "if"),
    *("then", "fi", "$(", ")", "`", "'", '"', "\\", "\n", " ", "\t", ";", "&", "|", "<", "<<E"),
    *(">", "{", "}", "*", "[", "]", "~", "#", "$", "((", "))", "=", "!", "[[", "]]", "${", "<<<"),
)
ADDITIONS = (
    *("; touch x", "\ntouch x", " && touch x", " || touch x", " | touch x", " & touch x", " &"),
    *(' "$(touch x)"', " $(touch x)", " `touch x`", " > x", " >> x", " >| x", " &> x", "\n> x"),
    *(" <(touch x)", "\nsh", " | sh", "; x=1 touch x", "\neval touch x"),
)
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
additions = st.sampled_from(ADDITIONS)


@given(texts)
def test_no_input_causes_a_failure(text: str) -> None:
    found = assess(text, WORKSPACE, HOME)
    assert (found.reason == "") == (found.verdict == "reads")
    assert not found.is_coverable or found.asked


@given(ordinary, additions)
def test_a_command_followed_by_a_write_requires_permission(command: str, addition: str) -> None:
    ends_in_comment = command == "ls # everything" and not addition.startswith("\n")
    ends_in_document = "<<" in command and "\n" in command and not addition.startswith("\n")
    if ends_in_comment or ends_in_document:
        return
    assert assess(command + addition, WORKSPACE, HOME).verdict == "asks"


@given(
    st.sampled_from(["touch x; ", "touch x\n", "touch x && ", "PS4=1; ", "touch x | "]), ordinary
)
def test_a_command_preceded_by_a_write_requires_permission(addition: str, command: str) -> None:
    assert assess(addition + command, WORKSPACE, HOME).verdict == "asks"


@given(ordinary, st.sampled_from(sorted(ATTEMPTS.values())))
def test_no_attempt_is_hidden_by_an_ordinary_command(command: str, attempt: str) -> None:
    if command == "# what is here\nls" or attempt.startswith("PATH+="):
        return
    assert assess(f"{command}\n{attempt}", WORKSPACE, HOME).verdict != "reads"


@given(ordinary)
def test_a_subshell_of_an_ordinary_command_has_the_same_reads(command: str) -> None:
    alone = assess(command, WORKSPACE, HOME)
    inside = assess(f"(\n{command}\n)", WORKSPACE, HOME)
    assert inside.verdict == "asks" or inside == alone


@given(st.text(alphabet="abc.*?[]!-/", max_size=8), st.text(alphabet="abc.-", min_size=1))
def test_a_name_matches_itself_and_a_star(pattern: str, name: str) -> None:
    could_match_name(pattern, name)
    assert could_match_name(f"/code/{name}", name)
    assert name.startswith(".") or could_match_name("/code/*", name)


MOST_SECONDS = 2


def huge_texts(divisor: int) -> dict[str, str]:
    """Return texts that are long or deep, a part of their full size."""
    return {
        "groups": "(" * (30_000 // divisor),
        "substitutions": "echo " + "$(" * (20_000 // divisor),
        "closed substitutions": 'echo "'
        + "$(echo " * (2_000 // divisor)
        + ")" * (2_000 // divisor)
        + '"',
        "expansions": "echo " + '"${a:-' * (8_000 // divisor) + '}"' * (8_000 // divisor),
        "braces": "echo " + "{" * (30_000 // divisor),
        "one word": "a" * (65_000 // divisor),
        "blanks": "a" + " " * (65_000 // divisor),
        "pipes": "ls | " * (4_000 // divisor) + "sh",
        "nested pipes": "(" * (10_000 // divisor) + "ls" + " | sh)" * (10_000 // divisor),
        "shells": "sudo " + "sh -c a " * (3_000 // divisor),
        "home": "echo " + "${HOME-" * (9_000 // divisor),
        "loops": "for a in 1 2 3 4 5 6 7 8 9; do " * 12 + "ls; " + "done; " * 12,
        "documents": "cat <<E\n" * (7_000 // divisor),
        "functions": "f() { " * (9_000 // divisor),
        "lists": "ls && " * (5_000 // divisor) + "ls",
        "quotes": "'\"" * (15_000 // divisor),
        "changed folders": "cd a; " * (4_000 // divisor),
    }


@each_case("text", huge_texts(6).values(), ids=huge_texts(6).keys())
def test_no_input_takes_long(text: str) -> None:
    assert seconds_of(text) < MOST_SECONDS


@pytest.mark.full
@each_case("text", huge_texts(1).values(), ids=huge_texts(1).keys())
def test_no_huge_input_takes_long(text: str) -> None:
    assert seconds_of(text) < MOST_SECONDS


def seconds_of(text: str) -> float:
    """Return the processor time that it takes to judge a text."""
    started = time.process_time()
    assess(text, WORKSPACE, HOME)
    return time.process_time() - started
