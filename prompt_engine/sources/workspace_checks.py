"""Commands that verify a project, from its manifests and CI files. Nothing is run.

Repository text reaches the prompt here, so only known names are accepted, and from CI files only
short commands of known programs.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.sources.workspace_manifests import (
    ProjectDirectory,
    project_tools,
    script_manager,
    scripts_of,
)

MAX_CHECKS = 8
MAX_WORKFLOWS = 10
MAX_COMMAND_WORDS = 5

_PROGRAMS = (
    r"(?:npm|pnpm|yarn|bun|npx|make|just|tox|nox|pytest|uv run|poetry run|python3? -m|cargo|go|mvn"
    r"|gradle|\./gradlew|bundle exec|mix|dotnet|bazel|ctest|deno)"
)
_CI_LINE = re.compile(
    rf"^[ \t]*(?:-[ \t]+)?(?:run:[ \t]*)?({_PROGRAMS} [\w ./:=@-]{{1,60}}|pytest|tox|nox)[ \t]?$",
    re.MULTILINE,
)
_VERIFYING_WORD = re.compile(
    r"\b(?:tests?|lint|check|clippy|vet|typecheck|tsc|mypy|ruff|pyright|eslint|pytest|tox|nox)\b"
)


def find_checks(folder: Path, managers: tuple[str, ...]) -> tuple[str, ...]:
    """Return up to 8 commands that verify the project in a directory, the most specific first."""
    project = ProjectDirectory(folder)
    found = (command for find in _FINDERS for command in find(project, managers))
    return tuple(islice(dict.fromkeys(found), MAX_CHECKS))


def _executables(project: ProjectDirectory, _managers: tuple[str, ...]) -> Iterator[str]:
    for name in project_tools()["check_executables"]:
        if project.read(name):
            yield name


def _scripts(project: ProjectDirectory, managers: tuple[str, ...]) -> Iterator[str]:
    scripts = scripts_of(project)
    runner = script_manager(managers)
    for name in project_tools()["check_scripts"]:
        if name in scripts and "no test specified" not in scripts[name]:
            yield f"{runner} run {name}"


def _targets(project: ProjectDirectory, _managers: tuple[str, ...]) -> Iterator[str]:
    for file, program in (("Makefile", "make"), ("justfile", "just")):
        text = project.read(file)
        for name in project_tools()["check_targets"]:
            if re.search(rf"^{name}(?:[ \t][^:=\n]*)?:(?!=)", text, re.MULTILINE):
                yield f"{program} {name}"


def _python_tools(project: ProjectDirectory, managers: tuple[str, ...]) -> Iterator[str]:
    text = project.read("pyproject.toml")
    try:
        tables: JsonValue = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        tables = None
    tables = tables if isinstance(tables, dict) else {}
    known = project_tools()
    runner = next((f"{name} run " for name in managers if name in known["python_runners"]), "")
    for tool, file, command in known["python_tools"]:
        is_dependency = tool == "pytest" and "pytest" in text
        if tool in tables or file in project.names or is_dependency:
            yield f"{runner}{command}"


def _fixed_checks(project: ProjectDirectory, _managers: tuple[str, ...]) -> Iterator[str]:
    for name, commands in project_tools()["fixed_checks"].items():
        if name in project.names:
            yield from commands


def _ci_commands(project: ProjectDirectory, _managers: tuple[str, ...]) -> Iterator[str]:
    workflows = ProjectDirectory(project.folder / ".github/workflows")
    names = sorted(name for name in workflows.names if name.endswith((".yml", ".yaml")))
    files = [f".github/workflows/{name}" for name in names[:MAX_WORKFLOWS]]
    for file in (*files, ".gitlab-ci.yml", ".circleci/config.yml"):
        for found in _CI_LINE.finditer(project.read(file)):
            command = " ".join(found[1].split())
            if _VERIFYING_WORD.search(command) and len(command.split()) <= MAX_COMMAND_WORDS:
                yield command


_FINDERS: tuple[Callable[[ProjectDirectory, tuple[str, ...]], Iterator[str]], ...] = (
    _executables,
    _scripts,
    _targets,
    _python_tools,
    _fixed_checks,
    _ci_commands,
)
