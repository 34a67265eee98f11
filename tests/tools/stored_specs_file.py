"""The file `stored_specs.json`, made from the tools.

uv run python -m tests.tools.stored_specs_file    # writes the file again
"""

import json
from pathlib import Path

from acp_server.tools.agents import delegate_task
from acp_server.tools.arguments import Arguments, build_json_schema, build_model_schema
from acp_server.tools.edit import patch, write_file
from acp_server.tools.interaction import clarify, exit_plan, todo
from acp_server.tools.memory import memory, session_search
from acp_server.tools.read import read_file
from acp_server.tools.search import search_files
from acp_server.tools.shell import process, terminal
from acp_server.tools.skills import skill_manage, skill_view, skills_list
from acp_server.tools.stored_specs import (
    CONFINED_TERMINAL,
    DELEGATION_WITH_AGENTS,
    FILE,
    PACKAGE,
    StoredFile,
    StoredTool,
    class_key,
    digest_of,
)
from acp_server.tools.symbols import call_arguments, symbols_tool
from acp_server.tools.web import web_fetch

CONFINED = terminal.CONFINED_DESCRIPTION.format(plain=terminal.DESCRIPTION)
WITH_AGENTS = f"{delegate_task.DESCRIPTION} {delegate_task.AGENTS}\n"
STREAMING = {"patch", "write_file", "skill_manage"}
TOOLS: dict[str, tuple[str, type[Arguments]]] = {
    "read_file": (read_file.DESCRIPTION, read_file.ReadFileArguments),
    "search_files": (search_files.DESCRIPTION, search_files.SearchFilesArguments),
    "symbols": (symbols_tool.DESCRIPTION, call_arguments.SymbolArguments),
    "write_file": (write_file.DESCRIPTION, write_file.WriteFileArguments),
    "patch": (patch.DESCRIPTION, patch.PatchArguments),
    "terminal": (terminal.DESCRIPTION, terminal.TerminalArguments),
    CONFINED_TERMINAL: (CONFINED, terminal.ConfinedArguments),
    "process": (process.DESCRIPTION, process.ProcessArguments),
    "web_fetch": (web_fetch.DESCRIPTION, web_fetch.WebFetchArguments),
    "todo": (todo.DESCRIPTION, todo.TodoArguments),
    "clarify": (clarify.DESCRIPTION, clarify.ClarifyArguments),
    "exit_plan": (exit_plan.DESCRIPTION, exit_plan.ExitPlanArguments),
    "memory": (memory.DESCRIPTION, memory.MemoryArguments),
    "session_search": (session_search.DESCRIPTION, session_search.SessionSearchArguments),
    "skills_list": (skills_list.DESCRIPTION, skills_list.SkillsListArguments),
    "skill_view": (skill_view.DESCRIPTION, skill_view.SkillViewArguments),
    "skill_manage": (skill_manage.DESCRIPTION, skill_manage.SkillManageArguments),
    "delegate_task": (delegate_task.DESCRIPTION, delegate_task.DelegateArguments),
    DELEGATION_WITH_AGENTS: (WITH_AGENTS, delegate_task.AgentDelegateArguments),
}
"""Description and arguments, by key."""


def stored_specs_text() -> str:
    """Return the content that the file must have."""
    classes = [arguments for _, arguments in TOOLS.values()]
    modules = sorted({arguments.__module__ for arguments in classes})
    sources = ("acp_server/tools/arguments.py", *map(_source_of, modules))
    content: StoredFile = {
        "sources": {source: digest_of(source) for source in sorted(sources)},
        "schemas": {
            class_key(each): [
                {**build_json_schema(each)},
                {**build_model_schema(build_json_schema(each))},
            ]
            for each in classes
        },
        "tools": {key: _tool(key, *TOOLS[key]) for key in TOOLS},
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def _tool(key: str, description: str, arguments: type[Arguments]) -> StoredTool:
    name = key.partition(",")[0]
    return {
        "name": name,
        "description": description,
        "arguments": class_key(arguments),
        "streams": name in STREAMING,
    }


def _source_of(module: str) -> str:
    file = Path(*module.split(".")).with_suffix(".py")
    assert (PACKAGE / file).is_file()
    return file.as_posix()


if __name__ == "__main__":
    FILE.write_text(stored_specs_text(), encoding="utf-8")
