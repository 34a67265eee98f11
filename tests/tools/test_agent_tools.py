"""The tools of an agent: its definition's names as ours, and never more than they mean."""

from acp_server.subagents.agent import ToolSelection
from acp_server.tools.agents.agent_tools import select_tools
from tests.support.case_table import each_case

AVAILABLE = (
    *("read_file", "search_files", "write_file", "patch", "terminal", "process", "web_fetch"),
    *("todo", "memory", "skills_list", "skill_view", "delegate_task", "github__search"),
    *("github__close_issue", "my_docs__find"),
)
READS = {"read_file", "search_files"}
ALLOWED: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "a reviewer": (("Read", "Grep", "Glob"), READS),
    "small names": (("read", "bash"), {"read_file", "terminal", "process"}),
    "edits": (("Read", "Edit", "MultiEdit", "NotebookEdit"), {"read_file", "patch"}),
    "writes": (("Write", "TodoWrite"), {"write_file", "todo"}),
    "pages": (("WebFetch",), {"web_fetch"}),
    "skills": (("Skill",), {"skill_view", "skills_list"}),
    "a server's tool": (("mcp__github__search",), {"github__search"}),
    "a server": (("mcp__github",), {"github__search", "github__close_issue"}),
    "a server with blanks": (("mcp__my docs__*",), {"my_docs__find"}),
    "a server as of opencode": (("github_*",), {"github__search", "github__close_issue"}),
    "our own": (("read_file", "terminal"), {"read_file", "terminal", "process"}),
    "nothing": ((), set()),
}
NOT_GIVEN = {
    "WebSearch": "`WebSearch` (there is no web search: web_fetch reads a page whose address you "
    "know)",
    "Frobnicate": "`Frobnicate` (there is no such tool here)",
    "Bash(git:*)": "`Bash(git:*)` (only whole tools can be given)",
    "Task": "`Task` (sub-agents never have it)",
    "Glob": "`Glob` (the tool that does this here can do more)",
    "NotebookEdit": "`NotebookEdit` (the tool that does this here can do more)",
    "BashOutput": "`BashOutput` (the tool that does this here can do more)",
    "mcp__gone__x": "`mcp__gone__x` (there is no such tool here)",
}
DENIED: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "commands": (("Bash",), {"terminal", "process"}),
    "some commands": (("Bash(rm:*)",), {"terminal", "process"}),
    "writing": (("Write",), {"write_file"}),
    "every change": (("edit",), {"write_file", "patch"}),
    "a server": (("github_*",), {"github__search", "github__close_issue"}),
    "unknown": (("Frobnicate",), set()),
}


@each_case(("names", "tools"), ALLOWED.values(), ids=ALLOWED.keys())
def test_names_give_the_tools_that_they_mean(names: tuple[str, ...], tools: set[str]) -> None:
    found = select_tools(ToolSelection(names), AVAILABLE)
    assert (found.names, found.not_given) == (tools, ())


@each_case(("name", "reason"), NOT_GIVEN.items())
def test_a_name_without_a_counterpart_gives_nothing_and_is_reported(name: str, reason: str) -> None:
    found = select_tools(ToolSelection((name,)), AVAILABLE)
    assert (found.names, found.not_given) == (frozenset(), (reason,))


@each_case(("names", "missing"), DENIED.values(), ids=DENIED.keys())
def test_denied_names_take_tools_away(names: tuple[str, ...], missing: set[str]) -> None:
    everything = select_tools(ToolSelection(), AVAILABLE).names
    found = select_tools(ToolSelection(None, names), AVAILABLE)
    assert everything == {*AVAILABLE} - {"memory", "delegate_task"}
    assert everything - found.names == missing


def test_everything_may_be_denied() -> None:
    assert select_tools(ToolSelection(None, ("*",)), AVAILABLE).names == frozenset()
