"""Asks whether to trust a workspace: with a form if the client has forms, else a tool call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from acp_server.handlers.client_connection import ClientConnection
from acp_server.permissions.trust import TrustVerdict
from acp_server.protocol.client import ClientError
from acp_server.protocol.content import TextContent
from acp_server.protocol.elicitation import (
    BooleanPropertySchema,
    CreateElicitationResponse,
    ElicitationSchema,
    SessionForm,
)
from acp_server.protocol.tool_calls import (
    Content,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    ToolCallUpdate,
)
from acp_server.protocol.updates import ToolCallProgress, ToolCallStart

_OPTIONS = (
    PermissionOption(option_id="trusted", name="Trust this workspace", kind="allow_always"),
    PermissionOption(option_id="not_now", name="Not now", kind="reject_once"),
    PermissionOption(option_id="declined", name="Do not trust it", kind="reject_always"),
)
_VERDICTS: Mapping[str, TrustVerdict] = {"trusted": "trusted", "declined": "declined"}


class EditorTrustAsker:
    """Asks the user through one session's editor."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        """Ask the user; see the port. An editor that cannot ask counts as no decision."""
        text = _question_text(root, uses)
        try:
            if self._connection.shows_forms:
                return await self._ask_by_form(text)
            return await self._ask_by_call(root, text)
        except ClientError:
            return None

    async def _ask_by_form(self, text: str) -> TrustVerdict | None:
        schema = ElicitationSchema(
            properties={"trust": BooleanPropertySchema(title="Trust this workspace")},
            required=("trust",),
        )
        form = SessionForm(session_id=self._session_id, message=text, requested_schema=schema)
        answer = await self._connection.client.request(
            "elicitation/create", form, CreateElicitationResponse
        )
        if answer.action == "accept":
            return "trusted" if (answer.content or {}).get("trust") is True else "declined"
        return "declined" if answer.action == "decline" else None

    async def _ask_by_call(self, root: Path, text: str) -> TrustVerdict | None:
        call_id, title = f"trust_{uuid4().hex[:12]}", f"Trust the workspace {root.name}?"
        content = (Content(content=TextContent(text=text)),)
        client = self._connection.client
        start = ToolCallStart(tool_call_id=call_id, title=title, status="pending", content=content)
        # A permission request needs a tool call the editor has seen.
        await client.send_update(self._session_id, start)
        request = RequestPermissionRequest(
            session_id=self._session_id,
            tool_call=ToolCallUpdate(tool_call_id=call_id, title=title, content=content),
            options=_OPTIONS,
        )
        verdict: TrustVerdict | None = None
        try:
            response = await client.request(
                "session/request_permission", request, RequestPermissionResponse
            )
            if isinstance(response.outcome, SelectedPermissionOutcome):
                verdict = _VERDICTS.get(response.outcome.option_id)
        finally:
            status = "completed" if verdict == "trusted" else "failed"
            # Also when cancelled, and without waiting: the call must not stay pending in the
            # editor.
            client.send_update_now(
                self._session_id, ToolCallProgress(tool_call_id=call_id, status=status)
            )
        return verdict


def _question_text(root: Path, uses: Sequence[str]) -> str:
    listed = "\n".join(f"- {use}" for use in uses)
    return (
        f"{root} contains its own settings or programs:\n{listed}\n\nThey are used only if you "
        "trust this workspace. To revoke it later, run `acp-server trust --revoke`."
    )
