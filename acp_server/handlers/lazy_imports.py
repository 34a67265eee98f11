"""Lazy imports of the code that asks the editor; the first session opens without it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from acp_server.handlers.client_connection import ClientConnection
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.permissions.questions import PermissionAsker
    from acp_server.permissions.trust import TrustAsker, TrustVerdict
    from acp_server.session.ports.editor import EditorPort
    from acp_server.session.ports.elicitation import Elicitor
    from acp_server.session.ports.user_questions import UserAsker


@frozen_dataclass
class EditorServices:
    """One session's editor, as its tools use it."""

    workspace: "EditorPort"
    asker: "PermissionAsker"
    user_asker: "UserAsker"
    elicitor: "Elicitor"


async def load_editor_services(connection: ClientConnection, session_id: str) -> EditorServices:
    """Return a session's editor services, importing them first."""
    return await to_thread.run_sync(_import_editor_services, connection, session_id)


class LazyTrustAsker:
    """Asks the user of one session's editor, and imports that code at the first question."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> "TrustVerdict | None":
        """Ask the user; see the port."""
        asker = await to_thread.run_sync(_import_trust_asker, self._connection, self._session_id)
        return await asker.ask_trust(root, uses)

    async def ask_use(self, root: Path, phrase: str) -> "TrustVerdict | None":
        """Ask the user; see the port."""
        asker = await to_thread.run_sync(_import_trust_asker, self._connection, self._session_id)
        return await asker.ask_use(root, phrase)


def _import_editor_services(connection: ClientConnection, session_id: str) -> EditorServices:
    from acp_server.handlers.elicitation import EditorElicitor
    from acp_server.handlers.permissions import EditorPermissionAsker
    from acp_server.handlers.user_questions import EditorUserAsker
    from acp_server.handlers.workspace import EditorWorkspace

    return EditorServices(
        EditorWorkspace(connection, session_id),
        EditorPermissionAsker(connection, session_id),
        EditorUserAsker(connection, session_id),
        EditorElicitor(connection, session_id),
    )


def _import_trust_asker(connection: ClientConnection, session_id: str) -> "TrustAsker":
    from acp_server.handlers.trust import EditorTrustAsker

    return EditorTrustAsker(connection, session_id)
