"""Builds full-text index queries. Text the user typed appears in them only in quotes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from acp_server.history.cjk_tokens import is_word, phrase
from acp_server.history.search_queries import Query, Term
from acp_server.session.ports.session_search import Role
from acp_server.startup.fast_dataclass import frozen

LEAST_INDEXED_CHARACTERS = 3
"""The length of an entry in the trigram index, in characters."""
MOST_THREES = 40
"""Trigrams of one long term that are queried."""


@frozen
class Expression:
    """A query for a full-text index."""

    text: str
    is_exact: bool
    """Whether every result matches; otherwise the texts must be checked."""


def for_our_words(query: Query, roles: Sequence[Role]) -> Expression | None:
    """Return the query for our word index, or None if the index cannot help."""
    found = _all_of(query, _our_phrase)
    if found is None:
        return None
    return Expression(f"{{{' '.join(roles)}}} : ({found.text})", found.is_exact)


def for_words(query: Query) -> Expression | None:
    """Return the query for an index that only knows words separated by spaces."""
    return _all_of(query, _plain_phrase)


def for_threes(query: Query) -> Expression | None:
    """Return the query for the trigram index, or None if every required term is too short.

    It finds parts of words. Excluded terms are whole words, which this index does not know.
    """
    found = _all_of(replace(query, unwanted=()), _threes)
    return None if found is None else Expression(found.text, is_exact=False)


def _all_of(query: Query, spell: Callable[[Term], str | None]) -> Expression | None:
    """Join the terms the index can find; the caller checks the rest against the texts."""
    groups = [_any_of(group, spell) for group in query.wanted]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    has_signs = any(term.is_literal for term in (*query.terms, *query.unwanted))
    # An index ignores signs: excluding `-c++` here would also exclude every text with a plain "c".
    without = None if has_signs or not query.unwanted else _any_of(query.unwanted, spell)
    is_exact = len(known) == len(groups) and not has_signs and (without or not query.unwanted)
    wanted = " AND ".join(known)
    return Expression(f"({wanted}) NOT {without}" if without else wanted, bool(is_exact))


def _any_of(terms: Iterable[Term], spell: Callable[[Term], str | None]) -> str | None:
    spelled = [spell(term) for term in terms]
    known = [each for each in spelled if each is not None]
    # If one alternative is unknown to the index, asking for the others would lose its matches.
    return f"({' OR '.join(known)})" if len(known) == len(spelled) else None


def _our_phrase(term: Term) -> str | None:
    return phrase(term.text, is_prefix=term.is_prefix) if is_word(term.text) else None


def _plain_phrase(term: Term) -> str | None:
    if term.has_cjk or not is_word(term.text):
        return None
    return _quoted(term.text) + ("*" if term.is_prefix else "")


def _threes(term: Term) -> str | None:
    count = len(term.text) - LEAST_INDEXED_CHARACTERS + 1
    if count < 1:
        return None
    places = range(min(count, MOST_THREES))
    threes = dict.fromkeys(term.text[at : at + LEAST_INDEXED_CHARACTERS] for at in places)
    return f"({' AND '.join(map(_quoted, threes))})"


def _quoted(text: str) -> str:
    # Doubled quotes keep typed text a string of FTS5, never an operator or a column name.
    return '"' + text.replace('"', '""') + '"'
