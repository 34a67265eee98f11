"""Questions about reading from a host: which one they name, and what an answer covers."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, Facts, decide
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    RemoteReadScope,
    Scope,
    describe_scope,
)
from tests.support.case_table import each_case

HOST = RemoteReadScope("code.example.org")
SETTINGS = {
    "remote.origin.url": "git@code.example.org:a/b.git",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "root").resolve()
    git("init", "-q", str(root))
    for key, value in SETTINGS.items():
        git("-C", str(root), "config", key, value)
    return root


def git(*arguments: str) -> None:
    subprocess.run(("git", *arguments), check=True, capture_output=True)


def decision_on(
    root: Path, command: str, *scopes: Scope, variables: Mapping[str, str] | None = None
) -> Decision:
    return decision_with(facts_of(root, command, variables), *scopes)


def decision_with(facts: Facts, *scopes: Scope) -> Decision:
    rules = [PermissionRule(each, is_allowed=True) for each in scopes]
    return decide(facts, "ask", RuleBook(rules))


def facts_of(root: Path, command: str, variables: Mapping[str, str] | None = None) -> Facts:
    environment = {"PATH": os.defpath, "HOME": str(root.parent), **(variables or {})}
    collector = FactCollector((root,), root.parent, root.parent / "own", variables=environment)
    return collector.collect(RunCommandEffect(command, FileTarget(root, root, is_inside=True)))


def scope_of(root: Path, command: str, **variables: str) -> Scope | None:
    decision = decision_on(root, command, variables=variables)
    assert isinstance(decision, Ask)
    return decision.scope


@each_case(
    ("command", "host"),
    [
        ("git fetch", HOST.host),
        ("git fetch -q origin main --prune 2>&1 | tail -3", HOST.host),
        ("git fetch --all && git log --oneline origin/main | head", HOST.host),
        ("git fetch --depth 1 origin", HOST.host),
        ("git -C . fetch origin", HOST.host),
        ("git ls-remote --heads origin", HOST.host),
        ("git remote show origin", HOST.host),
        ("git ls-remote https://other.example.org:8443/a/b main", "other.example.org:8443"),
        ("git ls-remote ssh://git@other.example.org/a/b", "other.example.org"),
        ("gh pr view 3", HOST.host),
        ("gh api repos/a/b", "github.com"),
        ("gh api repos/{owner}/{repo}", HOST.host),
        ("gh pr view 3 -R a/b", "github.com"),
        ("gh pr view 3 -R other.example.org/a/b", "other.example.org"),
        ("gh pr view 3 --repo=local/a/b", "local"),
        ("gh pr view https://other.example.org/a/b/pull/1", "other.example.org"),
    ],
)
def test_a_question_names_the_host_that_is_read(root: Path, command: str, host: str) -> None:
    facts = facts_of(root, command)
    asked = decision_with(facts)
    assert isinstance(asked, Ask)
    assert asked.scope == RemoteReadScope(host)
    assert decision_with(facts, RemoteReadScope(host)) == Allow()
    assert isinstance(decision_with(facts, RemoteReadScope("x.example.org")), Ask)


def test_variables_name_the_host_of_gh(root: Path) -> None:
    for command in ("gh pr view 3", "gh api a", "gh pr view 3 -R a/b"):
        assert scope_of(root, command, GH_HOST="own.example.org") == RemoteReadScope(
            "own.example.org"
        )
    assert scope_of(root, "gh pr view 3", GH_REPO="x/y") is None


@each_case(
    "command",
    [
        *("git fetch . main", "git fetch ../other", "git fetch file:///code/x", "git fetch /x"),
        *(
            "git ls-remote 'ext::sh -c x'",
            "git fetch ext::x",
            "git fetch -- ext::x",
            "git ls-remote -- x",
        ),
        *("git fetch origin main:main", "git fetch origin +main", "git fetch -f", "git fetch -u"),
        *("git fetch --upload-pack=./x", "git ls-remote --upload-pack ./x", "git fetch nowhere"),
        *("git fetch --depth --upload-pack=x", "git fetch --multiple origin x", "git fetch $X"),
        *("git -c core.sshCommand=x fetch", "GIT_SSH_COMMAND=x git fetch", "git pull", "git push"),
        *("git remote update", "git remote show", "git remote add x y", "git fetch > x"),
        *("git ls-remote https://-x/a", "git ls-remote 'https://a b/c'", "git ls-remote a::b:c"),
        *("gh pr view 1 -R a.org/a/b https://b.org/a/b/pull/1", "git fetch --recurse-submodules"),
    ],
)
def test_other_readings_and_changes_are_not_covered_by_a_host(root: Path, command: str) -> None:
    decision = decision_on(root, command, HOST, RemoteReadScope("github.com"))
    assert isinstance(decision, Ask)
    assert not isinstance(decision.scope, RemoteReadScope)


@each_case(
    ("key", "value"),
    [
        ("remote.origin.url", "ext::sh -c x"),
        ("remote.origin.url", "../other"),
        ("remote.origin.proxy", "http://evil.example.org"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.fetch", "+refs/heads/*:refs/heads/*"),
        ("http.proxy", "http://evil.example.org"),
        ("http.https://x/.cookieFile", ".env"),
        ("fetch.bundleURI", "https://evil.example.org"),
        ("fetch.recurseSubmodules", "true"),
        ("core.sshCommand", "./x"),
        ("credential.helper", "!x"),
        ("url.ext::x.insteadOf", "git@code.example.org:"),
    ],
)
def test_settings_of_a_repository_cannot_use_a_host_that_is_covered(
    root: Path, key: str, value: str
) -> None:
    git("-C", str(root), "config", "--replace-all", key, value)
    decision = decision_on(root, "git fetch", HOST)
    git("-C", str(root), "config", "--unset-all", key)
    if key in SETTINGS:
        git("-C", str(root), "config", key, SETTINGS[key])
    assert isinstance(decision, Ask)
    assert decision.scope is None


def test_addresses_are_rewritten_as_git_does(root: Path) -> None:
    git(
        "-C",
        str(root),
        "config",
        "url.https://evil.example.org/.insteadOf",
        "git@code.example.org:",
    )
    assert scope_of(root, "git fetch") == RemoteReadScope("evil.example.org")


def test_each_of_several_hosts_must_be_covered(root: Path) -> None:
    git("-C", str(root), "remote", "add", "fork", "https://fork.example.org/a/b")
    hosts = ("code.example.org", "fork.example.org")
    assert scope_of(root, "git fetch") == HOST
    git("-C", str(root), "config", "remote.pushDefault", "fork")
    asked = scope_of(root, "git fetch --all")
    assert isinstance(asked, CommandScope)
    assert sorted(asked.hosts) == sorted(hosts)
    assert isinstance(decision_on(root, "git fetch --all", HOST), Ask)
    assert decision_on(root, "git fetch --all", *map(RemoteReadScope, hosts)) == Allow()
    assert decision_on(root, "git fetch fork", asked) == Allow()


@pytest.mark.parametrize("name", ["reference-transaction", "pre-auto-gc"])
def test_a_fetch_that_runs_a_hook_is_not_covered(root: Path, name: str) -> None:
    hook = root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.touch()
    assert scope_of(root, "git fetch") is None
    assert scope_of(root, "git ls-remote") == HOST


def test_a_line_that_also_does_something_else_offers_an_answer_for_each_part(root: Path) -> None:
    command = "git fetch origin && npm run build && gh pr view 3 -R a/b"
    scope = scope_of(root, command)
    assert scope is not None
    pattern = CommandPattern(("npm", "run", "build"), root)
    assert scope == CommandScope((pattern,), ("code.example.org", "github.com"))
    assert describe_scope(scope, root) == (
        "`npm run build …` and reading from code.example.org, github.com with git and gh"
    )
    assert decision_on(root, command, scope) == Allow()
    assert decision_on(root, "git fetch", scope) == Allow()
    assert decision_on(root, "npm run build -- --watch", scope) == Allow()
    assert isinstance(decision_on(root, command, HOST), Ask)
    assert isinstance(decision_on(root, command, CommandScope((pattern,))), Ask)
    assert isinstance(decision_on(root, "git fetch && rm -r x", scope), Ask)
