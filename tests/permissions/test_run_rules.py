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
    VariableFacts,
    decide,
)
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.run_rules import (
    ASK_BY_RULE,
    DENIED_BY_RULE,
    PROTECTED_FROM_RULES,
    RunRule,
    RunRules,
)
from acp_server.permissions.scopes import SkillVariablesScope
from acp_server.permissions.shell.assessment import assess, list_command_words

ROOT = Path("/code")
VARIABLES = SkillVariablesScope("weather", "0f", ("KEY",))
DECIDED = Ask("because")


def writing(*names: str, is_protected: bool = False) -> FileFacts:
    files = tuple(ROOT / name for name in names)
    return FileFacts("write", files, protected=files if is_protected else ())


def running(command: str, *, is_protected: bool = False) -> CommandFacts:
    return CommandFacts(command, assess(command, "/code"), is_protected=is_protected)


def applied(order: RunRule, facts: Facts, tool: str = "terminal") -> Decision:
    return RunRules((order,)).apply(DECIDED, tool, facts, ROOT)


@pytest.mark.parametrize(
    ("order", "facts"),
    [
        pytest.param(RunRule("allow"), writing("a.py"), id="no restriction"),
        pytest.param(RunRule("allow", tools=("term*",)), running("make"), id="tool"),
        pytest.param(
            RunRule("allow", paths=("src/**",)), writing("src/a/b.py"), id="below a folder"
        ),
        pytest.param(RunRule("allow", paths=("*.md",)), writing("docs/a.md"), id="at any depth"),
        pytest.param(RunRule("allow", paths=("/code/src/",)), writing("src/a.py"), id="absolute"),
        pytest.param(RunRule("allow", commands=(("make",),)), running("make test"), id="prefix"),
        pytest.param(
            RunRule("allow", commands=(("ls",), ("uv", "run"))),
            running("uv run pytest"),
            id="second",
        ),
    ],
)
def test_an_effect_allowed_by_a_rule_needs_no_permission_request(
    order: RunRule, facts: Facts
) -> None:
    assert applied(order, facts) == Allow()


@pytest.mark.parametrize(
    ("order", "facts"),
    [
        pytest.param(RunRule("allow", tools=("patch",)), running("make"), id="another tool"),
        pytest.param(RunRule("allow", paths=("src/**",)), writing("src/a", "b"), id="one file not"),
        pytest.param(RunRule("allow", paths=("src/**",)), writing("../src/a"), id="outside"),
        pytest.param(RunRule("allow", paths=("src/**",)), running("make"), id="no file at all"),
        pytest.param(RunRule("allow", commands=(("make",),)), running("make; rm -r x"), id="two"),
        pytest.param(RunRule("allow", commands=(("make",),)), running("make > log"), id="redirect"),
        pytest.param(RunRule("allow", commands=(("make",),)), running("A=1 make"), id="variable"),
        pytest.param(
            RunRule("allow", commands=(("git", "log"),)), running("git push"), id="others"
        ),
        pytest.param(RunRule("allow", hosts=("a.org",)), running("make"), id="no host"),
        pytest.param(
            RunRule("allow"),
            replace(running("make"), sandbox_status="unconfined"),
            id="out of the sandbox",
        ),
    ],
)
def test_an_effect_without_a_matching_rule_is_decided_as_usual(
    order: RunRule, facts: Facts
) -> None:
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
def test_a_denied_command_is_denied_wherever_it_occurs(command: str) -> None:
    order = RunRule("deny", commands=(("git", "push"),), source_text="terminal(git push)")
    assert applied(order, running(command)) == Refuse(
        DENIED_BY_RULE.format(rule="terminal(git push)")
    )


def test_one_denied_file_denies_all_of_them() -> None:
    order = RunRule("deny", paths=("*.lock",), source_text="*.lock")
    refused = applied(order, writing("a.py", "uv.lock"))
    assert refused == Refuse(DENIED_BY_RULE.format(rule="*.lock"))


def test_the_first_matching_rule_applies() -> None:
    rules = RunRules((RunRule("deny", paths=("a.py",), source_text="a"), RunRule("allow")))
    assert rules.apply(Allow(), "patch", writing("a.py"), ROOT) == Refuse(
        DENIED_BY_RULE.format(rule="a")
    )
    assert rules.apply(DECIDED, "patch", writing("b.py"), ROOT) == Allow()


def test_a_rule_may_require_permission_for_an_effect_the_mode_allows() -> None:
    rules = RunRules((RunRule("ask", tools=("patch",), source_text="patch"),))
    asked = rules.apply(Allow(), "patch", writing("a.py"), ROOT)
    assert asked == Ask(ASK_BY_RULE.format(rule="patch"))


@pytest.mark.parametrize(
    "facts",
    [writing(".env", is_protected=True), running("cat .env", is_protected=True)],
    ids=["file", "command"],
)
def test_protected_paths_require_permission_in_any_mode_and_under_any_rule(facts: Facts) -> None:
    rules = RunRules((RunRule("allow"),))
    assert rules.apply(Allow(), "any", facts, ROOT) == Ask(PROTECTED_FROM_RULES)
    assert rules.apply(DECIDED, "any", facts, ROOT) == DECIDED


@pytest.mark.parametrize(
    ("facts", "is_allowable"),
    [
        pytest.param(running("make"), True, id="command"),
        pytest.param(running("cat .env", is_protected=True), False, id="protected"),
        pytest.param(
            replace(running("make"), sandbox_status="unconfined"), False, id="outside the sandbox"
        ),
    ],
)
def test_only_an_effect_that_an_allow_rule_opens_is_called_allowable(
    facts: Facts, *, is_allowable: bool
) -> None:
    decision = RunRules().apply(DECIDED, "terminal", facts, ROOT)
    assert isinstance(decision, Ask)
    assert decision.is_allowable == is_allowable


def test_a_refusal_is_not_overridden_by_an_allow_rule() -> None:
    rules = RunRules((RunRule("allow"),))
    assert rules.apply(Refuse(PLANNING), "patch", writing("a.py"), ROOT) == Refuse(PLANNING)


def test_the_commands_of_a_line_are_found_at_any_depth() -> None:
    assert list_command_words('X=1 make a | (tee "$F"; echo $(git log))') == (
        ("make", "a"),
        ("tee",),
        ("echo",),
        ("git", "log"),
    )
    assert list_command_words("echo 'unclosed") is None


def test_a_skill_gets_variables_by_consent_in_every_mode() -> None:
    facts, changed = VariableFacts(VARIABLES), SkillVariablesScope("weather", "1e", ("KEY",))
    consent = RuleBook([PermissionRule(VARIABLES, is_allowed=True)])
    rejection = RuleBook([PermissionRule(VARIABLES, is_allowed=False)])
    assert isinstance(decide(facts, "ask", RuleBook()), Ask)
    assert isinstance(decide(facts, "accept_edits", RuleBook()), Ask)
    assert isinstance(decide(facts, "bypass", RuleBook()), Refuse)
    assert decide(facts, "bypass", consent) == Allow()
    assert isinstance(decide(facts, "ask", rejection), Refuse)
    assert isinstance(decide(VariableFacts(changed), "ask", consent), Ask)


@pytest.mark.parametrize(
    ("rule", "is_allowed"),
    [
        pytest.param(RunRule("allow"), False, id="everything"),
        pytest.param(RunRule("allow", tools=("*",)), False, id="any tool"),
        pytest.param(RunRule("allow", tools=("skill_view",)), False, id="the tool"),
        pytest.param(RunRule("allow", tools=("skill_variables",)), True, id="any skill"),
        pytest.param(
            RunRule("allow", tools=("skill_variables",), skills=("weather",)), True, id="this skill"
        ),
        pytest.param(
            RunRule("allow", tools=("skill_variables",), skills=("other",)), False, id="another"
        ),
    ],
)
def test_only_a_rule_that_names_them_allows_variables(rule: RunRule, *, is_allowed: bool) -> None:
    facts = VariableFacts(VARIABLES)
    for mode in ("ask", "bypass"):
        decided = decide(facts, mode, RuleBook())
        found = RunRules((rule,)).apply(decided, "skill_view", facts, ROOT)
        assert (found == Allow()) is is_allowed
    denied = RunRules((RunRule("deny", tools=("*",)),)).apply(DECIDED, "skill_view", facts, ROOT)
    assert isinstance(denied, Refuse)
