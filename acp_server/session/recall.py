"""What was said in past sessions, as a session may look it up: the port.

Knows no database and no way to search. Whose sessions they are is said with each (`Source`): those
of this server, and those that Hermes itself keeps in the same home.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from acp_server.frozen import frozen

Role = Literal["user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "tool")

Sort = Literal["relevance", "newest", "oldest"]
Source = Literal["acp-server", "hermes"]

MARK_BEGIN, MARK_END = ">>>", "<<<"
"""Stand around what was found, in a snippet."""


@frozen
class Inquiry:
    """What is looked for: words, "phrases", begin*, this OR that, -without."""

    query: str
    limit: int = 3
    """How many sessions at most."""
    sort: Sort = "relevance"
    roles: tuple[Role, ...] = ()
    """Whose texts; none: what was said, and the texts of tools only where that leads nowhere."""
    excluded_id: str | None = None
    """A session that is passed over: the one that asks."""


@frozen
class PastSession:
    """A session, for a list of them. Times have a zone."""

    id: str
    source: Source
    title: str
    cwd: str
    """Empty where it is not known."""
    began_at: datetime
    updated_at: datetime


@frozen
class PastText:
    """One thing that was said, done or answered. Ids grow within a session."""

    id: int
    role: Role
    at: datetime
    text: str


@frozen
class Hit:
    """A session in which something was found: the best place, and what was said around it."""

    session: PastSession
    text: PastText
    snippet: str
    """One line around what was found."""
    around: tuple[PastText, ...]
    """What was said before and after, the text itself among it, in order."""
    matches: int
    """How many of the texts that were looked at match, in this session."""


@frozen
class Findings:
    """What a search led to, the best first, and what to know of how it was made."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


@frozen
class Passage:
    """Part of a session, or all of it."""

    session: PastSession
    texts: tuple[PastText, ...]
    before: int = 0
    """How many texts of the session come before these."""
    after: int = 0
    omitted: int = 0
    """How many are left out in the middle of these."""


class Recall(Protocol):
    """Looks into past sessions.

    Every method raises `ArchiveError` when what is kept cannot be read, and those that take the id
    of a session `UnknownSessionError` when there is none.
    """

    async def discover(self, inquiry: Inquiry) -> Findings:
        """Return the sessions that have what is looked for."""
        ...

    async def scroll(self, session_id: str, text_id: int, window: int) -> Passage:
        """Return a text of a session with `window` texts before it and as many after it.

        There are no texts in it if the session has none of this id.
        """
        ...

    async def read(self, session_id: str, most: int) -> Passage:
        """Return a session: its beginning and its end, if it has more texts than `most`."""
        ...

    async def browse(self, limit: int, excluded_id: str | None = None) -> Sequence[PastSession]:
        """Return the sessions that were last used, the newest first."""
        ...
