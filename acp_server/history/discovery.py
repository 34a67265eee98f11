"""Full-text search over past sessions: which indexes to try, in which order, and how to rank.

Works on open databases (`search_database`) and blocks; `search` runs it in a thread.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log1p

from acp_server.history.index_queries import for_our_words, for_threes, for_words
from acp_server.history.matching import Matcher
from acp_server.history.search_database import SCANNED_TEXTS, Candidate, Catch, Reach, Shelf
from acp_server.history.search_databases import Shelves
from acp_server.history.search_queries import Query, parse
from acp_server.session.ports.session_search import (
    Findings,
    Hit,
    Inquiry,
    PastSession,
    PastText,
    Role,
)
from acp_server.startup.fast_dataclass import frozen

AROUND_TEXTS = 2
"""Texts shown before a hit, and as many after it."""
PART_WEIGHT = 0.5
"""Weight of a match inside a word, relative to a whole word."""
SESSION_WEIGHT = 0.1
"""Weight of further matches in the same session."""
SAID: tuple[Role, ...] = ("user", "assistant")
"""The roles searched by default; tools repeat much text that no person or model has written."""

NO_WORD = "there is nothing to look for in this query"
SCANNED = (
    "no index helps with fewer than three characters: inside words they were looked for in the"
    f" newest {SCANNED_TEXTS:,} messages only"
)
CUT_SHORT = "the search took too long and was cut short: not all messages were looked at"
TOOLS_ONLY = "it was only found in what tools were told and what they answered"
HERMES_FAILED = "the sessions of Hermes could not be searched ({error})"


@frozen
class _Sighting:
    """A matching text with its database and rank."""

    shelf: Shelf
    candidate: Candidate
    matcher: Matcher
    rank: float


@dataclass(slots=True)
class _Search:
    """One search with the notes collected so far."""

    inquiry: Inquiry
    query: Query
    notes: dict[str, None]

    def sightings(self, shelves: Sequence[Shelf], roles: tuple[Role, ...]) -> list[_Sighting]:
        """Return all matching texts of these roles."""
        found: list[_Sighting] = []
        for shelf in shelves:
            try:
                found += self._on(shelf, roles)
            except sqlite3.Error as error:
                # The database of Hermes belongs to another program: if it fails, our own results
                # still count.
                if shelf.layout.is_ours:
                    raise
                self.notes[HERMES_FAILED.format(error=error)] = None
        return found

    def _on(self, shelf: Shelf, roles: tuple[Role, ...]) -> list[_Sighting]:
        inquiry = self.inquiry
        reach = Reach(roles, inquiry.sort == "oldest", inquiry.excluded_id)
        whole = self._ranked(shelf, self._words(shelf, reach), is_whole=True)
        # Enough sessions match whole words; parts of words would only add weaker hits.
        if len({each.candidate.session_id for each in whole}) >= inquiry.limit:
            return whole
        # A whole-word match is also a partial one; keep it once, with its higher weight.
        known = {each.candidate.text.id for each in whole}
        parts = self._ranked(shelf, self._parts(shelf, reach), is_whole=False)
        return whole + [each for each in parts if each.candidate.text.id not in known]

    def _words(self, shelf: Shelf, reach: Reach) -> Sequence[Candidate]:
        """Search whole words in the word index."""
        is_ours = shelf.layout.is_ours
        asked = for_our_words(self.query, reach.roles) if is_ours else for_words(self.query)
        if asked is None or shelf.layout.words is None:
            return ()
        found = self._noted(shelf.look_up(shelf.layout.words, asked.text, reach))
        return found if asked.is_exact else self._looked_at(found, is_whole=True)

    def _parts(self, shelf: Shelf, reach: Reach) -> Sequence[Candidate]:
        """Search parts of words, unless the word index already covers them."""
        # The word index holds Chinese, Japanese and Korean as pairs of characters, so it has found
        # every part already.
        if shelf.layout.is_ours and all(term.is_cjk for term in self.query.terms):
            return ()
        asked = for_threes(self.query)
        if asked is not None and shelf.layout.threes is not None:
            found = self._noted(shelf.look_up(shelf.layout.threes, asked.text, reach))
        else:
            groups = [[term.text for term in group] for group in self.query.wanted]
            found = self._noted(shelf.scan(groups, reach))
        return self._looked_at(found, is_whole=False)

    def _looked_at(self, found: Sequence[Candidate], *, is_whole: bool) -> Sequence[Candidate]:
        matcher = Matcher(self.query, is_whole=is_whole)
        return [each for each in found if matcher.accepts(each.text.text)]

    def _noted(self, catch: Catch) -> Sequence[Candidate]:
        """Record the notes of one search step and return its candidates."""
        if catch.is_scan:
            self.notes[SCANNED] = None
        if catch.is_cut_short:
            self.notes[CUT_SHORT] = None
        return catch.candidates

    def _ranked(
        self, shelf: Shelf, found: Sequence[Candidate], *, is_whole: bool
    ) -> list[_Sighting]:
        matcher = Matcher(self.query, is_whole=is_whole)
        newest_seconds = max((each.text.at.timestamp() for each in found), default=0.0)
        weight = 1.0 if is_whole else PART_WEIGHT

        def rank(said: PastText) -> float:
            at_seconds = said.at.timestamp()
            match self.inquiry.sort:
                case "newest":
                    return at_seconds
                case "oldest":
                    return -at_seconds
                case "relevance":
                    age_seconds = newest_seconds - at_seconds
                    return weight * matcher.score(said.text, said.role, age_seconds)

        return [_Sighting(shelf, each, matcher, rank(each.text)) for each in found]


def discover(shelves: Shelves, inquiry: Inquiry) -> Findings:
    """Return the best matching sessions."""
    query = parse(inquiry.query)
    notes = dict.fromkeys(shelves.notes)
    if not query.wanted:
        return Findings((), (*notes, NO_WORD))
    search = _Search(inquiry, query, notes)
    found = search.sightings(shelves.all, inquiry.roles or SAID)
    if not found and not inquiry.roles:
        # Only as a fallback: tool output would crowd out messages.
        found = search.sightings(shelves.all, ("tool",))
        notes |= {TOOLS_ONLY: None} if found else {}
    hits = tuple(islice(_hits(found, inquiry), inquiry.limit))
    return Findings(hits, tuple(notes))


def _hits(found: Sequence[_Sighting], inquiry: Inquiry) -> Iterator[Hit]:
    """Yield the best sessions, each with its best text."""
    by_session: dict[tuple[str, str], list[_Sighting]] = {}
    for each in found:
        # With the source: session ids of two programs may be equal.
        key = (each.shelf.layout.source, each.candidate.session_id)
        by_session.setdefault(key, []).append(each)
    is_timed = inquiry.sort != "relevance"

    def worth(group: Sequence[_Sighting]) -> float:
        best = max(each.rank for each in group)
        return best if is_timed else best + SESSION_WEIGHT * log1p(len(group))

    for group in sorted(by_session.values(), key=worth, reverse=True):
        best = max(group, key=lambda each: each.rank)
        session = best.shelf.session(best.candidate.session_id)
        if session is not None:  # the session may be hidden although its texts are not
            yield _hit(session, best, len(group))


def _hit(session: PastSession, best: _Sighting, matches: int) -> Hit:
    said = best.candidate.text
    passage = best.shelf.around(session, said.id, AROUND_TEXTS, SAID)
    return Hit(session, said, best.matcher.snippet(said.text), passage.texts, matches)
