"""Asks whether to trust a workspace: with a form if the client has forms, else a tool call."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from acp_server.handlers.client_connection import Link
from acp_server.permissions.trust import Verdict
from acp_server.protocol.client import ClientError
from acp_server.protocol.client_requests import Calls
from acp_server.protocol.content import TextContent
from acp_server.protocol.elicitation import BooleanPropertySchema, ElicitationSchema, SessionForm
from acp_server.protocol.tool_calls import (
    Content,
    PermissionOption,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
    ToolCallUpdate,
)
from acp_server.protocol.updates import ToolCallProgress, ToolCallStart

_OPTIONS = (
    PermissionOption(option_id="trusted", name="Trust this workspace", kind="allow_always"),
    PermissionOption(option_id="not_now", name="Not now", kind="reject_once"),
    PermissionOption(option_id="declined", name="Do not trust it", kind="reject_always"),
)


class EditorTrustAsker:
    """Asks the user through one session's editor."""

    def __init__(self, link: Link, session_id: str) -> None:
        self._link = link
        self._session_id = session_id

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> Verdict | None:
        """Ask the user; see the port. An editor that cannot ask counts as no decision."""
        elicitation = self._link.capabilities.elicitation
        try:
            if elicitation is not None and elicitation.form is not None:
                return await self._ask_by_form(_text(root, uses))
            return await self._ask_by_call(root, _text(root, uses))
        except ClientError:
            return None

    async def _ask_by_form(self, text: str) -> Verdict | None:
        schema = ElicitationSchema(
            properties={"trust": BooleanPropertySchema(title="Trust this workspace")},
            required=("trust",),
        )
        form = SessionForm(session_id=self._session_id, message=text, requested_schema=schema)
        answer = await Calls(self._link.client).create_elicitation(form)
        if answer.action == "accept":
            return "trusted" if (answer.content or {}).get("trust") is True else "declined"
        return "declined" if answer.action == "decline" else None

    async def _ask_by_call(self, root: Path, text: str) -> Verdict | None:
        call_id, title = f"trust_{uuid4().hex[:12]}", f"Trust the workspace {root.name}?"
        shown = (Content(content=TextContent(text=text)),)
        client = self._link.client
        start = ToolCallStart(tool_call_id=call_id, title=title, status="pending", content=shown)
        # A permission request needs a tool call the editor has seen.
        await client.update(self._session_id, start)
        request = RequestPermissionRequest(
            session_id=self._session_id,
            tool_call=ToolCallUpdate(tool_call_id=call_id, title=title, content=shown),
            options=_OPTIONS,
        )
        verdict: Verdict | None = None
        try:
            outcome = (await Calls(client).request_permission(request)).outcome
            if isinstance(outcome, SelectedPermissionOutcome):
                verdict = _verdict(outcome.option_id)
        finally:
            status = "completed" if verdict == "trusted" else "failed"
            # Also when cancelled, and without waiting: the call must not stay pending in the
            # editor.
            client.update_now(
                self._session_id, ToolCallProgress(tool_call_id=call_id, status=status)
            )
        return verdict


def _verdict(option_id: str) -> Verdict | None:
    match option_id:
        case "trusted" | "declined":
            return option_id
        case _:
            return None


def _text(root: Path, uses: Sequence[str]) -> str:
    listed = "\n".join(f"- {use}" for use in uses)
    return (
        f"{root} contains its own settings or programs:\n{listed}\n\nThey are used only if you "
        "trust this workspace. To revoke it later, run `acp-server trust --revoke`."
    )
