"""Files that other programs run or that agents obey: they are asked about, also while editing."""

import subprocess
from pathlib import Path

import pytest

from acp_server.permissions.git_checks import HOOK_REASON
from acp_server.permissions.run_by_others import file_groups, find_reason
from tests.permissions.secret_workspace import (
    RecordingUser,
    SecretWorkspace,
    create_secret_workspace,
    open_tool_caller,
)
from tests.support.case_table import each_case

_RUN_BY_OTHERS = """
.githooks/pre-commit a/.githooks/pre-push .husky/pre-commit web/.husky/pre-commit
.pre-commit-config.yaml lefthook.yml .lintstagedrc.json
.vscode/tasks.json a/.vscode/settings.json my.code-workspace .devcontainer.json
.devcontainer/devcontainer.json .zed/tasks.json .idea/runConfigurations/a.xml .nvim.lua .exrc .vimrc
.dir-locals.el .bashrc .zshrc .profile .config/fish/config.fish .tmux.conf mise.toml
.hermes.md HERMES.md web/.hermes.md .mcp.json .claude/settings.json .claude/settings.local.json
.claude/commands/a.md .cursor/mcp.json opencode.json .opencode/command/a.md .aider.conf.yml
.kiro/hooks/a.kiro.hook .roo/mcp.json .windsurf/mcp_config.json .amazonq/mcp.json
.continue/config.yaml .github/workflows/ci.yml .GitHub/Workflows/ci.yml
.github/actions/a/action.yml .gitlab-ci.yml
Jenkinsfile deploy/Jenkinsfile.release .travis.yml azure-pipelines.yml .buildkite/pipeline.yml
.forgejo/workflows/a.yml .gitea/workflows/a.yml .circleci/config.yml
.yarnrc.yml .pnpmfile.cjs .yarn/plugins/a.cjs .cargo/config.toml sitecustomize.py
.tool-versions web/.tool-versions .volta/hooks.json aqua.yaml rust-toolchain.toml .prototools
pnpm-workspace.yaml .Rprofile .bazelrc tools/bazel .jj/repo/config.toml .replit
.venv/bin/python venv/bin/python env/bin/activate node_modules/.bin/tsc web/node_modules/.bin/tsc
.github\u200b/workflows/ci.yml .github./workflows/ci.yml
"""
_FREE = """
conftest.py src/main.py Makefile package.json pyproject.toml setup.py tests/conftest.py README.md
AGENTS.md CLAUDE.md .github/CODEOWNERS .github/ISSUE_TEMPLATE/bug.md .cursor/rules/style.mdc
.agents/skills/deploy/SKILL.md .editorconfig .gitignore .prettierrc tsconfig.json env/settings.py
src/venv/model.py node_modules/left-pad/index.js docs/workflows/ci.yml githooks.md mcp.py
"""


@each_case("path", _RUN_BY_OTHERS.split())
def test_a_file_that_others_run_or_obey_is_known_by_its_path(path: str) -> None:
    assert find_reason(Path(path))


@each_case("path", _FREE.split())
def test_ordinary_source_is_free(path: str) -> None:
    assert find_reason(Path(path)) == ""


def test_each_group_has_a_reason_of_its_own() -> None:
    reasons = [group.reason for group in file_groups()]
    assert len(set(reasons)) == len(reasons)
    assert all(reasons)


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    return create_secret_workspace(tmp_path)


@pytest.mark.parametrize("path", ["scripts/hooks/pre-commit", "named/pre-commit"])
async def test_a_hook_is_asked_about_wherever_git_is_told_to_look(
    stage: SecretWorkspace, path: str
) -> None:
    stage.write_file("scripts/hooks/README", "")
    (stage.root / "named").symlink_to("scripts/hooks")
    settings = stage.root / ".git/config"
    settings.write_text(settings.read_text() + "[core]\n\thooksPath = scripts/hooks\n")
    async with open_tool_caller(stage, "accept_edits") as caller:
        outcome = await caller.call("write_file", {"path": path, "content": "#!/bin/sh\n"})
        assert outcome.is_error
        assert [each.reason for each in caller.user.questions] == [f"pre-commit: {HOOK_REASON}"]
        caller.user.questions.clear()
        outcome = await caller.call("write_file", {"path": "scripts/a.sh", "content": "true\n"})
        assert (outcome.is_error, caller.user.questions) == (False, [])


async def test_no_answer_for_a_directory_covers_such_files(stage: SecretWorkspace) -> None:
    user = RecordingUser("allow_session")
    async with open_tool_caller(stage, "ask", user) as caller:
        for name, count in (("web/a.txt", 1), ("web/b.txt", 1), ("web/opencode.json", 2)):
            await caller.call("write_file", {"path": name, "content": "x\n"})
            assert len(user.questions) == count, name


def test_git_names_the_directory_of_its_hooks() -> None:
    """`rev-parse --git-path` honours `core.hooksPath`, which the gate relies on."""
    done = subprocess.run(
        ("git", "-c", "core.hooksPath=elsewhere", "rev-parse", "--git-path", "hooks"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "elsewhere"
