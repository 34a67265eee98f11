"""25 operations of a model that explores a repository, in the words of each agent.

The repository is this one. Where an agent has a tool for a purpose, the call is made with that
tool; the others use the command that models use for it. Limits are the same for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: `tool` and `arguments` in our words, which Hermes shares."""

    title: str
    tool: str
    arguments: Arguments
    command: str = ""
    """The same as a shell command, for agents without such a tool."""
    listed_path: str = ""
    """The directory that is listed, if it is one: we read directories."""


def _read(title: str, path: str, **lines: int) -> Operation:
    return Operation(title, "read_file", {"path": path, **lines})


def _search(title: str, pattern: str, command: str, **more: JsonValue) -> Operation:
    return Operation(title, "search_files", {"pattern": pattern, **more}, command)


def _find(title: str, glob: str, limit: int = 20) -> Operation:
    command = f"find . -name '{glob}' -not -path './.git/*' | head -{limit}"
    arguments: Arguments = {"pattern": glob, "target": "files", "limit": limit}
    return Operation(title, "search_files", arguments, command)


def _list(title: str, path: str) -> Operation:
    return Operation(title, "terminal", {}, f"ls -A {path}", path)


def _run(title: str, command: str) -> Operation:
    return Operation(title, "terminal", {"command": command}, command)


OPERATIONS: Sequence[Operation] = (
    _list("list the top folder", "."),
    _list("list a folder of source", "acp_server/tools/shell"),
    _read("read a short file", "acp_server/tools/errors.py"),
    _read("read a file of 120 lines", "acp_server/tools/web/web_fetch.py"),
    _read("read a file of 450 lines", "acp_server/tools/factory.py"),
    _read("read a long document", "README.md"),
    _read("read 60 lines", "acp_server/turn/loop.py", offset=100, limit=60),
    _read("read the same lines again", "acp_server/turn/loop.py", offset=100, limit=60),
    _read("read a lock file", "requirements.lock"),
    _read("read a generated picture", ".assets/demo.svg"),
    _read("read a file that does not exist", "acp_server/tools/factori.py"),
    _search(
        "find a definition",
        "class SessionRecorder",
        "grep -rn 'class SessionRecorder' . | head -20",
    ),
    _search(
        "find the uses of a class", "ToolOutcome", "grep -rn 'ToolOutcome' . | head -20", limit=20
    ),
    _search(
        "search files of one kind",
        "async def run",
        "grep -rn --include='*.py' 'async def run' acp_server | head -20",
        path="acp_server",
        file_glob="*.py",
        limit=20,
    ),
    _search(
        "search with three lines of context",
        "def describe_file",
        "grep -rn -C 3 'def describe_file' acp_server",
        path="acp_server",
        context=3,
    ),
    _search(
        "list files with a match",
        "anyio",
        "grep -rl 'anyio' acp_server | head -20",
        path="acp_server",
        output_mode="files_only",
        limit=20,
    ),
    _search(
        "count matches by file",
        "anyio",
        "grep -rc 'anyio' acp_server --include='*.py' | grep -v ':0$' | head -20",
        path="acp_server",
        file_glob="*.py",
        output_mode="count",
        limit=20,
    ),
    _search(
        "search for nothing", "no_such_name_[a]nywhere_", "grep -rn 'no_such_name_[a]nywhere_' ."
    ),
    _find("find a file by its name", "*compaction*"),
    _find("find files by their ending", "test_*.py"),
    _run("look at the last commits", "git log --oneline -10"),
    _run("look at a commit", "git show --stat HEAD"),
    _run("print 5,000 lines", 'for i in $(seq 5000); do echo "row $i: all is well here"; done'),
    _run("run a command that fails", "python3 -c 'import no_such_module'"),
    _run(
        "run an installer with a progress bar",
        "for i in $(seq 300); do printf '\\rGetting %3d/300 [#########]' $i; done; echo; echo ok",
    ),
)


def ours(operation: Operation) -> tuple[str, Arguments]:
    """Return the call with our tools."""
    if operation.listed_path:
        return "read_file", {"path": operation.listed_path}
    return operation.tool, operation.arguments


def of_hermes(operation: Operation, folder: str) -> tuple[str, Arguments]:
    """Return the call with Hermes's tools, which list directories by a command."""
    if operation.listed_path:
        return "terminal", {"command": operation.command}
    if operation.tool == "terminal":
        return operation.tool, operation.arguments
    path = operation.arguments.get("path")
    absolute = f"{folder}/{path}" if path else folder
    return operation.tool, {**operation.arguments, "path": absolute}


def of_claude(operation: Operation, folder: str) -> tuple[str, Arguments]:
    """Return the call with the tools of claude-agent-acp, which searches by commands."""
    if operation.tool == "read_file":
        path = f"{folder}/{operation.arguments['path']}"
        rest = {name: each for name, each in operation.arguments.items() if name != "path"}
        return "Read", {"file_path": path, **rest}
    return "Bash", {"command": operation.command, "description": operation.title}


def call_of(tools: frozenset[str], folder: str, number: int) -> tuple[str, Arguments]:
    """Return the call of an operation for the agent that offers these tools."""
    operation = OPERATIONS[number]
    if "Bash" in tools:
        return of_claude(operation, folder)
    return of_hermes(operation, folder) if "vision_analyze" in tools else ours(operation)
