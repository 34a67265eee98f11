"""Lazy imports of the code that asks the editor; the first session opens without it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from acp_server.handlers.client_connection import Link
from acp_server.startup.fast_dataclass import frozen

if TYPE_CHECKING:
    from acp_server.permissions.questions import Asker
    from acp_server.permissions.trust import TrustAsker, Verdict
    from acp_server.session.ports.editor import Editor
    from acp_server.session.ports.elicitation import Elicitor
    from acp_server.session.ports.user_questions import Enquirer


@frozen
class EditorSide:
    """One session's editor, as its tools use it."""

    workspace: "Editor"
    asker: "Asker"
    enquirer: "Enquirer"
    elicitor: "Elicitor"


async def open_editor_side(link: Link, session_id: str) -> EditorSide:
    """Return a session's editor services, importing them first."""
    return await to_thread.run_sync(_editor_side, link, session_id)


class LazyTrustAsker:
    """Asks the user of one session's editor, and imports that code at the first question."""

    def __init__(self, link: Link, session_id: str) -> None:
        self._link = link
        self._session_id = session_id

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> "Verdict | None":
        """Ask the user; see the port."""
        asker = await to_thread.run_sync(_trust_asker, self._link, self._session_id)
        return await asker.ask_trust(root, uses)


def _editor_side(link: Link, session_id: str) -> EditorSide:
    from acp_server.handlers.elicitation import EditorElicitor
    from acp_server.handlers.permissions import EditorAsker
    from acp_server.handlers.user_questions import EditorEnquirer
    from acp_server.handlers.workspace import EditorWorkspace

    return EditorSide(
        EditorWorkspace(link, session_id),
        EditorAsker(link, session_id),
        EditorEnquirer(link, session_id),
        EditorElicitor(link, session_id),
    )


def _trust_asker(link: Link, session_id: str) -> "TrustAsker":
    from acp_server.handlers.trust import EditorTrustAsker

    return EditorTrustAsker(link, session_id)
