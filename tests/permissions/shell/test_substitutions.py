"""A command inside a word is judged wherever it may be written."""

import pytest

from acp_server.permissions.shell.assessment import assess
from tests.permissions.shell.ordinary import HARMLESS_COMMANDS
from tests.support.case_table import each_case

WORKSPACE = "/code/space"
HOME = "/home/user"
# Positions of the shell grammar that the ordinary commands lack; not all of these are harmless.
OTHER_COMMANDS = (
    "echo hi </dev/null there",
    "echo hi 2>&1 there",
    "echo </dev/null hi >/dev/null there 2>&1 you",
    "</dev/null echo hi",
    "{ ls; } </dev/null",
    "(ls) 2>/dev/null",
    "for f in a b; do ls; done </dev/null",
    "cat <<< hi",
    "cat <<< hi 2>/dev/null",
    "cat <<E\nhi\nE",
    "cat <<E | head\nhi\nE",
    "x=1 ls",
    "x=1",
    "x[0]=1 ls",
    "a=(b c)",
    "echo ${x[0]}",
    "echo ${x:-y}",
    "echo $((1 + 2))",
    "((1 + 2))",
    "case x in y) ls ;; esac",
    "while true; do ls; done",
    "select f in a b; do ls; done",
    "for ((i = 0; i < 3; i++)); do ls; done",
    "f() { ls; }",
    "[ -n a ]",
    "[ a = b ]",
    "[[ a == b ]]",
    "[[ a =~ b ]]",
    "test a -nt b",
    "declare x=1",
    "export x=1",
    'echo "a b" "c $HOME d"',
    "time ls",
    "ls &",
    "coproc ls",
    "! ls",
)
COMMANDS = (*HARMLESS_COMMANDS, *OTHER_COMMANDS)
# Single quotes, backslashes and comments would make the inserted text mere text.
EXPANDED = [each for each in COMMANDS if not set(each) & {"'", "\\"} and "# " not in each]
# `<(` is mere text inside quotes and here-documents.
UNQUOTED = [each for each in EXPANDED if '"' not in each and "<<E" not in each]
IN_WORDS = ("$(touch X)", "`touch X`", '"$(touch X)"', ' "$(touch X)" ', " $(touch X) ")
AS_FILES = ("<(touch X)", " <(touch X) ", " >(touch X) ", " < <(touch X) ")


INSERTED = [*IN_WORDS, *AS_FILES]


@each_case(("first", "inserted"), enumerate(INSERTED))
def test_a_command_inserted_anywhere_requires_permission(first: int, inserted: str) -> None:
    # Every third place has one kind, as if they took turns; each kind is at all places below.
    assert passing_insertions(inserted, 3 * first, 3 * len(INSERTED)) == []


@pytest.mark.full
@each_case("inserted", INSERTED)
def test_a_command_inserted_at_each_place_requires_permission(inserted: str) -> None:
    assert passing_insertions(inserted, 0, 1) == []


def passing_insertions(inserted: str, first: int, step: int) -> list[str]:
    return [
        changed
        for command in (EXPANDED if inserted in IN_WORDS[:2] else UNQUOTED)
        for index in range(first, len(command) + 1, step)
        for changed in (command[:index] + inserted + command[index:],)
        # In `$$(`, bash takes `$$` for its process id.
        if "$$(" not in changed and assess(changed, WORKSPACE, HOME).verdict == "reads"
    ]


def test_a_harmless_command_after_a_redirect_is_judged_too() -> None:
    assert assess('echo hi </dev/null "$(pwd)"', WORKSPACE, HOME).verdict == "reads"
    found = assess('echo hi 2>&1 "$(cat .env)"', WORKSPACE, HOME)
    assert (found.verdict, "/code/space/.env" in found.reads) == ("reads", True)
