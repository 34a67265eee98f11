"""Reads permission rules of Claude Code's settings: what they deny, ask about and allow.

Format: https://docs.anthropic.com/en/docs/claude-code/iam

A workspace's rules that deny or ask count without trust, because they only restrict; those that
allow wait for the user's consent. What a rule says is read by its form, `Tool` or `Tool(what)`; a
rule for a tool that is not known here has no effect, since no tool of that name exists. Hooks in
these files are never run. All calls block.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from acp_server.permissions.claude_allows import AllowedFile, describe_allowed, read_allowed
from acp_server.permissions.claude_rules import ClaudeRules
from acp_server.permissions.run_rules import RuleAction, RunRule
from acp_server.text.json_values import Object, as_list, as_object
from acp_server.text.lines import to_single_line
from skills_store.reading import read_regular

logger = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024
MAX_RULES = 1_000
MAX_TEXT_CHARACTERS = 200
_READING = ("read_file", "search_files", "symbols")
_WRITING = ("write_file", "patch")
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("terminal", "process"),
    "Read": _READING,
    "Grep": ("search_files", "symbols"),
    "Glob": ("search_files",),
    "LS": _READING,
    "Edit": _WRITING,
    "Write": _WRITING,
    "MultiEdit": _WRITING,
    "NotebookEdit": _WRITING,
    "WebFetch": ("web_fetch",),
    "Task": ("delegate_task",),
    "Agent": ("delegate_task",),
}

_ACTIONS: Mapping[RuleAction, str] = {"deny": "forbidden:", "ask": "asks:", "allow": "allowed:"}


def read_rules(files: Sequence[tuple[Path, Path]], home: Path) -> ClaudeRules:
    """Return the rules of files, each with the directory that its paths are relative to."""
    deny: list[RunRule] = []
    ask: list[RunRule] = []
    hidden: list[str] = []
    commands: dict[str, str] = {}
    events: dict[str, None] = {}
    allowed: list[AllowedFile | None] = []
    for path, root in files:
        document = _read_document(path)
        permissions = as_object(document.get("permissions"))
        events |= dict.fromkeys(as_object(document.get("hooks")))
        for text in _texts(permissions, "deny"):
            rule = _parse("deny", text, root, path)
            if rule is not None:
                deny.append(rule)
                # Commands must not show either what the tools must not read.
                if set(_READING) <= {*rule.tools}:
                    hidden += _ignore_lines(text, root)
                for words in rule.commands:
                    line = " ".join(words)
                    commands |= dict.fromkeys((line, f"{line} *"), str(path))
        rules = (_parse("ask", text, root, path) for text in _texts(permissions, "ask"))
        ask += [rule for rule in rules if rule is not None]
        is_own = not path.is_relative_to(root)
        texts = _texts(permissions, "allow")
        allowed.append(read_allowed(texts, path, root, home, is_own=is_own))
    return ClaudeRules(
        (*deny, *ask),
        tuple(hidden),
        commands,
        tuple(events),
        tuple(each for each in allowed if each is not None),
    )


def _read_document(path: Path) -> Object:
    try:
        content = read_regular(path, MAX_BYTES)
        return as_object(json.loads(content.data)) if content.is_complete else {}
    except (OSError, ValueError, RecursionError) as error:
        if path.exists():
            logger.warning("cannot read the rules of %s: %s", path, error)
        return {}


def describe_rules(found: ClaudeRules, approved: Collection[str] = ()) -> str:
    """Return the rules, and the hooks that are not run, as Markdown; empty if there are none.

    `approved` has the digests of the approved uses.
    """
    lines = [f"- {_ACTIONS[each.action]} `{each.source_text}`" for each in found.rules]
    for file in found.allowed:
        is_approved = file.use is not None and file.use.digest in approved
        lines += describe_allowed(file, is_approved=is_approved)
    if found.hook_events:
        lines.append(f"- hooks that are not run: {', '.join(found.hook_events)}")
    return "\n".join(["Rules of Claude Code's settings:", "", *lines]) if lines else ""


def _texts(permissions: Object, key: str) -> Sequence[str]:
    found = [each for each in as_list(permissions.get(key)) if isinstance(each, str)]
    return found[:MAX_RULES]


def _parse(action: RuleAction, text: str, root: Path, path: Path) -> RunRule | None:
    """Return a rule in our form; None for a tool that does not exist here."""
    name, _, rest = text.strip().partition("(")
    what = rest.removesuffix(")").strip()
    shown = to_single_line(f"{text} in {path}", MAX_TEXT_CHARACTERS)
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return RunRule(action, (f"{server}__{tool or '*'}",), source_text=shown)
    tools = _TOOLS.get(name)
    if tools is None:
        return None
    if not what or what == "*" or tools == ("delegate_task",):
        return RunRule(action, tools, source_text=shown)
    match name:
        case "Bash":
            # `Bash(git push:*)` and `Bash(git push *)` mean the same: words, not a text.
            words = tuple(what.removesuffix("*").removesuffix(":").split())
            return RunRule(action, tools, commands=(words,) if words else (), source_text=shown)
        case "WebFetch":
            host = what.removeprefix("domain:")
            return RunRule(action, tools, hosts=(host, f"*.{host}"), source_text=shown)
        case _:
            return RunRule(action, tools, paths=(_pattern(what, root),), source_text=shown)


def _ignore_lines(text: str, root: Path) -> Sequence[str]:
    """Return the paths of a rule as lines of an ignore file of the workspace."""
    path = text.partition("(")[2].removesuffix(")").strip()
    if not path or path == "*":
        return ("*",)
    pattern = _pattern(path, root)
    if not pattern.startswith("/"):
        return (pattern,)
    prefix = f"{root.as_posix()}/"
    return (pattern.removeprefix(prefix[:-1]),) if pattern.startswith(prefix) else ()


def _pattern(path: str, root: Path) -> str:
    """Return a path pattern in our form: absolute with `/`, else relative to the workspace."""
    if path.startswith("//"):  # absolute; a single slash is the directory of the settings
        return path[1:]
    if path.startswith("~/"):
        return Path(path).expanduser().as_posix()
    relative = path.removeprefix("./").removeprefix("/")
    is_anchored = path.startswith(("./", "/")) or "/" in relative.rstrip("/")
    return f"{root.as_posix()}/{relative}" if is_anchored else relative
