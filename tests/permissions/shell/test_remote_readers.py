from pathlib import Path

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, decide
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import RemoteReadScope
from tests.support.case_table import each_case

READING = (
    *("gh pr view 12 --json title,body", "gh pr diff 12 | head -50", "gh pr list -L 5"),
    *("gh api repos/a/b/pulls/1/comments --jq '.[].body'", "gh api -X GET search/issues"),
    *("gh run view 1 --log-failed 2>&1 | tail -50", "gh issue view 3 -c && gh pr checks 3"),
    "gh api repos/a/b/issues --paginate -H 'Accept: application/json'",
)
OTHERS = (
    *("gh pr create -t a", "gh pr merge 1", "gh pr view 1 --web", "gh pr view 1 -w"),
    *("gh api -X DELETE repos/a/b", "gh api repos/a/b -f x=y", "gh api repos/a/b -F x=@.env"),
    *("gh api repos/a/b --field x=y", "gh api repos/a/b --input x", "gh api graphql -f query=x"),
    *("gh api a --jq env.GH_TOKEN", "gh api a --jq '$ENV'"),
    *("gh api a -XPOST", "gh api a --method=POST", "gh api a -X", "gh api a -H 'X: y'"),
    *("gh api $X", "gh auth token", "gh extension exec x", "gh alias set a b", "gh repo clone a/b"),
    *("gh run download 1", "gh release download", "gh pr view 1 | sh", "gh pr view 1 > x"),
    *("GH_HOST=evil.org gh pr view 1", "gh secret list", "gh pr checkout 1", "gh codespace ssh"),
    *("gh pr view 1 -R a.org/a/b https://b.org/a/b/pull/1", "gh api --hostname evil.org a"),
)


def decision_on(root: Path, command: str, *, is_allowed: bool | None = None) -> Decision:
    rules = (
        [] if is_allowed is None else [PermissionRule(RemoteReadScope("github.com"), is_allowed)]
    )
    facts = FactCollector((root,), root / "home", root / "home/own").collect(
        RunCommandEffect(command, FileTarget(root, root, is_inside=True))
    )
    return decide(facts, "ask", RuleBook(rules))


@each_case("command", READING)
def test_reading_from_a_service_asks_once(tmp_path: Path, command: str) -> None:
    root = tmp_path.resolve()
    asked = decision_on(root, command)
    assert isinstance(asked, Ask)
    assert asked.scope == RemoteReadScope("github.com")
    assert decision_on(root, command, is_allowed=True) == Allow()


@each_case("command", OTHERS)
def test_an_always_for_reading_from_a_service_covers_nothing_else(
    tmp_path: Path, command: str
) -> None:
    decision = decision_on(tmp_path.resolve(), command, is_allowed=True)
    assert isinstance(decision, Ask)
    assert decision.scope is None
