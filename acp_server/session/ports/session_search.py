"""The port for searching and reading past sessions.

Independent of database and search engine. `SessionSource` names the owner of each session: this
server, or Hermes, which keeps its own sessions in the same home.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass

Role = Literal["user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "tool")

Sort = Literal["relevance", "newest", "oldest"]
SessionSource = Literal["acp-server", "hermes"]

MARK_BEGIN, MARK_END = ">>>", "<<<"
"""Markers around a match in a snippet."""


@frozen_dataclass
class SessionQuery:
    """A search query. Supports words, "phrases", prefix*, this OR that, and -without."""

    query: str
    limit: int = 3
    """Maximum number of sessions."""
    sort: Sort = "relevance"
    roles: tuple[Role, ...] = ()
    """Roles to search. If empty: user and assistant texts, tool texts only if those have no
    match."""
    excluded_id: str | None = None
    """A session to leave out: the one that searches."""


@frozen_dataclass
class PastSession:
    """A stored session, as listed. Times are timezone-aware."""

    id: str
    source: SessionSource
    title: str
    cwd: str
    """Empty if unknown."""
    created_at: datetime
    updated_at: datetime


@frozen_dataclass
class PastText:
    """One text of a session: from the user, the model or a tool. Ids increase within a session."""

    id: int
    role: Role
    at: datetime
    text: str


@frozen_dataclass
class SessionHit:
    """A session with a match: the best-matching text and its neighbours."""

    session: PastSession
    text: PastText
    snippet: str
    """One line around the match."""
    around: tuple[PastText, ...]
    """Neighbouring texts, including the match itself, in order."""
    matches: int
    """Number of searched texts in this session that match."""


@frozen_dataclass
class SessionSearchResults:
    """Search results, best first, with notes about how the search was done."""

    hits: tuple[SessionHit, ...]
    notes: tuple[str, ...] = ()


@frozen_dataclass
class SessionExcerpt:
    """A section of a session, or all of it."""

    session: PastSession
    texts: tuple[PastText, ...]
    before: int = 0
    """Number of texts before the section."""
    after: int = 0
    omitted: int = 0
    """Number of texts left out in the middle of the section."""


class SessionSearch(Protocol):
    """Searches and reads past sessions.

    Every method raises `ArchiveError` if stored sessions cannot be read. Methods that take a
    session id raise `UnknownSessionError` if there is no such session.
    """

    async def search(self, request: SessionQuery) -> SessionSearchResults:
        """Return the sessions that match."""
        ...

    async def scroll(self, session_id: str, text_id: int, window: int) -> SessionExcerpt:
        """Return a text of a session with up to `window` texts before and after it.

        The section is empty if the session has no text with this id.
        """
        ...

    async def read(self, session_id: str, max_texts: int) -> SessionExcerpt:
        """Return a session; of one with more than `max_texts` texts, only its beginning and end."""
        ...

    async def browse(self, limit: int, excluded_id: str | None = None) -> Sequence[PastSession]:
        """Return the most recently used sessions, newest first."""
        ...
