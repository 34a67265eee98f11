"""Permission rules of Claude Code's settings: what they deny, ask about and allow.

Format: https://docs.anthropic.com/en/docs/claude-code/iam

A workspace's rules that deny or ask count without trust, because they only restrict; those that
allow wait for the user's consent. What a rule says is read by its form, `Tool` or `Tool(what)`; a
rule for a tool that is not known here has no effect, since no tool of that name exists. Hooks in
these files are never run. All calls block.
"""

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.claude_allows import AllowedFile, describe_allowed, read_allowed
from acp_server.permissions.file_stamp import FileStamp, file_stamp
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.run_rules import RuleAction, RunRule
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_list, as_object
from acp_server.text.lines import to_single_line
from skills_store.reading import read_regular

logger = logging.getLogger(__name__)

FILES = (".claude/settings.json", ".claude/settings.local.json")
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


@frozen_dataclass
class ClaudeRules:
    """The rules of some settings files."""

    rules: tuple[RunRule, ...] = ()
    """Those that deny, then those that ask."""
    hidden: tuple[str, ...] = ()
    """Patterns, as in .gitignore, of the workspace's files that must not be read."""
    denied_commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """Patterns of command lines that must not run, with the file of each. They are compared with
    what launchers and shells are given, too."""
    hook_events: tuple[str, ...] = ()
    """Events that a file has hooks for; they are not run."""
    allowed: tuple[AllowedFile, ...] = ()
    """What the files allow, each counting once its use is approved."""

    def allowed_by(self, approved: Collection[str]) -> tuple[PermissionRule, ...]:
        """Return the rules that allow, of the user's own file and of approved uses by digest."""
        return tuple(
            rule
            for file in self.allowed
            if file.use is None or file.use.digest in approved
            for rule in file.rules
        )


NO_RULES = ClaudeRules()


@dataclass(slots=True)
class ClaudeSettings:
    """The settings files of a workspace and of its user, read again whenever they change."""

    roots: Sequence[Path]
    """The session's directory first."""
    user_home: Path
    _known: tuple[tuple[FileStamp | None, ...], ClaudeRules] | None = field(
        default=None, init=False
    )

    def rules(self) -> ClaudeRules:
        """Return the current rules of all files."""
        files = list(self._files())
        stamps = tuple(file_stamp(path) for path, _ in files)
        known = self._known
        if known is None or known[0] != stamps:
            known = (stamps, _read_all(files, self.user_home) if any(stamps) else NO_RULES)
            self._known = known
        return known[1]

    def _files(self) -> Iterator[tuple[Path, Path]]:
        """Yield the files and the directory that the paths in each are relative to."""
        for root in self.roots:
            real = root.resolve()
            yield from ((real / name, real) for name in FILES)
        # The user's own relative patterns hold in the session's directory.
        yield self.user_home / FILES[0], self.roots[0].resolve()


def _read_all(files: Sequence[tuple[Path, Path]], home: Path) -> ClaudeRules:
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
