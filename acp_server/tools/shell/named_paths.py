"""Find the paths that a command line names, to load the instructions of their directories.

More lenient than the permission check: any word may be a path, because a wrong guess only costs a
look at the disk. Security: nothing here may decide whether a command is allowed. Blocks on the
disk, within the limits below.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.permissions.glob_expansion import TooManyEntriesError, expand_glob
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text, parse
from acp_server.permissions.shell.patterns import pattern_root
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word, expand_word

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_WORDS = 500
MAX_EXPANSIONS = 32
"""How many words one word with braces may expand to."""
MAX_PATTERNS = 20
MAX_ENTRIES = 1_000
"""How many directory entries are examined for one pattern."""
MAX_PATHS = 50

_WORD_NODES = frozenset({"word", "string", "raw_string", "concatenation"})
_SUBSHELL_NODES = frozenset({"subshell", "command_substitution", "process_substitution"})
_IGNORED_NODES = frozenset({"heredoc_body", "comment"})
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|\$\{[^}]*\}", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def find_named_paths(command: str, cwd: Path, home: Path) -> tuple[str, ...]:
    """Return the directory that a command runs in and the paths that it names, all absolute.

    A glob yields its literal parent directory and its current matches. A path that does not exist
    counts if its directory exists and the word has a slash.
    """
    found = {str(cwd): None}
    patterns_left = MAX_PATTERNS
    for word, scope in islice(
        _iter_words(command, ShellScope(str(cwd), (str(cwd),), str(home))), MAX_WORDS
    ):
        if word.pattern is None:
            found.update(dict.fromkeys(_literal_paths(word.text, scope)))
        elif patterns_left:
            patterns_left -= 1
            found.update(dict.fromkeys(_glob_paths(scope.resolve_paths(word.pattern))))
        if len(found) >= MAX_PATHS:
            break
    return tuple(found)[:MAX_PATHS]


def _literal_paths(text: str, scope: ShellScope) -> Iterator[str]:
    """Yield the paths that a word names: the word itself, or the part after its `=`."""
    for each in filter(None, (text, text.partition("=")[2])):
        for path in scope.resolve_paths(each):
            parent = Path(path).parent
            if os.path.lexists(path) or ("/" in each and os.path.isdir(parent)):  # noqa: PTH112  never raises
                yield path


def _glob_paths(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        yield pattern_root(pattern)
        try:
            yield from sorted(map(str, expand_glob(Path(pattern), MAX_ENTRIES)))[:MAX_PATHS]
        except TooManyEntriesError:
            continue


def _iter_words(command: str, scope: ShellScope) -> Iterator[tuple[Word, ShellScope]]:
    """Yield each word of a command line with the scope in which it is read. `cd` is followed."""
    # A stack instead of recursion: hostile input can nest deeper than Python recurses.
    stack: list[Node | ShellScope] = [parse(command.encode("utf-8", "ignore"))]
    while stack:
        node = stack.pop()
        if isinstance(node, ShellScope):  # a subshell has ended: its `cd` does not last
            scope = node
        elif node.type in _WORD_NODES:
            yield from ((word, scope) for word in _read_words(node_text(node), scope))
            stack.extend(reversed(_substitutions(node)))
        elif node.type not in _IGNORED_NODES:
            stack += [scope] if node.type in _SUBSHELL_NODES else []
            stack += [] if (new_scope := _scope_after_cd(node, scope)) is None else [new_scope]
            stack.extend(reversed(node.children))


def _read_words(text: str, scope: ShellScope) -> Iterator[Word]:
    """Yield the words that a text may become, as far as known before it runs."""
    for choice in _expand_braces(text):
        try:
            word = expand_word(choice, scope, {})
        except UndecidableCommand:
            continue
        if word.is_known and word.text and "\0" not in word.text:
            yield word


def _expand_braces(text: str) -> list[str]:
    """Return the brace expansions of a word; none if there are too many."""
    expanded: list[str] = []
    stack = [text]
    while stack and len(stack) + len(expanded) <= MAX_EXPANSIONS:
        choice = stack.pop()
        # Blank out quoted parts, keeping the length, so that positions fit the original text.
        unquoted = _QUOTED.sub(lambda quoted: "\0" * len(quoted.group()), choice)
        braces = _BRACES.search(unquoted)
        if braces is None:
            expanded.append(choice)
            continue
        commas = (index for index in range(*braces.span()) if unquoted[index] == ",")
        positions = [braces.start(), *commas, braces.end() - 1]
        parts = [choice[start + 1 : end] for start, end in pairwise(positions)]
        head, tail = choice[: braces.start()], choice[braces.end() :]
        stack += [f"{head}{part}{tail}" for part in reversed(parts)]
    return expanded


def _substitutions(node: "Node") -> list["Node"]:
    """Return the command substitutions within a word."""
    found: list[Node] = []
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.type in _SUBSHELL_NODES:
            found.append(child)
        else:
            stack.extend(reversed(child.children))
    return found


def _scope_after_cd(node: "Node", scope: ShellScope) -> ShellScope | None:
    """Return the scope after a `cd`; None for any other command or an unknown target."""
    if node.type != "command" or node_text(node.children[0]) != "cd":
        return None
    match node.children[1:]:
        case []:
            target = Word(scope.home or "/")
        case [word]:
            target = next(_read_words(node_text(word), scope), None)
        case _:
            target = None
    if target is None or target.pattern is not None:
        return None
    return scope.with_directories(scope.resolve_paths(target.text)[-1:])
