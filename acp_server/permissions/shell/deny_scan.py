"""Scan a command line for the deny list: commands that never run, without asking.

Lenient, unlike the rest: it also scans text that does not parse, and text that is passed to shells,
`eval` and launchers. It is a safety net against catastrophes, no security boundary; commands that
it misses are asked about.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acp_server.permissions.shell.deny_list import DENY_WORDS, is_raw_device, match_deny_list
from acp_server.permissions.shell.grammar import iter_nodes, node_text, parse
from acp_server.permissions.shell.user_rules import UserRules

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LAUNCHER_WORDS = 30
_SHELLS = DENY_WORDS["shells"]
_FORK_BOMB = re.compile(
    r"(?<![^\s(){};|&])([^\s(){};|&]{1,99})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}"
)
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_SHELL_NAME = re.compile(rb"sh\b")
_SCRIPT_FLAG = re.compile(r"-\w*c\w*|--command(?:=.*)?", re.DOTALL)
_NOT_A_PROGRAM = re.compile(r"-.*|[0-9.]+[smhd]?|\w+=.*", re.DOTALL)


@dataclass(slots=True)
class DenyListScan:
    """One scan of a command line and of the commands embedded in it."""

    directory: str
    """Initial working directory; removing everything in it may be a catastrophe."""
    home: str | None
    rules: UserRules = field(default_factory=UserRules)
    budget: int = 60
    """Budget of inner texts and statements: the cost grows with their square."""

    def scan(self, command: str) -> str | None:
        """Return as a phrase why a command line never runs; None if it may be asked about."""
        return self.scan_tree(parse(command.encode("utf-8", "replace")), command)

    def scan_tree(self, root: "Node", command: str) -> str | None:
        """Do the same for a parsed command line."""
        # Quoted text is only text here; what a shell gets as its script is scanned again by itself.
        if _FORK_BOMB.search(re.sub(r"'[^']*'|\"[^\"]*\"", "''", command)):
            return "it is a fork bomb"
        # Each command passes here: its text is read once more only if there are rules.
        refusal = self.rules.match_line(lenient_text(command)) if self.rules.patterns else None
        if refusal is not None:
            return refusal
        folder = self.directory
        for node in iter_nodes(root):
            if node.type == "command":
                words = _lenient_words(node)
                reason = self._scan_words(words, folder) or self._scan_shell_input(node)
                # Follows `cd` leniently, so that `cd / && rm -rf *` is found.
                if words[:1] == ["cd"]:
                    target = next((word for word in words[1:] if not word.startswith("-")), "~")
                    folder = target if target.startswith(("/", "~")) else f"{folder}/{target}"
            else:
                reason = self._scan_node(node)
            if reason is not None:
                return reason
        return None

    def _spend_budget(self) -> bool:
        self.budget -= 1
        return self.budget >= 0

    def _scan_texts(self, texts: Sequence[str]) -> str | None:
        found = (self.scan(text) for text in texts if self._spend_budget())
        return next((reason for reason in found if reason is not None), None)

    def _scan_node(self, node: "Node") -> str | None:
        if node.type == "file_redirect":
            return _redirect_reason(node)
        if (
            node.type == "function_definition"
            and self._spend_budget()
            and _calls_itself_twice(node)
        ):
            return "it is a fork bomb"
        if node.type in {"redirected_statement", "pipeline"}:
            return self._scan_shell_input(node)
        return None

    def _scan_shell_input(self, node: "Node") -> str | None:
        """Scan the text that a shell gets on stdin: a here-document, or output of echo."""
        # A cheap byte search first, because the budget is small and the scan below visits all
        # nodes.
        if not _SHELL_NAME.search(node.text or b"") or not self._spend_budget():
            return None
        descendants = list(iter_nodes(node))
        commands = [_lenient_words(child) for child in descendants if child.type == "command"]
        if not commands or _program_name(commands[-1]) not in _SHELLS:
            return None
        texts = [
            lenient_text(node_text(child).removeprefix("<<<").strip())
            for child in descendants
            if child.type in {"heredoc_body", "herestring_redirect"}
        ]
        printed_words = [words[1:] for words in commands if words[:1] in (["echo"], ["printf"])]
        return self._scan_texts([*texts, *(" ".join(words) for words in printed_words)])

    def _scan_words(self, words: Sequence[str], folder: str) -> str | None:
        refusal = self.rules.match_words(words)
        if refusal is not None:
            return refusal
        if _program_name(words) not in DENY_WORDS["launchers"]:
            return self._scan_program(words, folder)
        # Launchers have flags with values (`sudo -u root rm`), so each later word may be the
        # program.
        starts = [
            start for start in _launched_starts(words[:_MAX_LAUNCHER_WORDS]) if self._spend_budget()
        ]
        found = (self._scan_words(words[start:], folder) for start in starts)
        return next((reason for reason in found if reason is not None), None)

    def _scan_program(self, words: Sequence[str], folder: str) -> str | None:
        program = _program_name(words)
        if program in _SHELLS | {"su"}:
            is_script = any(_SCRIPT_FLAG.fullmatch(word) for word in words)
            texts = [word.removeprefix("--command=") for word in words[1:]]
            return self._scan_texts(texts) if is_script else None
        # eval joins its words before it parses them.
        if program == "eval":
            return self._scan_texts([" ".join(words[1:])])
        return match_deny_list(program, words[1:], folder, self.home)


def _launched_starts(words: Sequence[str]) -> Iterator[int]:
    """Yield the possible start indexes of a launcher's command; a word after a flag may be one."""
    if words[:2] in (["command", "-v"], ["command", "-V"]):
        return
    is_find = _program_name(words) == "find"
    for index in range(1, len(words)):
        before, word = words[index - 1], words[index]
        if is_find:
            if before in DENY_WORDS["find_launches"]:
                yield index
        elif not _NOT_A_PROGRAM.fullmatch(word):
            yield index
            if not before.startswith("-") or before == "--":
                return


def _lenient_words(command: "Node") -> list[str]:
    words = [lenient_text(node_text(child)) for child in command.children if child.is_named]
    # In `A=1 rm -rf /` the program follows the assignments.
    while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
        words.pop(0)
    return words


def lenient_text(text: str) -> str:
    """Return a word without its quotes, with `~` for the home directory."""
    plain = "".join(_unquoted(found) for found in _QUOTED.finditer(text))
    return re.sub(r"\$(?:HOME\b|\{HOME(?::?[-=?+][^}]{0,99})?\})", "~", plain)


def _unquoted(found: re.Match[str]) -> str:
    single, double, escaped, plain = found.groups()
    if double is not None:
        return re.sub(r"\\([\"\\$`])", r"\1", double)
    return single or escaped or plain or ""


def _redirect_reason(node: "Node") -> str | None:
    operators = {child.type for child in node.children}
    targets = node.children_by_field_name("destination")
    if operators & DENY_WORDS["outputs"] and any(
        is_raw_device(lenient_text(node_text(target))) for target in targets
    ):
        return "it writes to a raw device"
    return None


def _calls_itself_twice(function: "Node") -> bool:
    """Return whether a function pipes itself into itself in the background."""
    name, body = function.child_by_field_name("name"), function.child_by_field_name("body")
    if name is None or body is None:
        return False
    function_name = node_text(name)
    descendants = list(iter_nodes(body))
    calls = sum(
        child.type == "command" and _lenient_words(child)[:1] == [function_name]
        for child in descendants
    )
    kinds = {child.type for child in descendants}
    return calls > 1 and "pipeline" in kinds and "&" in kinds


def _program_name(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""
