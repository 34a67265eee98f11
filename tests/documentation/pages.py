"""Code of the documentation: fenced blocks, inline code, and the command lines in them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.architecture.test_links import pages
from tests.architecture.test_vocabulary import ROOT

SEPARATORS = frozenset(["|", "||", "&&", ";"])
REDIRECTIONS = frozenset([">", ">>", "<"])
HERE_DOCUMENT = re.compile(r" <<'(\w+)'\n.*?^\1$", re.DOTALL | re.MULTILINE)
ASSIGNMENT = re.compile(r"\w+=.*")


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of code on a page; `language` is empty for inline code."""

    page: str
    language: str
    text: str
    is_block: bool

    def __str__(self) -> str:
        return f"{self.page}: {self.text.splitlines()[0] if self.text else ''}"


def documentation() -> list[Path]:
    """Return the pages for users and contributors."""
    return [*pages(), ROOT / "editors/vscode/README.md"]


def code_of(page: Path) -> Iterator[Code]:
    """Yield all code of a page, in its order."""
    name = page.relative_to(ROOT).as_posix()
    parsed = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    for token in all_tokens(parsed):
        if token.type in {"fence", "code_block"}:
            yield Code(name, token.info, token.content, is_block=True)
        elif token.type == "code_inline":
            yield Code(name, "", token.content.strip(), is_block=False)


def all_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from all_tokens(token.children or ())


def commands_of(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, without redirections and assignments."""
    script = HERE_DOCUMENT.sub("", script).replace("\\\n", " ")
    for line in script.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        yield from _split(list(lexer))


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in SEPARATORS:
            yield from [command] if command else []
            command = []
        elif word in REDIRECTIONS:
            next(rest)
        elif command or not ASSIGNMENT.fullmatch(word):
            command.append(word)
        if word.startswith("$(") and word.endswith(")"):
            yield from commands_of(word[2:-1])
    yield from [command] if command else []
