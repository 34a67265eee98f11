"""Grammars of programming languages, compiled in installed packages; nothing is downloaded.

Which languages are known is read from `languages.toml` at the first use, tree-sitter is imported
with the first file that is parsed.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import BaseModel, ConfigDict

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.installed_packages import is_package_installed
from acp_server.tools.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tree_sitter import Language, Node, Parser, Query, QueryCursor

    Captures: TypeAlias = Mapping[str, list[Node]]

INSTALL_HINT = "pip install 'hermes-acp-server[symbols]'"


class GrammarError(ToolError):
    """No grammar can parse a file. `reason` says why, and what to do instead."""


class SourceLanguage(BaseModel):
    """A row of `languages.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    extensions: tuple[str, ...]
    package: str
    function: str = "language"
    definitions: str = ""
    includes: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the package with the grammar is installed; imports nothing."""
        return is_package_installed(self.package)


@cache
def known_languages() -> Mapping[str, SourceLanguage]:
    """Return the known languages by name. Blocks."""
    text = Path(__file__).with_name("languages.toml").read_text(encoding="utf-8")
    return {
        name: SourceLanguage.model_validate(value) for name, value in tomllib.loads(text).items()
    }


@cache
def _names_by_extension() -> Mapping[str, str]:
    return {each: name for name, row in known_languages().items() for each in row.extensions}


def language_of(file_name: str) -> str | None:
    """Return the name of the language of a file by the end of its name; None if unknown.

    >>> language_of("src/App.TSX"), language_of("notes.txt")
    ('tsx', None)
    """
    base, dot, extension = file_name.rpartition(".")
    return _names_by_extension().get(extension.lower()) if base and dot else None


@frozen_dataclass
class Grammar:
    """The grammar of one language, and the query that finds the definitions in its trees."""

    language: Language
    query: Query

    def parse(self, source: bytes) -> Node:
        """Return the root of the syntax tree of a text; what cannot be parsed is marked in it."""
        parser_type = cast("type[Parser]", import_module("tree_sitter").Parser)
        return parser_type(self.language).parse(source).root_node

    def definitions(self, root: Node) -> Sequence[tuple[int, Captures]]:
        """Return the number of the matching pattern and the captures of each definition."""
        cursor_type = cast("type[QueryCursor]", import_module("tree_sitter").QueryCursor)
        return cursor_type(self.query).matches(root)


@cache
def grammar_of(language: str) -> Grammar:
    """Return the grammar of a known language. Blocks for the import.

    Raises:
        GrammarError: Its package is not installed, or does not fit to this version.
    """
    row = known_languages()[language]
    if not row.is_installed:
        raise GrammarError(f"the grammar of {language} is not installed: {INSTALL_HINT}")
    binding = import_module("tree_sitter")
    language_type = cast("type[Language]", binding.Language)
    query_type = cast("type[Query]", binding.Query)
    get_language = cast("Callable[[], object]", getattr(import_module(row.package), row.function))
    text = "".join(known_languages()[each].definitions for each in _with_included(row))
    try:
        compiled = language_type(get_language())
        return Grammar(compiled, query_type(compiled, f"{text}{row.definitions}"))
    except (ValueError, binding.QueryError) as error:
        reason = f"the grammar of {language} ({row.package}) has an unknown version: {error}"
        raise GrammarError(reason) from error


def _with_included(row: SourceLanguage) -> tuple[str, ...]:
    return (row.includes,) if row.includes else ()
