"""Project checks: one answer for the tests, builds and servers that a workspace declares."""

from pathlib import Path

import pytest

from acp_server.permissions.effects import FileTarget, RunCommandEffect, SandboxStatus
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, decide
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import ProjectChecksScope
from tests.support.case_table import each_case

FILES = {
    "package.json": (
        '{"scripts": {"test": "", "lint:css": "", "dev": "", "start:prod": "", "deploy": "",'
        ' "test:deploy": ""}}'
    ),
    "Makefile": "X := test2\nall: test\ntest lint:\n\tgo test\n\tbuild: no\nrelease:\n",
    "mise.toml": "[tasks.test]\nrun = 'x'\n[tasks.'test:ci']\nrun = 'x'\n",
    "mise-tasks/lint/go": "#!/bin/sh\n",
    "go.mod": "module x\n",
    "web/src/a.ts": "",
    "crate/Cargo.toml": "",
    "py/pyproject.toml": "",
}
CHECKS = (
    *("npm test", "npm run lint:css -- --fix", "npm t", "make test", "make -j4 lint all"),
    *("mise run test:ci 2>&1 | tail -5", "mise run lint:go", "go test ./... && go vet ./..."),
    *("cd web/src && npx eslint .", "cd crate && cargo clippy", "cd py && uv run pytest -q"),
    *(
        "npm run dev",
        "timeout 60 make test",
        "CI=1 npm test",
        "make test && ls",
        "golangci-lint run",
    ),
)
OTHERS = (
    *("npm run deploy", "npm run test:deploy", "npm run missing", "make release", "make build"),
    *("make test2", "make", "mise run missing", "mise run ../../x", "cargo test", "pytest"),
    *(
        "E2E=1 npm test",
        "make test && rm x",
        "make test > log",
        "make test SHELL=x",
        "npm install x",
    ),
    *("npm ci --registry http://x", "npm run start:prod", "uv sync", "yarn add x"),
    *("git add a", "go run .", "go test -exec x ./...", "cd / && make test", "bd list"),
)
COVERED = RuleBook([PermissionRule(ProjectChecksScope(), is_allowed=True)])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checks").resolve()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def decision_on(
    root: Path, command: str, status: SandboxStatus = "confined", rules: RuleBook = COVERED
) -> Decision:
    facts = FactCollector((root,), root / "home", root / "home/own").collect(
        RunCommandEffect(command, FileTarget(root, root, is_inside=True), sandbox_status=status)
    )
    return decide(facts, "ask", rules)


@each_case("command", CHECKS)
def test_a_check_of_the_project_is_covered_by_one_answer(root: Path, command: str) -> None:
    asked = decision_on(root, command, rules=RuleBook())
    assert isinstance(asked, Ask)
    assert asked.checks_scope == ProjectChecksScope()
    assert decision_on(root, command) == Allow()


@each_case("status", ["free", "unconfined", "unprotected"])
def test_checks_are_covered_in_the_sandbox_alone(root: Path, status: SandboxStatus) -> None:
    decision = decision_on(root, "make test", status)
    assert isinstance(decision, Ask)
    assert decision.checks_scope is None


@each_case("command", OTHERS)
def test_other_commands_are_no_checks(root: Path, command: str) -> None:
    decision = decision_on(root, command)
    assert isinstance(decision, Ask)
    assert decision.checks_scope is None
