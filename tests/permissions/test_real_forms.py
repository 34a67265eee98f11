"""The forms of commands that asked most in recorded sessions: what each of them brings now."""

import os
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Literal, TypedDict, cast

import pytest

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, decide
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import RemoteReadScope

Verdict = Literal["passes", "checks", "host", "session", "exactly", "once"]
TASKS = "fmt lint test test:ci test:integration"
FILES = {
    "go.mod": "module x\n",
    "a.go": "package x\n",
    "sub/b.go": "package x\n",
    "mise.toml": "".join(f'[tasks."{each}"]\nrun = "x"\n' for each in TASKS.split()),
    "package.json": '{"scripts": {"check": "x", "build": "x"}}\n',
    "pyproject.toml": "[project]\n",
    "pom.xml": "<project/>\n",
    "build.gradle": "",
}


class Form(TypedDict):
    """A form, how often it asked, and what it brings now."""

    count: int
    line: str
    now: Verdict


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms").resolve() / "root"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    address = "https://github.com/a/b"
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "remote.origin.url", address),
        ("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("add", "."),
        (*identity, "commit", "-qm", "x"),
    ):
        subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)
    return folder


def read_forms() -> dict[str, list[Form]]:
    path = Path(__file__).with_name("real_forms.toml")
    return cast("dict[str, list[Form]]", tomllib.loads(path.read_text("utf-8")))


def decision_on(line: str, root: Path) -> Decision:
    home = root.parent / "home"
    variables = {"PATH": os.defpath, "HOME": str(home)}
    effect = RunCommandEffect(
        line, FileTarget(root, root, is_inside=True), sandbox_status="confined"
    )
    facts = FactCollector((root,), home, home / "own", variables=variables).collect(effect)
    return decide(facts, "ask", RuleBook())


def verdict_on(decision: Decision) -> Verdict:
    match decision:
        case Allow():
            return "passes"
        case Ask(checks_scope=checks) if checks is not None:
            return "checks"
        case Ask(scope=RemoteReadScope()):
            return "host"
        case Ask(scope=None):
            return "once"
        case Ask(scope=scope, exact_scope=exact):
            return "exactly" if exact is None or scope == exact else "session"
        case _:
            raise AssertionError(decision)


def test_each_form_brings_what_the_table_says(root: Path) -> None:
    verdicts = {
        form["line"]: (form["now"], verdict_on(decision_on(form["line"], root)))
        for forms in read_forms().values()
        for form in forms
    }
    assert {line: pair for line, pair in verdicts.items() if pair[0] != pair[1]} == {}


def test_most_commands_of_these_forms_need_one_answer_or_none() -> None:
    counts: Counter[tuple[str, Verdict]] = Counter()
    for kind, forms in read_forms().items():
        for form in forms:
            counts[kind, form["now"]] += form["count"]
    totals = {kind: sum(n for (of, _), n in counts.items() if of == kind) for kind in read_forms()}
    assert counts["test", "checks"] + counts["test", "session"] > 0.85 * totals["test"]
    assert counts["read", "passes"] > 0.95 * totals["read"]
    assert counts["remote", "host"] > 0.95 * totals["remote"]
