"""Orders: which rule of a run fits, and what no rule opens."""

from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.policy import (
    PLANNING,
    Allow,
    Ask,
    CommandFacts,
    Decision,
    Facts,
    FileFacts,
    Refuse,
)
from acp_server.permissions.run_rules import ORDERED_NOT, ORDERED_TO_ASK, PROTECTED, Order, Orders
from acp_server.permissions.shell.assessment import assess, spoken_commands

ROOT = Path("/code")
DECIDED = Ask("because")


def writing(*names: str, is_protected: bool = False) -> FileFacts:
    files = tuple(ROOT / name for name in names)
    return FileFacts("write", files, protected=files if is_protected else ())


def running(command: str, *, is_protected: bool = False) -> CommandFacts:
    return CommandFacts(command, assess(command, "/code"), is_protected=is_protected)


def applied(order: Order, facts: Facts, tool: str = "terminal") -> Decision:
    return Orders((order,)).applied(DECIDED, tool, facts, ROOT)


@pytest.mark.parametrize(
    ("order", "facts"),
    [
        pytest.param(Order("allow"), writing("a.py"), id="no restriction"),
        pytest.param(Order("allow", tools=("term*",)), running("make"), id="tool"),
        pytest.param(Order("allow", paths=("src/**",)), writing("src/a/b.py"), id="below a folder"),
        pytest.param(Order("allow", paths=("*.md",)), writing("docs/a.md"), id="at any depth"),
        pytest.param(Order("allow", paths=("/code/src/",)), writing("src/a.py"), id="absolute"),
        pytest.param(Order("allow", commands=(("make",),)), running("make test"), id="prefix"),
        pytest.param(
            Order("allow", commands=(("ls",), ("uv", "run"))), running("uv run pytest"), id="second"
        ),
    ],
)
def test_what_a_rule_allows_is_done_unasked(order: Order, facts: Facts) -> None:
    assert applied(order, facts) == Allow()


@pytest.mark.parametrize(
    ("order", "facts"),
    [
        pytest.param(Order("allow", tools=("patch",)), running("make"), id="another tool"),
        pytest.param(Order("allow", paths=("src/**",)), writing("src/a", "b"), id="one file not"),
        pytest.param(Order("allow", paths=("src/**",)), writing("../src/a"), id="outside"),
        pytest.param(Order("allow", paths=("src/**",)), running("make"), id="no file at all"),
        pytest.param(Order("allow", commands=(("make",),)), running("make; rm -r x"), id="two"),
        pytest.param(Order("allow", commands=(("make",),)), running("make > log"), id="redirect"),
        pytest.param(Order("allow", commands=(("make",),)), running("A=1 make"), id="variable"),
        pytest.param(Order("allow", commands=(("git", "log"),)), running("git push"), id="others"),
        pytest.param(Order("allow", hosts=("a.org",)), running("make"), id="no host"),
        pytest.param(
            Order("allow"), replace(running("make"), standing="unconfined"), id="out of the sandbox"
        ),
    ],
)
def test_what_no_rule_fits_is_decided_as_ever(order: Order, facts: Facts) -> None:
    assert applied(order, facts) == DECIDED


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "cd x && git push --force",
        "echo $(git push)",
        "if true; then git push; fi",
        "A=1 git push",
        "git push $REMOTE > /dev/null",
        "git push 'unclosed",
    ],
)
def test_a_command_that_is_forbidden_is_forbidden_wherever_it_stands(command: str) -> None:
    order = Order("deny", commands=(("git", "push"),), written="terminal(git push)")
    assert applied(order, running(command)) == Refuse(ORDERED_NOT.format(rule="terminal(git push)"))


def test_one_forbidden_file_forbids_all_of_them() -> None:
    order = Order("deny", paths=("*.lock",), written="*.lock")
    refused = applied(order, writing("a.py", "uv.lock"))
    assert refused == Refuse(ORDERED_NOT.format(rule="*.lock"))


def test_the_first_rule_that_fits_counts() -> None:
    orders = Orders((Order("deny", paths=("a.py",), written="a"), Order("allow")))
    assert orders.applied(Allow(), "patch", writing("a.py"), ROOT) == Refuse(
        ORDERED_NOT.format(rule="a")
    )
    assert orders.applied(DECIDED, "patch", writing("b.py"), ROOT) == Allow()


def test_a_rule_may_have_asked_about_what_the_mode_lets_through() -> None:
    orders = Orders((Order("ask", tools=("patch",), written="patch"),))
    asked = orders.applied(Allow(), "patch", writing("a.py"), ROOT)
    assert asked == Ask(ORDERED_TO_ASK.format(rule="patch"))


@pytest.mark.parametrize(
    "facts",
    [writing(".env", is_protected=True), running("cat .env", is_protected=True)],
    ids=["file", "command"],
)
def test_what_is_protected_is_asked_about_in_any_mode_and_under_any_rule(facts: Facts) -> None:
    orders = Orders((Order("allow"),))
    assert orders.applied(Allow(), "any", facts, ROOT) == Ask(PROTECTED)
    assert orders.applied(DECIDED, "any", facts, ROOT) == DECIDED


def test_what_is_refused_in_any_case_stays_refused() -> None:
    orders = Orders((Order("allow"),))
    assert orders.applied(Refuse(PLANNING), "patch", writing("a.py"), ROOT) == Refuse(PLANNING)


def test_the_commands_of_a_line_are_found_at_any_depth() -> None:
    assert spoken_commands('X=1 make a | (tee "$F"; echo $(git log))') == (
        ("make", "a"),
        ("tee",),
        ("echo",),
        ("git", "log"),
    )
    assert spoken_commands("echo 'unclosed") is None
