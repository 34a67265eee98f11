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

from acp_server.permissions.glob_expansion import TooManyError, picked
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.grammar import parse, text_of
from acp_server.permissions.shell.patterns import root_of
from acp_server.permissions.shell.scope import Scope
from acp_server.permissions.shell.words import Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_WORDS = 500
MOST_CHOICES = 32
"""How many words one word with braces may expand to."""
MOST_PATTERNS = 20
MOST_ENTRIES = 1_000
"""How many directory entries are examined for one pattern."""
MOST_PATHS = 50

_WORDS = frozenset({"word", "string", "raw_string", "concatenation"})
_OWN_FOLDER = frozenset({"subshell", "command_substitution", "process_substitution"})
_APART = frozenset({"heredoc_body", "comment"})
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|\$\{[^}]*\}", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def named_paths(command: str, cwd: Path, home: Path) -> tuple[str, ...]:
    """Return the directory that a command runs in and the paths that it names, all absolute.

    A glob yields its literal parent directory and its current matches. A path that does not exist
    counts if its directory exists and the word has a slash.
    """
    found = {str(cwd): None}
    patterns_left = MOST_PATTERNS
    for word, scope in islice(_words(command, Scope(str(cwd), (str(cwd),), str(home))), MOST_WORDS):
        if word.pattern is None:
            found.update(dict.fromkeys(_literal_paths(word.text, scope)))
        elif patterns_left:
            patterns_left -= 1
            found.update(dict.fromkeys(_picked_paths(scope.paths(word.pattern))))
        if len(found) >= MOST_PATHS:
            break
    return tuple(found)[:MOST_PATHS]


def _literal_paths(text: str, scope: Scope) -> Iterator[str]:
    """Yield the paths that a word names: the word itself, or the part after its `=`."""
    for each in filter(None, (text, text.partition("=")[2])):
        for path in scope.paths(each):
            if os.path.lexists(path) or ("/" in each and _is_folder(Path(path).parent)):
                yield path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission, or the name is too long
        return False


def _picked_paths(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        yield root_of(pattern)
        try:
            yield from sorted(map(str, picked(Path(pattern), MOST_ENTRIES)))[:MOST_PATHS]
        except TooManyError:
            continue


def _words(command: str, scope: Scope) -> Iterator[tuple[Word, Scope]]:
    """Yield each word of a command line with the scope in which it is read. `cd` is followed."""
    # A stack instead of recursion: hostile input can nest deeper than Python recurses.
    waiting: list[Node | Scope] = [parse(command.encode("utf-8", "ignore"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scope):  # a subshell has ended: its `cd` does not last
            scope = node
        elif node.type in _WORDS:
            yield from ((word, scope) for word in _read(text_of(node), scope))
            waiting.extend(reversed(_substitutions(node)))
        elif node.type not in _APART:
            waiting += [scope] if node.type in _OWN_FOLDER else []
            waiting += [] if (moved := _changed_folder(node, scope)) is None else [moved]
            waiting.extend(reversed(node.children))


def _read(text: str, scope: Scope) -> Iterator[Word]:
    """Yield the words that a text may become, as far as known before it runs."""
    for choice in _choices(text):
        try:
            word = read_word(choice, scope, {})
        except Unclear:
            continue
        if word.is_known and word.text and "\0" not in word.text:
            yield word


def _choices(text: str) -> list[str]:
    """Return the brace expansions of a word; none if there are too many."""
    done: list[str] = []
    waiting = [text]
    while waiting and len(waiting) + len(done) <= MOST_CHOICES:
        choice = waiting.pop()
        # Blank out quoted parts, keeping the length, so that positions fit the original text.
        bare = _QUOTED.sub(lambda quoted: "\0" * len(quoted.group()), choice)
        braces = _BRACES.search(bare)
        if braces is None:
            done.append(choice)
            continue
        places = [braces.start(), *_commas(bare, braces), braces.end() - 1]
        parts = [choice[at + 1 : end] for at, end in pairwise(places)]
        head, tail = choice[: braces.start()], choice[braces.end() :]
        waiting += [f"{head}{part}{tail}" for part in reversed(parts)]
    return done


def _commas(text: str, braces: re.Match[str]) -> Iterator[int]:
    return (at for at in range(*braces.span()) if text[at] == ",")


def _substitutions(node: "Node") -> list["Node"]:
    """Return the command substitutions within a word."""
    found: list[Node] = []
    waiting = list(reversed(node.children))
    while waiting:
        child = waiting.pop()
        if child.type in _OWN_FOLDER:
            found.append(child)
        else:
            waiting.extend(reversed(child.children))
    return found


def _changed_folder(node: "Node", scope: Scope) -> Scope | None:
    """Return the scope after a `cd`; None for any other command or an unknown target."""
    if node.type != "command" or text_of(node.children[0]) != "cd":
        return None
    match node.children[1:]:
        case []:
            target = Word(scope.home or "/")
        case [word]:
            target = next(_read(text_of(word), scope), None)
        case _:
            target = None
    if target is None or target.pattern is not None:
        return None
    return scope.moved(scope.paths(target.text)[-1:])
