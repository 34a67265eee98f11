"""Asks whether to trust a workspace: with a form if the client has forms, else a tool call."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.standalone_questions import StandaloneQuestion, ask_standalone
from acp_server.permissions.trust import TrustVerdict
from acp_server.protocol.client import ClientError
from acp_server.protocol.tool_calls import PermissionOption

_TRUSTED = PermissionOption(
    option_id="trusted", name="Always trust this workspace", kind="allow_always"
)
_USE = PermissionOption(
    option_id="trusted", name="Always use it in this workspace", kind="allow_always"
)
_DO_NOT_USE = PermissionOption(
    option_id="declined", name="Never use it in this workspace", kind="reject_always"
)
_NOT_NOW = PermissionOption(option_id="not_now", name="Not now", kind="reject_once")
_DECLINED = PermissionOption(
    option_id="declined", name="Never trust this workspace", kind="reject_always"
)
_VERDICTS: Mapping[str, TrustVerdict] = {"trusted": "trusted", "declined": "declined"}


class EditorTrustAsker:
    """Asks the user through one session's editor."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        """Ask the user; see the port. An editor that cannot ask counts as no decision."""
        title, text = f"Trust the workspace {root.name}?", _question_text(root, uses)
        return await self._ask(title, text, _TRUSTED, _DECLINED)

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        """Ask the user; see the port. An editor that cannot ask counts as no decision."""
        title = f"Use what the workspace {root.name} brings?"
        text = f"{root} brings something that you have not seen yet:\n- {phrase}"
        return await self._ask(title, text, _USE, _DO_NOT_USE)

    async def _ask(
        self, title: str, text: str, yes: PermissionOption, no: PermissionOption
    ) -> TrustVerdict | None:
        question = StandaloneQuestion("trust", title, text, yes, no, (_NOT_NOW,))
        try:
            answer = await ask_standalone(self._connection, self._session_id, question)
        except ClientError:
            return None
        return _VERDICTS.get(answer or "")


def _question_text(root: Path, uses: Sequence[str]) -> str:
    listed = "\n".join(f"- {use}" for use in uses)
    return (
        f"{root} contains its own settings or programs:\n{listed}\n\nThey are used only if you "
        "trust this workspace. To revoke it later, run `acp-server trust --revoke`."
    )
