"""Walk a command line statement by statement, tracking the possible working directories.

Security: fails closed. An unknown kind of statement, word or command asks. The walk continues after
the first reason to ask, so that the user sees all reads and writes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.assignments import (
    Assignment,
    is_harmless_variable,
    read_assignment,
)
from acp_server.permissions.shell.command_judges import (
    NAME_RUNNERS,
    command_name,
    judge_command,
    judge_xargs,
)
from acp_server.permissions.shell.command_line import (
    NOT_WORDS,
    CommandSource,
    collect_words,
    iter_substitutions,
)
from acp_server.permissions.shell.conditions import judge_test, split_test
from acp_server.permissions.shell.covered_programs import Coverage, find_coverage
from acp_server.permissions.shell.dangers import describe_input, find_downloads, find_rank
from acp_server.permissions.shell.findings import (
    AskedCommand,
    CommandFindings,
    GitUse,
    UndecidableCommand,
)
from acp_server.permissions.shell.git_commands import (
    follow_git_directory,
    record_unknown_git_use,
)
from acp_server.permissions.shell.grammar import (
    are_fully_parsed,
    is_comment,
    is_fully_parsed,
    iter_nodes,
    node_text,
)
from acp_server.permissions.shell.loops import (
    assigned_names,
    read_line_variables,
    read_loop_values,
    read_loop_variable,
)
from acp_server.permissions.shell.name_sources import (
    FileNames,
    is_name_filter,
    read_printed_names,
)
from acp_server.permissions.shell.redirects import judge_redirect
from acp_server.permissions.shell.remote_readers import find_remote_read
from acp_server.permissions.shell.scope import (
    UNKNOWN_VALUE,
    ShellScope,
    VariableValue,
    has_dotdot_after_name,
    merge_directories,
)
from acp_server.permissions.shell.words import Word
from acp_server.permissions.shell.wrappers import split_env, split_wrappers
from acp_server.permissions.shell.write_targets import record_changes
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STATEMENTS = 2000
MAX_DEPTH = 40
MAX_PARTS_BEFORE_XARGS = 8

Directories = tuple[str, ...]
Values = Mapping[str, VariableValue]
_SEPARATORS = frozenset({";", "\n"})
_UNKNOWN_NODES = {
    "function_definition": reasons.FUNCTION,
    "declaration_command": reasons.VARIABLES,
    "case_statement": reasons.CHOICE,
}
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})


@frozen_dataclass
class DirectoryOutcome:
    """The directories that the shell may be in after a statement."""

    after_success: Directories
    after_failure: Directories
    success_values: Values = field(default_factory=dict[str, VariableValue])
    """The variables that were set, if it succeeded."""
    values: Values = field(default_factory=dict[str, VariableValue])
    """The variables that may have been set; unknown where that depends on a failure."""

    @property
    def either(self) -> Directories:
        """The directories after success or failure."""
        return merge_directories(self.after_success, self.after_failure)


class CommandWalker:
    """One pass over one command line."""

    def __init__(self, source: CommandSource) -> None:
        self.findings = CommandFindings()
        self._source = source
        self._input_names: FileNames | None = None
        self._statements = 0
        self._depth = 0
        self._handlers: dict[str, Callable[[Node, ShellScope], DirectoryOutcome]] = {
            "program": self._sequence,
            "list": self._list,
            "pipeline": self._pipeline,
            "subshell": self._subshell,
            "compound_statement": self._sequence,
            "negated_command": self._negated,
            "redirected_statement": self._redirected_statement,
            "if_statement": self._if_statement,
            "elif_clause": self._if_statement,
            "else_clause": self._if_statement,
            "for_statement": self._loop,
            "while_statement": self._while_read,
            "variable_assignment": self._assignment,
            "variable_assignments": self._assignments,
            "command": self._command,
            "test_command": self._test,
        }

    def run(self, root: "Node", scope: ShellScope) -> None:
        """Walk the whole text."""
        text = self._source.text
        ends = (text[: root.start_byte], text[root.end_byte :])
        # Security: bytes outside the root node are no part of the analysis.
        if any(end.strip(b" \t\n") for end in ends):
            self.findings.add_reason(reasons.AMBIGUOUS)
        self._statement(root, scope)
        # Security: fails closed if a handler forgets a part of the tree. The loop is skipped if the
        # command asks in any case.
        if not self.findings.reasons and any(
            node.type in _SUBSTITUTIONS and node.start_byte not in self._source.judged_substitutions
            for node in iter_nodes(root)
        ):
            self.findings.add_reason(reasons.INNER_COMMAND)

    def _statement(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        # Fail closed: constructs that are not in the table ask.
        judge = self._handlers.get(node.type)
        if judge is None:
            self.findings.add_reason(_UNKNOWN_NODES.get(node.type, reasons.UNKNOWN_SYNTAX))
            return _unchanged(scope)
        # Bounds on hostile input: nesting would exceed Python's recursion, and loops multiply
        # statements.
        if self._depth >= MAX_DEPTH or self._is_too_long():
            self.findings.add_reason(reasons.TOO_DEEP)
            return _unchanged(scope)
        self._statements += 1
        self._depth += 1
        try:
            return judge(node, scope)
        except UndecidableCommand as error:
            self.findings.add_reason(error.reason)
            return _unchanged(scope)
        finally:
            self._depth -= 1

    def _is_too_long(self) -> bool:
        return self._statements >= MAX_STATEMENTS

    def _child_statements(self, node: "Node", tokens: frozenset[str]) -> Iterator["Node"]:
        """Yield the statements of a node; its other children must be these tokens or comments."""
        if not is_fully_parsed(node, self._source.text):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        for child in node.children:
            if child.is_named and child.type != "comment":
                yield child
            elif not is_comment(child, self._source.text) and child.type not in tokens:
                raise UndecidableCommand(
                    reasons.BACKGROUND if node_text(child) == "&" else reasons.UNKNOWN_SYNTAX
                )

    def _sequence(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk consecutive statements; each may follow a failure of the previous one."""
        return self._run_in_order(node, scope, _SEPARATORS | {"{", "}"})

    def _run_in_order(
        self, node: "Node", scope: ShellScope, tokens: frozenset[str]
    ) -> DirectoryOutcome:
        self._check_separators(node)
        outcome = _unchanged(scope)
        values: Values = {}
        for part in self._child_statements(node, tokens):
            part_scope = scope.with_directories(outcome.either).with_values(values)
            outcome = self._statement(part, part_scope)
            values = {**values, **outcome.values}
        last = {**values, **outcome.success_values}
        return replace(outcome, success_values=last, values=values)

    def _check_separators(self, node: "Node") -> None:
        for left, right in pairwise(node.children):
            between = self._source.text[left.end_byte : right.start_byte]
            are_statements = left.is_named and right.is_named and right.type != "comment"
            # Security: without a separator between them, bash would read the two statements
            # differently.
            if are_statements and b"\n" not in between:
                raise UndecidableCommand(reasons.AMBIGUOUS)

    def _list(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        parts = list(self._child_statements(node, frozenset({"&&", "||"})))
        tokens = [child.type for child in node.children if not child.is_named]
        if len(parts) != len(("left", "right")) or len(tokens) != 1:
            raise UndecidableCommand(reasons.AMBIGUOUS)
        left = self._statement(parts[0], scope)
        if tokens == ["&&"]:
            # `&&` runs the right side only after success, `||` only after failure.
            right_scope = scope.with_directories(left.after_success)
            right = self._statement(parts[1], right_scope.with_values(left.success_values))
            failures = merge_directories(left.after_failure, right.after_failure)
            return DirectoryOutcome(
                right.after_success,
                failures,
                {**left.success_values, **right.success_values},
                {**left.values, **_forget(right.values)},
            )
        right_scope = scope.with_directories(left.after_failure).with_values(left.values)
        right = self._statement(parts[1], right_scope)
        values = {**left.values, **_forget(right.values)}
        return DirectoryOutcome(
            merge_directories(left.after_success, right.after_success),
            right.after_failure,
            values,
            values,
        )

    def _pipeline(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        # Each part runs in a subshell: a `cd` in it has no effect afterwards.
        parts = list(self._child_statements(node, frozenset({"|", "|&"})))
        joins_errors = any(child.type == "|&" for child in node.children)
        hosts: dict[str, None] = {}
        for index, part in enumerate(parts):
            # Bounded: the parts before it are read once more. An input redirect would replace their
            # names; the parser puts `< list` around the whole pipeline.
            is_short = index <= MAX_PARTS_BEFORE_XARGS
            works_on_names = _is_plain_xargs(part) or part.type == "while_statement"
            if works_on_names and is_short and not (joins_errors or scope.has_input):
                self._input_names = self._find_input_names(parts[:index], scope)
            self._statement(part, scope.with_input(tuple(hosts)) if index else scope)
            self._input_names = None
            hosts.update(dict.fromkeys(self._find_downloads(part, scope)))
        return _unchanged(scope)

    def _find_downloads(self, part: "Node", scope: ShellScope) -> tuple[str, ...]:
        """Return the hosts that a part of a pipeline downloads from."""
        try:
            return find_downloads(self._words_without_errors(part, scope))
        except UndecidableCommand:
            return ()

    def _find_input_names(self, parts: Sequence["Node"], scope: ShellScope) -> FileNames | None:
        """Return the names of files that the parts of a pipeline print; None if not known."""
        try:
            commands = [self._words_without_errors(part, scope) for part in parts]
        except UndecidableCommand:
            return None
        if not commands or not all(commands) or not all(map(is_name_filter, commands[1:])):
            return None
        return read_printed_names(commands[0])

    def _words_without_errors(self, part: "Node", scope: ShellScope) -> tuple[Word, ...]:
        """Return the words of a plain command, whose errors may go to /dev/null; else none."""
        if part.type == "redirected_statement":
            body, *redirects = part.children
            texts = {node_text(each) for each in redirects}
            if not texts <= {"2>/dev/null", "2> /dev/null"} or not is_fully_parsed(
                part, self._source.text
            ):
                return ()
            part = body
        if part.type != "command" or any(child.type in NOT_WORDS for child in part.children):
            return ()
        return self._read_command(part, scope)[1]

    def _subshell(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        self._run_in_order(node, scope, _SEPARATORS | {"(", ")", "$(", "<("})
        # A subshell keeps its `cd` and its variables to itself.
        return _unchanged(scope)

    def _negated(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        outcome = _unchanged(scope)
        for part in self._child_statements(node, frozenset({"!"})):
            outcome = self._statement(part, scope)
        # `!` swaps success and failure.
        values = outcome.values
        return DirectoryOutcome(outcome.after_failure, outcome.after_success, values, values)

    def _if_statement(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk an `if`: in every branch, its parts run in text order."""
        # Branches are not kept apart: assuming that every part may have run only adds directories.
        return self._parts(node, scope, {"if", "then", "elif", "else", "fi"})

    def _parts(self, node: "Node", scope: ShellScope, tokens: set[str]) -> DirectoryOutcome:
        """Walk parts that may run or not; return the outcome after any of them."""
        folders, values = scope.directories, dict[str, VariableValue]()
        for part in self._child_statements(node, _SEPARATORS | tokens):
            part_scope = scope.with_directories(folders).with_values(values)
            outcome = self._statement(part, part_scope)
            folders = merge_directories(folders, outcome.either)
            values |= _forget(outcome.values)
        return DirectoryOutcome(folders, folders, values, values)

    def _loop(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk the body of a `for` loop once per value."""
        body = node.child_by_field_name("body")
        if body is None or not is_fully_parsed(node, self._source.text):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        name = read_loop_variable(node, self._source)
        for value_node in node.children_by_field_name("value"):
            self._judge_substitutions(value_node, scope)
        values = read_loop_values(node, AccessRecorder(self.findings, scope), self._source)
        return self._rounds(node, body, scope, [{name: value} for value in values])

    def _rounds(
        self, loop: "Node", body: "Node", scope: ShellScope, rounds: Sequence[Values]
    ) -> DirectoryOutcome:
        """Walk the body of a loop once for each set of its variables."""
        # Security: a round may begin with what another one has set.
        forgotten = dict.fromkeys(assigned_names(loop), UNKNOWN_VALUE)
        folders = scope.directories
        for values in rounds:
            # `_statement` only adds a reason at the limit; nested loops would still run all rounds.
            if self._is_too_long():
                raise UndecidableCommand(reasons.TOO_DEEP)
            # An iteration may fail or change the directory, so the next one starts in any directory
            # so far.
            body_scope = scope.with_directories(folders).with_values({**forgotten, **values})
            self._check_separators(body)
            outcome = self._parts(body, body_scope, {"do", "done"})
            folders = merge_directories(folders, outcome.either)
        return DirectoryOutcome(folders, folders, forgotten, forgotten)

    def _while_read(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk a loop over the lines of its input: `find … | while read -r f; do …; done`."""
        names, self._input_names = self._input_names, None
        condition = node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        if (
            condition is None
            or body is None
            or condition.type != "command"
            or [child for child in node.children if child.is_named] != [condition, body]
            or any(child.type == "herestring_redirect" for child in condition.children)
            or node.children[0].type != "while"
            or not is_fully_parsed(node, self._source.text)
        ):
            raise UndecidableCommand(reasons.REPEATS)
        assignments, words = self._read_command(condition, scope)
        variables = read_line_variables(words)
        # A quoted name would escape the search for what a loop sets.
        if not assigned_names(node).issuperset(variables):
            raise UndecidableCommand(reasons.AMBIGUOUS_LOOP)
        if any(each.name != "IFS" or not each.value.is_literal for each in assignments):
            raise UndecidableCommand(reasons.REPEATS)
        if names is None or len(variables) != 1 or assignments[1:]:
            return self._rounds(node, body, scope, [dict.fromkeys(variables, UNKNOWN_VALUE)])
        access = AccessRecorder(self.findings, scope)
        for root in names.roots:
            # Whatever is done with them, the files count as read.
            access.record_search(root, names.tree)
        values = [VariableValue(root.text, is_file_name=True) for root in names.roots]
        return self._rounds(node, body, scope, [{variables[0]: value} for value in values])

    def _assignment(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk the assignment of a variable of the line's own."""
        if node.type != "variable_assignment":
            raise UndecidableCommand(reasons.SETS_VARIABLE)
        self._judge_substitutions(node, scope)
        assignment = read_assignment(node, self._source, scope)
        if not is_harmless_variable(assignment.name) or assignment.value.is_file_name:
            raise UndecidableCommand(reasons.SETS_VARIABLE)
        word = assignment.value
        values = {assignment.name: VariableValue(word.text) if word.is_known else UNKNOWN_VALUE}
        return replace(_unchanged(scope), success_values=values, values=values)

    def _assignments(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        values: dict[str, VariableValue] = {}
        for part in self._child_statements(node, frozenset()):
            values |= self._assignment(part, scope.with_values(values)).values
        return replace(_unchanged(scope), success_values=values, values=values)

    def _redirected_statement(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        """Walk a redirected statement, then its redirects in every possible directory."""
        bodies = node.children_by_field_name("body")
        redirects = [child for child in node.children if child not in bodies]
        if len(bodies) != 1:
            raise UndecidableCommand(reasons.ONLY_REDIRECTS)
        if any(map(_is_input, redirects)):
            scope = scope.with_input()
        outcome = self._statement(bodies[0], scope)
        if not is_fully_parsed(node, self._source.text):
            self._judge_lost_dash(node, bodies[0], redirects[0], scope)
        redirect_scope = scope.with_directories(
            merge_directories(scope.directories, outcome.either)
        )
        access = AccessRecorder(self.findings, redirect_scope)
        trailing_nodes = [
            word
            for redirect in redirects
            for word in judge_redirect(redirect, access, self._source)
        ]
        if trailing_nodes:
            self._command_with_trailing_words(bodies[0], trailing_nodes, redirect_scope)
        return outcome

    def _judge_lost_dash(
        self, node: "Node", body: "Node", redirect: "Node", scope: ShellScope
    ) -> None:
        """Judge a command whose last word is a `-` before a here-document.

        The grammar has no node for that word, as in `git commit -F - <<EOF`.
        """
        gap = self._source.text[body.end_byte : redirect.start_byte]
        rest = [child for child in node.children if child.start_byte >= redirect.start_byte]
        command = body
        while command.type in {"list", "pipeline"} and command.children:
            command = command.children[-1]
        if (
            redirect.type != "heredoc_redirect"
            or gap.strip(b" \t") != b"-"
            or gap[:1] not in {b" ", b"\t"}
            or command.type != "command"
            or not are_fully_parsed(rest, self._source.text)
        ):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        assignments, words = self._read_command(command, scope)
        self._simple_command((*words, Word("-")), scope, assignments)

    def _command_with_trailing_words(
        self, body: "Node", trailing_nodes: Sequence["Node"], scope: ShellScope
    ) -> None:
        """Judge a command again, with the words that follow its redirects."""
        if body.type != "command":
            raise UndecidableCommand(reasons.AMBIGUOUS)
        # The walk over the body has not seen these words.
        for node in trailing_nodes:
            self._judge_substitutions(node, scope)
        assignments, first_words = self._read_command(body, scope)
        # The outcome was computed without these words, and would be another directory with them.
        if first_words[0].text == "cd":
            raise UndecidableCommand(reasons.UNKNOWN_FOLDER)
        trailing = (self._source.expand_word(node, scope) for node in trailing_nodes)
        self._simple_command((*first_words, *trailing), scope, assignments)

    def _test(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        words = split_test(node, scope)
        judge_test(words, AccessRecorder(self.findings, scope))
        return _unchanged(scope)

    def _command(self, node: "Node", scope: ShellScope) -> DirectoryOutcome:
        self._judge_substitutions(node, scope)
        herestrings = [child for child in node.children if child.type == "herestring_redirect"]
        for redirect in herestrings:
            judge_redirect(redirect, AccessRecorder(self.findings, scope), self._source)
        if herestrings:
            scope = scope.with_input()
            self._input_names = None
        assignments, words = self._read_command(node, scope)
        return self._simple_command(words, scope, assignments)

    def _read_command(
        self, node: "Node", scope: ShellScope
    ) -> tuple[tuple[Assignment, ...], tuple[Word, ...]]:
        """Return the assignments before a simple command, and its words."""
        # The grammar puts a here-string among the words of its command.
        others = [
            child
            for child in node.children
            if child.type in {"herestring_redirect", "variable_assignment"}
        ]
        pipes = [child for child in node.children if child.type == "process_substitution"]
        words = collect_words(node, self._source, excluded=others, allowed=pipes)
        assignments = tuple(
            read_assignment(child, self._source, scope)
            for child in others
            if child.type == "variable_assignment"
        )
        return assignments, tuple(
            self._judge_pipe(each, scope)
            if each in pipes
            else self._source.expand_word(each, scope)
            for each in words
        )

    def _judge_pipe(self, node: "Node", scope: ShellScope) -> Word:
        """Judge the commands of `<(...)`; a program reads their output like a file."""
        if node.children[0].type != "<(" or not self._source.is_whole_word(node):
            raise UndecidableCommand(reasons.OUTPUT_AS_FILE)
        if node.start_byte not in self._source.judged_substitutions:
            self._source.judged_substitutions.add(node.start_byte)
            self._subshell(node, scope)
        return Word("/dev/null", is_pipe=True)

    def _judge_substitutions(self, node: "Node", scope: ShellScope) -> None:
        """Judge the commands of each `$(...)`; in the word around it, its output is unknown."""
        for inner in iter_substitutions(node):
            self._subshell(inner, scope)
            self._source.judged_substitutions.add(inner.start_byte)

    def _simple_command(
        self,
        words: tuple[Word, ...],
        scope: ShellScope,
        assignments: Sequence[Assignment] = (),
    ) -> DirectoryOutcome:
        access = AccessRecorder(self.findings, scope)
        words, settings = self._unwrap(words, access)
        assignments = (*assignments, *settings)
        # Order: record the writes before the command raises, so that the question can show them.
        record_changes(words, access)
        setting = next((each for each in assignments if not each.is_harmless), None)
        # A program of that name, such as /usr/bin/cd of macOS, changes no folder of the shell.
        if words[0].text == "cd" and not assignments:
            return _change_directory(words[1:], access)
        try:
            name = command_name(words[0])
            if name in NAME_RUNNERS and any(word.is_file_name for word in words):
                raise UndecidableCommand(reasons.NAMES_TO_WORDS)
            if name in {"test", "["}:
                judge_test(words, access)
            elif name == "xargs":
                judge_xargs(words, self._input_names, access)
            else:
                judge_command(words, access)
            if setting is not None:
                raise UndecidableCommand(reasons.set_variable(setting.name))
        except UndecidableCommand as error:
            words, access = follow_git_directory(words, access)
            # A saved "always" may still allow it, but covers no program that git would run.
            record_unknown_git_use(words, access)
            self._add_asked(words, access, assignments, error.reason)
        return _unchanged(scope)

    def _unwrap(
        self, words: tuple[Word, ...], access: AccessRecorder
    ) -> tuple[tuple[Word, ...], tuple[Assignment, ...]]:
        """Return the command that wrappers run, such as `timeout 60`, and the variables it gets."""
        wrappers, inner = split_wrappers(words)
        settings, command = split_env(inner)
        if settings:
            wrappers, inner = (*wrappers, inner[0]), command
        for word in (*wrappers, inner[0]):
            access.record_program(word)
        if wrappers and inner[0].text == "cd":
            raise UndecidableCommand(reasons.UNKNOWN_FOLDER)
        return inner, settings

    def _add_asked(
        self,
        words: tuple[Word, ...],
        access: AccessRecorder,
        assignments: Sequence[Assignment],
        reason: str,
    ) -> None:
        """Record a simple command that asks, with what an "always" may cover of it."""
        coverage = find_coverage(words, has_input=access.scope.has_input)
        if any(each.is_refused for each in assignments):
            coverage = Coverage()
        try:
            for word in coverage.operands:
                if word.pattern is not None:
                    access.record_read(word)
        except UndecidableCommand:
            coverage = Coverage()
        # They are part of what is covered: another value is another command.
        settings = tuple(
            f"{each.name}={each.value.text}" for each in assignments if not each.is_harmless
        )
        remote = None if assignments else find_remote_read(words)
        literal_words = takewhile(lambda word: word.is_literal, words)
        is_coverable = bool(coverage.prefixes) or coverage.is_exact
        operands = coverage.operands if is_coverable else words[1:]
        if remote is not None and remote.program == "gh":
            # Paths in them belong to addresses.
            operands = ()
        if "/" in words[0].text:
            operands = (words[0], *operands)
        command = AskedCommand(
            (*settings, *(word.text for word in literal_words)),
            access.scope.directories,
            tuple((*settings, *prefix) for prefix in coverage.prefixes),
            is_exact=coverage.is_exact,
            program=words[0].text,
            paths=tuple(word.text for word in operands if word.is_literal),
            check="" if settings else coverage.check,
            remote=remote,
        )
        if remote is not None:
            # gh runs git in the repository to find out what it is about.
            self.findings.git_uses[GitUse(access.scope.directories, "", "")] = None
        runs_input = describe_input(
            words, has_input=access.scope.has_input, input_hosts=access.scope.input_hosts
        )
        self.findings.add_asked(command, runs_input or reason, find_rank(words))
        if not is_coverable and remote is None:
            self.findings.has_other_reasons = True


def _is_plain_xargs(node: "Node") -> bool:
    """Whether a node is a command `xargs` without a redirect."""
    if node.type != "command" or any(child.type in NOT_WORDS for child in node.children):
        return False
    name = node.child_by_field_name("name")
    return name is not None and name.text == b"xargs"


def _is_input(redirect: "Node") -> bool:
    kinds = {child.type for child in redirect.children}
    return redirect.type in {"heredoc_redirect", "herestring_redirect"} or "<" in kinds


def _change_directory(words: tuple[Word, ...], access: AccessRecorder) -> DirectoryOutcome:
    """Follow a `cd`; without an operand it goes to the home directory."""
    scope = access.scope
    target = words[0] if words else Word(scope.home or "")
    # `cd -` goes to $OLDPWD, and a glob may match several directories.
    if len(words) > 1 or not target.is_literal or target.text.startswith("-") or not target.text:
        raise UndecidableCommand(reasons.UNKNOWN_FOLDER)
    # Security: `..` after a name that may be a symlink has no certain target.
    if has_dotdot_after_name(target.text):
        raise UndecidableCommand(reasons.LINKED_FOLDER)
    access.record_read(target)
    # The last path from each directory: bash removes `..` lexically from the written path.
    after = (
        scope.with_directories((folder,)).resolve_paths(target.text)[-1:]
        for folder in scope.directories
    )
    return DirectoryOutcome(merge_directories(*after), scope.directories)


def _forget(values: Values) -> dict[str, VariableValue]:
    """Return the same variables with unknown values."""
    return dict.fromkeys(values, UNKNOWN_VALUE)


def _unchanged(scope: ShellScope) -> DirectoryOutcome:
    return DirectoryOutcome(scope.directories, scope.directories)
