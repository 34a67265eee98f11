"""Builds full-text index queries. Text the user typed appears in them only in quotes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from acp_server.history.cjk_tokens import has_word_character, phrase_query
from acp_server.history.search_queries import SearchQuery, SearchTerm
from acp_server.session.ports.session_search import Role
from acp_server.startup.fast_dataclass import frozen_dataclass

TRIGRAM_CHARACTERS = 3
"""The length of an entry in the trigram index, in characters."""
MAX_TRIGRAMS = 40
"""Trigrams of one long term that are queried."""


@frozen_dataclass
class IndexQuery:
    """A query for a full-text index."""

    text: str
    is_exact: bool
    """Whether every result matches; otherwise the texts must be checked."""


def own_word_query(query: SearchQuery, roles: Sequence[Role]) -> IndexQuery | None:
    """Return the query for our word index, or None if the index cannot help."""
    found = _join_groups(query, _own_phrase)
    if found is None:
        return None
    return IndexQuery(f"{{{' '.join(roles)}}} : ({found.text})", found.is_exact)


def plain_word_query(query: SearchQuery) -> IndexQuery | None:
    """Return the query for an index that only knows words separated by spaces."""
    return _join_groups(query, _plain_phrase)


def trigram_query(query: SearchQuery) -> IndexQuery | None:
    """Return the query for the trigram index, or None if every required term is too short.

    It finds parts of words. Excluded terms are whole words, which this index does not know.
    """
    found = _join_groups(replace(query, excluded=()), _trigrams)
    return None if found is None else IndexQuery(found.text, is_exact=False)


def _join_groups(
    query: SearchQuery, to_expression: Callable[[SearchTerm], str | None]
) -> IndexQuery | None:
    """Join the terms the index can find; the caller checks the rest against the texts."""
    groups = [_join_alternatives(group, to_expression) for group in query.required]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    has_signs = any(term.is_literal for term in (*query.terms, *query.excluded))
    # An index ignores signs: excluding `-c++` here would also exclude every text with a plain "c".
    excluded = (
        None
        if has_signs or not query.excluded
        else _join_alternatives(query.excluded, to_expression)
    )
    is_exact = len(known) == len(groups) and not has_signs and (excluded or not query.excluded)
    required = " AND ".join(known)
    return IndexQuery(f"({required}) NOT {excluded}" if excluded else required, bool(is_exact))


def _join_alternatives(
    terms: Iterable[SearchTerm], to_expression: Callable[[SearchTerm], str | None]
) -> str | None:
    expressions = [to_expression(term) for term in terms]
    known = [each for each in expressions if each is not None]
    # If one alternative is unknown to the index, asking for the others would lose its matches.
    return f"({' OR '.join(known)})" if len(known) == len(expressions) else None


def _own_phrase(term: SearchTerm) -> str | None:
    return (
        phrase_query(term.text, is_prefix=term.is_prefix) if has_word_character(term.text) else None
    )


def _plain_phrase(term: SearchTerm) -> str | None:
    if term.has_cjk or not has_word_character(term.text):
        return None
    return _quote(term.text) + ("*" if term.is_prefix else "")


def _trigrams(term: SearchTerm) -> str | None:
    count = len(term.text) - TRIGRAM_CHARACTERS + 1
    if count < 1:
        return None
    offsets = range(min(count, MAX_TRIGRAMS))
    trigrams = dict.fromkeys(term.text[offset : offset + TRIGRAM_CHARACTERS] for offset in offsets)
    return f"({' AND '.join(map(_quote, trigrams))})"


def _quote(text: str) -> str:
    # Doubled quotes keep typed text a string of FTS5, never an operator or a column name.
    return '"' + text.replace('"', '""') + '"'
