"""Full-text search over past sessions: which indexes to try, in which order, and how to rank.

Works on open databases (`search_database`) and blocks; `search` runs it in a thread.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log1p

from acp_server.history.index_queries import own_word_query, plain_word_query, trigram_query
from acp_server.history.matching import Matcher
from acp_server.history.search_database import (
    SCANNED_TEXTS,
    CandidateBatch,
    CandidateText,
    HistoryDatabase,
    TextFilter,
)
from acp_server.history.search_databases import HistoryDatabases
from acp_server.history.search_queries import SearchQuery, parse
from acp_server.session.ports.session_search import (
    PastText,
    Role,
    SessionHit,
    SessionQuery,
    SessionSearchResults,
)
from acp_server.startup.fast_dataclass import frozen_dataclass

CONTEXT_TEXTS = 2
"""Texts shown before a hit, and as many after it."""
PART_WEIGHT = 0.5
"""Weight of a match inside a word, relative to a whole word."""
SESSION_WEIGHT = 0.1
"""Weight of further matches in the same session."""
DEFAULT_ROLES: tuple[Role, ...] = ("user", "assistant")
"""The roles searched by default; tools repeat much text that no person or model has written."""

NO_WORD_NOTE = "there is nothing to look for in this query"
SCANNED_NOTE = (
    "no index helps with fewer than three characters: inside words they were looked for in the"
    f" newest {SCANNED_TEXTS:,} messages only"
)
CUT_SHORT_NOTE = "the search took too long and was cut short: not all messages were looked at"
TOOLS_ONLY_NOTE = "it was only found in what tools were told and what they answered"
HERMES_FAILED = "the sessions of Hermes could not be searched ({error})"


@frozen_dataclass
class _RankedText:
    """A matching text with its database and rank."""

    database: HistoryDatabase
    candidate: CandidateText
    matcher: Matcher
    rank: float


@dataclass(slots=True)
class _Search:
    """One search with the notes collected so far."""

    request: SessionQuery
    query: SearchQuery
    notes: dict[str, None]

    def find(
        self, databases: Sequence[HistoryDatabase], roles: tuple[Role, ...]
    ) -> list[_RankedText]:
        """Return all matching texts of these roles."""
        found: list[_RankedText] = []
        for database in databases:
            try:
                found += self._find_in(database, roles)
            except sqlite3.Error as error:
                # The database of Hermes belongs to another program: if it fails, our own results
                # still count.
                if database.layout.is_own:
                    raise
                self.notes[HERMES_FAILED.format(error=error)] = None
        return found

    def _find_in(self, database: HistoryDatabase, roles: tuple[Role, ...]) -> list[_RankedText]:
        request = self.request
        text_filter = TextFilter(roles, request.sort == "oldest", request.excluded_id)
        word_matches = self._rank(
            database, self._find_words(database, text_filter), is_whole_word=True
        )
        # Enough sessions match whole words; parts of words would only add weaker hits.
        if len({each.candidate.session_id for each in word_matches}) >= request.limit:
            return word_matches
        # A whole-word match is also a partial one; keep it once, with its higher weight.
        known = {each.candidate.text.id for each in word_matches}
        part_matches = self._rank(
            database, self._find_parts(database, text_filter), is_whole_word=False
        )
        return word_matches + [each for each in part_matches if each.candidate.text.id not in known]

    def _find_words(
        self, database: HistoryDatabase, text_filter: TextFilter
    ) -> Sequence[CandidateText]:
        """Search whole words in the word index."""
        is_own = database.layout.is_own
        index_query = (
            own_word_query(self.query, text_filter.roles)
            if is_own
            else plain_word_query(self.query)
        )
        if index_query is None or database.layout.word_index is None:
            return ()
        found = self._collect_notes(
            database.search_index(database.layout.word_index, index_query.text, text_filter)
        )
        return found if index_query.is_exact else self._filter(found, is_whole_word=True)

    def _find_parts(
        self, database: HistoryDatabase, text_filter: TextFilter
    ) -> Sequence[CandidateText]:
        """Search parts of words, unless the word index already covers them."""
        # The word index holds Chinese, Japanese and Korean as pairs of characters, so it has found
        # every part already.
        if database.layout.is_own and all(term.is_cjk for term in self.query.terms):
            return ()
        index_query = trigram_query(self.query)
        if index_query is not None and database.layout.trigram_index is not None:
            found = self._collect_notes(
                database.search_index(database.layout.trigram_index, index_query.text, text_filter)
            )
        else:
            groups = [[term.text for term in group] for group in self.query.required]
            found = self._collect_notes(database.scan(groups, text_filter))
        return self._filter(found, is_whole_word=False)

    def _filter(
        self, found: Sequence[CandidateText], *, is_whole_word: bool
    ) -> Sequence[CandidateText]:
        matcher = Matcher(self.query, is_whole_word=is_whole_word)
        return [each for each in found if matcher.accepts(each.text.text)]

    def _collect_notes(self, batch: CandidateBatch) -> Sequence[CandidateText]:
        """Record the notes of one search step and return its candidates."""
        if batch.is_scan:
            self.notes[SCANNED_NOTE] = None
        if batch.is_cut_short:
            self.notes[CUT_SHORT_NOTE] = None
        return batch.candidates

    def _rank(
        self, database: HistoryDatabase, found: Sequence[CandidateText], *, is_whole_word: bool
    ) -> list[_RankedText]:
        matcher = Matcher(self.query, is_whole_word=is_whole_word)
        newest_seconds = max((each.text.at.timestamp() for each in found), default=0.0)
        weight = 1.0 if is_whole_word else PART_WEIGHT

        def rank(past_text: PastText) -> float:
            at_seconds = past_text.at.timestamp()
            match self.request.sort:
                case "newest":
                    return at_seconds
                case "oldest":
                    return -at_seconds
                case "relevance":
                    age_seconds = newest_seconds - at_seconds
                    return weight * matcher.score(past_text.text, past_text.role, age_seconds)

        return [_RankedText(database, each, matcher, rank(each.text)) for each in found]


def discover(databases: HistoryDatabases, request: SessionQuery) -> SessionSearchResults:
    """Return the best matching sessions."""
    query = parse(request.query)
    notes = dict.fromkeys(databases.notes)
    if not query.required:
        return SessionSearchResults((), (*notes, NO_WORD_NOTE))
    search = _Search(request, query, notes)
    found = search.find(databases.databases, request.roles or DEFAULT_ROLES)
    if not found and not request.roles:
        # Only as a fallback: tool output would crowd out messages.
        found = search.find(databases.databases, ("tool",))
        notes |= {TOOLS_ONLY_NOTE: None} if found else {}
    hits = tuple(islice(_best_hits(found, request), request.limit))
    return SessionSearchResults(hits, tuple(notes))


def _best_hits(found: Sequence[_RankedText], request: SessionQuery) -> Iterator[SessionHit]:
    """Yield the best sessions, each with its best text."""
    by_session: dict[tuple[str, str], list[_RankedText]] = {}
    for each in found:
        # With the source: session ids of two programs may be equal.
        key = (each.database.layout.source, each.candidate.session_id)
        by_session.setdefault(key, []).append(each)
    is_sorted_by_time = request.sort != "relevance"

    def score(group: Sequence[_RankedText]) -> float:
        best = max(each.rank for each in group)
        return best if is_sorted_by_time else best + SESSION_WEIGHT * log1p(len(group))

    for group in sorted(by_session.values(), key=score, reverse=True):
        best = max(group, key=lambda each: each.rank)
        session = best.database.find_session(best.candidate.session_id)
        if session is not None:  # the session may be hidden although its texts are not
            past_text = best.candidate.text
            excerpt = best.database.texts_around(
                session, past_text.id, CONTEXT_TEXTS, DEFAULT_ROLES
            )
            snippet = best.matcher.snippet(past_text.text)
            yield SessionHit(session, past_text, snippet, excerpt.texts, len(group))
