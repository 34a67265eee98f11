"""Scan a command line for the deny list: commands that never run, without asking.

Lenient, unlike the rest: it also scans text that does not parse, and text that is passed to shells,
`eval` and launchers. It is a safety net against catastrophes, no security boundary; commands that
it misses are asked about.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acp_server.permissions.shell.deny_list import disaster_of, is_raw_device
from acp_server.permissions.shell.grammar import nodes_of, parse, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LAUNCHED = 30
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"])
_LAUNCHERS = frozenset(
    [
        "sudo",
        "doas",
        "env",
        "command",
        "builtin",
        "exec",
        "nohup",
        "nice",
        "ionice",
        "timeout",
        "time",
        "xargs",
        "busybox",
        "stdbuf",
        "setsid",
        "chroot",
        "unshare",
        "strace",
        "watch",
        "parallel",
        "caffeinate",
        "runuser",
        "find",
        "toybox",
    ]
)
_FORK_BOMB = re.compile(
    r"(?<![^\s(){};|&])([^\s(){};|&]{1,99})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}"
)
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_SHELL_NAME = re.compile(rb"sh\b")
_SCRIPT_FLAG = re.compile(r"-\w*c\w*|--command(?:=.*)?", re.DOTALL)
_IS_NO_PROGRAM = re.compile(r"-.*|[0-9.]+[smhd]?|\w+=.*", re.DOTALL)
_FIND_LAUNCHES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_OUTPUTS = frozenset({">", ">>", "&>", "&>>", ">|"})


@dataclass(slots=True)
class Search:
    """One scan of a command line and of the commands embedded in it."""

    folder: str
    """Initial working directory; removing everything in it may be a catastrophe."""
    home: str | None
    remaining: int = 60
    """Budget of inner texts and statements: the cost grows with their square."""

    def refusal_of(self, command: str) -> str | None:
        """Return as a phrase why a command line never runs; None if it may be asked about."""
        return self.refusal_below(parse(command.encode("utf-8", "replace")), command)

    def refusal_below(self, root: "Node", command: str) -> str | None:
        """Do the same for a parsed command line."""
        if _FORK_BOMB.search(_without_quotes(command)):
            return "it is a fork bomb"
        folder = self.folder
        for node in nodes_of(root):
            if node.type == "command":
                words = _lenient_words(node)
                reason = self._of_words(words, folder) or self._of_fed_shell(node)
                # Follows `cd` leniently, so that `cd / && rm -rf *` is found.
                folder = _folder_after(words, folder)
            else:
                reason = self._of_node(node)
            if reason is not None:
                return reason
        return None

    def _may_look(self) -> bool:
        self.remaining -= 1
        return self.remaining >= 0

    def _of_texts(self, texts: Sequence[str]) -> str | None:
        found = (self.refusal_of(text) for text in texts if self._may_look())
        return next((reason for reason in found if reason is not None), None)

    def _of_node(self, node: "Node") -> str | None:
        if node.type == "file_redirect":
            return _refusal_of_redirect(node)
        if node.type == "function_definition" and self._may_look() and _calls_itself_twice(node):
            return "it is a fork bomb"
        if node.type in {"redirected_statement", "pipeline"}:
            return self._of_fed_shell(node)
        return None

    def _of_fed_shell(self, node: "Node") -> str | None:
        """Scan the text that a shell gets on stdin: a here-document, or output of echo."""
        # A cheap byte search first, because the budget is small and the scan below visits all
        # nodes.
        if not _SHELL_NAME.search(node.text or b"") or not self._may_look():
            return None
        inside = list(nodes_of(node))
        commands = [_lenient_words(child) for child in inside if child.type == "command"]
        if not commands or _program(commands[-1]) not in _SHELLS:
            return None
        texts = [
            lenient_text(text_of(child).removeprefix("<<<").strip())
            for child in inside
            if child.type in {"heredoc_body", "herestring_redirect"}
        ]
        printed = [words[1:] for words in commands if words[:1] in (["echo"], ["printf"])]
        return self._of_texts([*texts, *(" ".join(words) for words in printed)])

    def _of_words(self, words: Sequence[str], folder: str) -> str | None:
        if _program(words) not in _LAUNCHERS:
            return self._of_launched(words, folder)
        # Launchers have flags with values (`sudo -u root rm`), so each later word may be the
        # program.
        starts = [start for start in _launched_from(words[:_MAX_LAUNCHED]) if self._may_look()]
        found = (self._of_words(words[start:], folder) for start in starts)
        return next((reason for reason in found if reason is not None), None)

    def _of_launched(self, words: Sequence[str], folder: str) -> str | None:
        program = _program(words)
        if program in _SHELLS | {"su"}:
            is_script = any(_SCRIPT_FLAG.fullmatch(word) for word in words)
            texts = [word.removeprefix("--command=") for word in words[1:]]
            return self._of_texts(texts) if is_script else None
        if program == "eval":
            return self._of_texts([" ".join(words[1:])])
        return disaster_of(program, words[1:], folder, self.home)


def _launched_from(words: Sequence[str]) -> Iterator[int]:
    """Yield the possible start indexes of a launcher's command; a word after a flag may be one."""
    if words[:2] in (["command", "-v"], ["command", "-V"]):
        return
    is_find = _program(words) == "find"
    for index in range(1, len(words)):
        before, word = words[index - 1], words[index]
        if is_find:
            if before in _FIND_LAUNCHES:
                yield index
        elif not _IS_NO_PROGRAM.fullmatch(word):
            yield index
            if not before.startswith("-") or before == "--":
                return


def _without_quotes(command: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", command)


def _lenient_words(command: "Node") -> list[str]:
    words = [lenient_text(text_of(child)) for child in command.children if child.is_named]
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


def _folder_after(words: Sequence[str], folder: str) -> str:
    if words[:1] != ["cd"]:
        return folder
    target = next((word for word in words[1:] if not word.startswith("-")), "~")
    return target if target.startswith(("/", "~")) else f"{folder}/{target}"


def _refusal_of_redirect(node: "Node") -> str | None:
    operators = {child.type for child in node.children}
    targets = node.children_by_field_name("destination")
    if operators & _OUTPUTS and any(is_raw_device(lenient_text(text_of(one))) for one in targets):
        return "it writes to a raw device"
    return None


def _calls_itself_twice(function: "Node") -> bool:
    """Return whether a function pipes itself into itself in the background."""
    name, body = function.child_by_field_name("name"), function.child_by_field_name("body")
    if name is None or body is None:
        return False
    own = text_of(name)
    inside = list(nodes_of(body))
    calls = sum(child.type == "command" and _lenient_words(child)[:1] == [own] for child in inside)
    kinds = {child.type for child in inside}
    return calls > 1 and "pipeline" in kinds and "&" in kinds


def _program(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""
