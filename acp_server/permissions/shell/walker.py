"""Walk a command line statement by statement, tracking the possible working directories.

Security: fails closed. An unknown kind of statement, word or command asks. The walk continues after
the first reason to ask, so that the user sees all reads and writes.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.command_line import Source, substitution_nodes, words_of
from acp_server.permissions.shell.conditions import judge_test, test_words
from acp_server.permissions.shell.findings import Findings, Unclear
from acp_server.permissions.shell.grammar import is_comment, is_covered, text_of
from acp_server.permissions.shell.loops import read_values, variable_of
from acp_server.permissions.shell.read_only_commands import PROGRAMS, name_of
from acp_server.permissions.shell.redirects import judge_redirect
from acp_server.permissions.shell.scope import Scope, climbs_back, union
from acp_server.permissions.shell.words import Word
from acp_server.permissions.shell.write_targets import put_down_changes
from acp_server.startup.fast_dataclass import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STATEMENTS = 2000
MAX_DEPTH = 40

Folders = tuple[str, ...]
_SEPARATORS = frozenset({";", "\n"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


@frozen
class Outcome:
    """The directories that the shell may be in after a statement."""

    after_success: Folders
    after_failure: Folders

    @property
    def either(self) -> Folders:
        """The directories after success or failure."""
        return union(self.after_success, self.after_failure)


class Walk:
    """One pass over one command line."""

    def __init__(self, source: Source) -> None:
        self.findings = Findings()
        self._source = source
        self._statements = 0
        self._depth = 0
        self._kinds: dict[str, Callable[[Node, Scope], Outcome]] = {
            "program": self._sequence,
            "list": self._list,
            "pipeline": self._pipeline,
            "subshell": self._subshell,
            "compound_statement": self._sequence,
            "negated_command": self._negated,
            "redirected_statement": self._redirected,
            "if_statement": self._branches,
            "elif_clause": self._branches,
            "else_clause": self._branches,
            "for_statement": self._loop,
            "command": self._command,
            "test_command": self._test,
        }

    def run(self, root: "Node", scope: Scope) -> None:
        """Walk the whole text."""
        text = self._source.text
        ends = (text[: root.start_byte], text[root.end_byte :])
        # Security: bytes outside the root node are no part of the analysis.
        if any(end.strip(b" \t\n") for end in ends):
            self.findings.ask("it cannot be read unambiguously")
        self._statement(root, scope)

    def _statement(self, node: "Node", scope: Scope) -> Outcome:
        # Fail closed: constructs that are not in the table ask.
        judge = self._kinds.get(node.type)
        if judge is None:
            self.findings.ask(_unknown_kind(node))
            return _stays(scope)
        # Bounds on hostile input: nesting would exceed Python's recursion, and loops multiply
        # statements.
        if self._depth >= MAX_DEPTH or self._is_too_long():
            self.findings.ask("it is too long or too deep to be followed")
            return _stays(scope)
        self._statements += 1
        self._depth += 1
        try:
            return judge(node, scope)
        except Unclear as unclear:
            self.findings.ask(unclear.reason)
            return _stays(scope)
        finally:
            self._depth -= 1

    def _is_too_long(self) -> bool:
        return self._statements >= MAX_STATEMENTS

    def _parts(self, node: "Node", tokens: frozenset[str]) -> Iterator["Node"]:
        """Yield the statements of a node; its other children must be these tokens or comments."""
        if not is_covered(node, self._source.text):
            raise Unclear("it cannot be read unambiguously")
        for child in node.children:
            if child.is_named and child.type != "comment":
                yield child
            elif not is_comment(child, self._source.text) and child.type not in tokens:
                raise Unclear(_unknown_token(child))

    def _sequence(self, node: "Node", scope: Scope) -> Outcome:
        """Walk consecutive statements; each may follow a failure of the previous one."""
        self._check_separators(node)
        outcome = _stays(scope)
        for part in self._parts(node, _SEPARATORS | {"{", "}"}):
            outcome = self._statement(part, scope.moved(outcome.either))
        return outcome

    def _check_separators(self, node: "Node") -> None:
        for left, right in pairwise(node.children):
            between = self._source.text[left.end_byte : right.start_byte]
            are_statements = left.is_named and right.is_named and right.type != "comment"
            # Security: without a separator between them, bash would read the two statements
            # differently.
            if are_statements and b"\n" not in between:
                raise Unclear("it cannot be read unambiguously")

    def _list(self, node: "Node", scope: Scope) -> Outcome:
        parts = list(self._parts(node, frozenset({"&&", "||"})))
        tokens = [child.type for child in node.children if not child.is_named]
        if len(parts) != len(("left", "right")) or len(tokens) != 1:
            raise Unclear("it cannot be read unambiguously")
        left = self._statement(parts[0], scope)
        if tokens == ["&&"]:
            # `&&` runs the right side only after success, `||` only after failure.
            right = self._statement(parts[1], scope.moved(left.after_success))
            failures = union(left.after_failure, right.after_failure)
            return Outcome(right.after_success, failures)
        right = self._statement(parts[1], scope.moved(left.after_failure))
        return Outcome(union(left.after_success, right.after_success), right.after_failure)

    def _pipeline(self, node: "Node", scope: Scope) -> Outcome:
        # Each part runs in a subshell: a `cd` in it has no effect afterwards.
        for part in self._parts(node, frozenset({"|", "|&"})):
            self._statement(part, scope)
        return _stays(scope)

    def _subshell(self, node: "Node", scope: Scope) -> Outcome:
        self._check_separators(node)
        inside = _stays(scope)
        for part in self._parts(node, _SEPARATORS | {"(", ")", "$("}):
            inside = self._statement(part, scope.moved(inside.either))
        return _stays(scope)

    def _negated(self, node: "Node", scope: Scope) -> Outcome:
        outcome = _stays(scope)
        for part in self._parts(node, frozenset({"!"})):
            outcome = self._statement(part, scope)
        # `!` swaps success and failure.
        return Outcome(outcome.after_failure, outcome.after_success)

    def _branches(self, node: "Node", scope: Scope) -> Outcome:
        """Walk an `if`: in every branch, its parts run in text order."""
        folders = scope.folders
        for part in self._parts(node, _SEPARATORS | {"if", "then", "elif", "else", "fi"}):
            folders = union(folders, self._statement(part, scope.moved(folders)).either)
        return Outcome(folders, folders)

    def _loop(self, node: "Node", scope: Scope) -> Outcome:
        """Walk the body of a `for` loop once per value."""
        body = node.child_by_field_name("body")
        if body is None or not is_covered(node, self._source.text):
            raise Unclear("it cannot be read unambiguously")
        name = variable_of(node, self._source)
        values = read_values(node, Access(self.findings, scope), self._source)
        folders = scope.folders
        for value in values:
            if self._is_too_long():
                raise Unclear("it is too long or too deep to be followed")
            # An iteration may fail or change the directory, so the next one starts in any directory
            # so far.
            inside = scope.moved(folders).with_value(name, value)
            folders = union(folders, self._body(body, inside))
        return Outcome(folders, folders)

    def _body(self, node: "Node", scope: Scope) -> Folders:
        self._check_separators(node)
        folders = scope.folders
        for part in self._parts(node, _SEPARATORS | {"do", "done"}):
            folders = union(folders, self._statement(part, scope.moved(folders)).either)
        return folders

    def _redirected(self, node: "Node", scope: Scope) -> Outcome:
        """Walk a redirected statement, then its redirects in every possible directory."""
        bodies = node.children_by_field_name("body")
        redirects = [child for child in node.children if child not in bodies]
        if len(bodies) != 1 or not is_covered(node, self._source.text):
            raise Unclear("it redirects without running anything")
        outcome = self._statement(bodies[0], scope)
        around = scope.moved(union(scope.folders, outcome.either))
        access = Access(self.findings, around)
        rest = [
            word
            for redirect in redirects
            for word in judge_redirect(redirect, access, self._source)
        ]
        if rest:
            self._rest_of(bodies[0], rest, around)
        return outcome

    def _rest_of(self, body: "Node", rest: Sequence["Node"], scope: Scope) -> None:
        """Judge a command again, with the words that follow its redirects."""
        if body.type != "command":
            raise Unclear("it cannot be read unambiguously")
        nodes = (*words_of(body, self._source), *rest)
        words = tuple(self._source.word(node, scope) for node in nodes)
        if words[0].text == "cd":
            raise Unclear("it changes to a folder that is only known when it runs")
        self._simple(words, scope)

    def _test(self, node: "Node", scope: Scope) -> Outcome:
        words = test_words(node, scope)
        judge_test(words, Access(self.findings, scope))
        return _stays(scope)

    def _command(self, node: "Node", scope: Scope) -> Outcome:
        for inner in substitution_nodes(node):
            self._subshell(inner, scope)
        here = [child for child in node.children if child.type == "herestring_redirect"]
        for redirect in here:
            judge_redirect(redirect, Access(self.findings, scope), self._source)
        nodes = words_of(node, self._source, besides=here)
        return self._simple(tuple(self._source.word(each, scope) for each in nodes), scope)

    def _simple(self, words: tuple[Word, ...], scope: Scope) -> Outcome:
        access = Access(self.findings, scope)
        # Order: record the writes before the command raises, so that the question can show them.
        put_down_changes(words, access)
        name = name_of(words[0])
        if name == "cd":
            return _change_folder(words[1:], access)
        if name in {"test", "["}:
            judge_test(words, access)
        elif name in PROGRAMS:
            PROGRAMS[name](words[1:], access)
        else:
            raise Unclear(f"{words[0].text} is not known to only read")
        return _stays(scope)


def _change_folder(words: tuple[Word, ...], access: Access) -> Outcome:
    """Follow a `cd`; without an operand it goes to the home directory."""
    scope = access.scope
    target = words[0] if words else Word(scope.home or "")
    if len(words) > 1 or not target.is_literal or target.text.startswith("-") or not target.text:
        raise Unclear("it changes to a folder that is only known when it runs")
    # Security: `..` after a name that may be a symlink has no certain target.
    if climbs_back(target.text):
        raise Unclear("it changes to a folder that depends on links")
    access.read(target)
    after = tuple(path for folder in scope.folders for path in _entered(folder, target.text, scope))
    return Outcome(union(after), scope.folders)


def _entered(folder: str, text: str, scope: Scope) -> Folders:
    """Return the target of `cd`: bash removes `..` lexically from the written path."""
    return scope.moved((folder,)).paths(text)[-1:]


def _stays(scope: Scope) -> Outcome:
    return Outcome(scope.folders, scope.folders)


def _unknown_kind(node: "Node") -> str:
    phrases = {
        "variable_assignment": "it sets a variable",
        "variable_assignments": "it sets variables",
        "function_definition": "it defines a function",
        "declaration_command": "it sets or shows variables",
        "while_statement": "it repeats commands until something changes",
        "case_statement": "it chooses between commands",
    }
    return phrases.get(node.type, "it holds a construct that is not known to only read")


def _unknown_token(node: "Node") -> str:
    if text_of(node) == "&":
        return "it leaves a command running in the background"
    return "it holds a construct that is not known to only read"
