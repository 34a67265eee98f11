"""Our own interpreter is started isolated, by one function: see `acp_server.startup.isolation`."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("acp_server", "prompt_engine", "skills_store")
THE_ONE_PLACE = "acp_server.startup.isolation"
ATTRIBUTES = {"sys.executable", "sys._base_executable", "sys.orig_argv"}
MODULES = {"multiprocessing", "runpy", "venv", "concurrent.futures.process"}
NAMES = {"ProcessPoolExecutor", "spawn_main"}
INTERPRETER = re.compile(r"^(.*[/\\])?python[0-9.]*(w?\.exe)?$")
MAY_MENTION = re.compile(
    r"executable|orig_argv|multiprocessing|runpy|venv|concurrent|ProcessPool|spawn_main|python"
    r"|[\"']acp_server[\"']"
)
"""What every mention holds in its text: most modules need not be parsed."""
LOOKS_ONLY = {
    "acp_server.cli.demo_runner:program_as_started": "prints how to start the program again",
    "acp_server.cli.bundle:describe_machine": "has a key of this name in its report",
    "acp_server.cli.demo:_server_environment": "puts the interpreter's directory on a PATH",
    "acp_server.cli.editor_settings:server_command": "looks for the command that was installed",
    "acp_server.tools.search.ripgrep:find_ripgrep": "looks for ripgrep in the same directory",
    "acp_server.tools.shell.confinement.installation:(module)": "the sandbox protects its files",
    "acp_server.tools.edit.checks:(module)": "names the language",
    "prompt_engine.sources.environment:_has_pip": "tells the model of the workspace's python",
    "prompt_engine.sources.environment:_library_directory": "likewise",
    "prompt_engine.sources.environment:describe_python": "likewise",
}
"""Places that mention an interpreter and start none."""


def mentions(source: str, module: str) -> Iterator[str]:
    """Yield the places of a module that mention an interpreter, as `module:function`."""
    if not MAY_MENTION.search(source):
        return
    tree = ast.parse(source)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if _is_mention(node, names):
            line = getattr(node, "lineno", 0)
            around = [f.name for f in functions if f.lineno <= line <= (f.end_lineno or line)]
            yield f"{module}:{around[-1] if around else '(module)'}"


def _is_mention(node: ast.AST, names: dict[str, str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
            return f"{owner}.{attribute}" in ATTRIBUTES or attribute in NAMES
        case ast.Name(id=name):
            return names.get(name, name) in ATTRIBUTES | NAMES
        case ast.Import(names=imported):
            return any(alias.name in MODULES for alias in imported)
        case ast.ImportFrom(module=module, names=imported):
            return module in MODULES or any(alias.name in NAMES for alias in imported)
        case ast.Constant(value=str(text)):
            return INTERPRETER.match(text) is not None or text == "acp_server"
        case _:
            return False


@cache
def found() -> frozenset[str]:
    places: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if module != THE_ONE_PLACE:
                places.update(mentions(path.read_text(encoding="utf-8"), module))
    return frozenset(places)


def test_only_listed_places_start_the_python_interpreter() -> None:
    new = sorted(found() - LOOKS_ONLY.keys())
    assert new == [], (
        f"these mention an interpreter: {new}. Start it with `isolated_python` or "
        "`isolated_server`; a place that starts none goes into LOOKS_ONLY, with the reason"
    )


def test_the_table_of_read_only_places_is_accurate() -> None:
    assert sorted(LOOKS_ONLY.keys() - found()) == []


STARTS = {
    "by its path": "import sys\nrun([sys.executable, '-m', 'x'])",
    "by its path under another name": "from sys import executable\nrun([executable])",
    "by name": "run(['python3', '-c', 'x'])",
    "by a full path": "run(['/usr/bin/python', 'x.py'])",
    "by module name": "run([found, '-m', 'acp_server'])",
    "by a pool": "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor()",
    "by multiprocessing": "import multiprocessing",
}


@pytest.mark.parametrize("source", STARTS.values(), ids=STARTS.keys())
def test_an_interpreter_start_without_isolation_is_detected(source: str) -> None:
    assert set(mentions(source, "new")) == {"new:(module)"}


def test_pipelines_start_python_isolated() -> None:
    """A pipeline's working directory is a checkout of other people's changes."""
    lines = [
        f"{path.name}: {line.strip()}"
        for path in sorted((ROOT / "editors/ci").rglob("*"))
        if path.is_file()
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bpython[0-9.]*\s+-(?!I\b)", line)
    ]
    assert lines == []
