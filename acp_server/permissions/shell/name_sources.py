"""Names that one command prints and another one works on: `find … | xargs …`, `find … -exec …`."""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.permissions.shell.findings import SearchedTree
from acp_server.permissions.shell.words import Word
from acp_server.startup.fast_dataclass import frozen_dataclass

# They print some of their lines as they are.
_FILTER_FLAGS = {"grep": "vEFiwPe", "egrep": "viw", "head": "n", "tail": "n", "sort": "unrV"}
_GREP_LETTERS = frozenset("rlEFiwPnHsIa")


@frozen_dataclass
class FileNames:
    """The names of files below directories."""

    roots: tuple[Word, ...]
    tree: SearchedTree
    """Which of the files, for each root; its own root is empty."""

    def separated(self) -> "FileNames":
        """Return the same names, each of which is known to stay one word."""
        return replace(self, tree=replace(self.tree, splits_names=False))


def find_names(roots: Sequence[Word], expression: Sequence[Word]) -> FileNames | None:
    """Return the names that an expression of find selects; None if it prints something else."""
    texts = [word.text if word.is_literal else "" for word in expression]
    # Also where symlinks to directories are followed, out of these directories.
    prints_more = {"-printf", "-ls", "-fprint", "-fls", "-exec", "-execdir", "-delete", "-ok"}
    if not (prints_more | {"-L", "-H", "-follow"}).isdisjoint(texts):
        return None
    is_simple = is_conjunction(expression)
    patterns = [texts[index + 1] for index, text in enumerate(texts[:-1]) if text == "-name"]
    names = tuple(patterns[:1]) if is_simple and all(patterns) else ()
    tree = SearchedTree("", opens_links=True, splits_names=True, name_patterns=_plain(names))
    return FileNames(tuple(roots) or (Word("."),), tree)


def is_conjunction(expression: Sequence[Word]) -> bool:
    """Return whether all tests of an expression of find must hold."""
    return {"-o", "-or", "!", "-not", ",", "("}.isdisjoint(word.text for word in expression)


def read_printed_names(words: Sequence[Word]) -> FileNames | None:
    """Return the names that a command prints, one a line; None if they are not known."""
    texts = [word.text for word in words]
    tree = SearchedTree("", opens_links=True, splits_names=True)
    match texts if all(word.is_literal for word in words) else []:
        case ["find", *_]:
            end = next(
                (i for i, t in enumerate(texts) if i and t[:1] in {"-", "!", "("}), len(texts)
            )
            return find_names(words[1:end], words[end:])
        case ["git", "ls-files", *rest]:
            patterns = tuple(each for each in rest if each != "-z")
            names = FileNames((Word("."),), replace(tree, name_patterns=_plain(patterns)))
            return names if all(map(_is_name_pattern, patterns)) else None
        case [("grep" | "egrep"), flags, *rest] if _is_listing_grep(flags):
            return _names_of_grep(rest, tree)
        case ["rg", "-l" | "--files-with-matches", pattern, *roots] if not any(
            each.startswith("-") for each in (pattern, *roots)
        ):
            shown = replace(tree, includes_hidden=False)
            return FileNames(tuple(map(Word, roots)) or (Word("."),), shown)
        case _:
            return None


def is_name_filter(words: Sequence[Word]) -> bool:
    """Return whether a command, without files of its own, prints some of its input's lines."""
    name = words[0].text
    allowed = _FILTER_FLAGS.get(name)
    if allowed is None or not all(word.is_literal for word in words):
        return name == "uniq" and len(words) == 1
    flags = [word.text for word in words[1:] if word.text.startswith("-")]
    operands = len(words) - 1 - len(flags)
    has_value = name in {"grep", "egrep"} or (name in {"head", "tail"} and "-n" in flags)
    return operands <= has_value and all(
        flag[1:].isdecimal() or set(flag[1:]) <= set(allowed + "0123456789") for flag in flags
    )


def _names_of_grep(rest: Sequence[str], tree: SearchedTree) -> FileNames | None:
    includes = [each.partition("=")[2] for each in rest if each.startswith("--include=")]
    others = [each for each in rest if not each.startswith(("--include=", "--exclude-dir="))]
    if any(each.startswith("-") for each in others) or not others:
        return None
    roots = tuple(map(Word, others[1:])) or (Word("."),)
    return FileNames(roots, replace(tree, name_patterns=_plain(tuple(includes))))


def _is_listing_grep(flags: str) -> bool:
    letters = set(flags[1:])
    return flags[:1] == "-" and {"r", "l"} <= letters <= _GREP_LETTERS


def _is_name_pattern(text: str) -> bool:
    return text.startswith("*.") and _plain((text,)) != ()


def _plain(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return globs of names; none, which means all files, if one is not read alike by all."""
    characters = set("".join(names))
    return names if all(each.isalnum() or each in "_-.*?" for each in characters) else ()
