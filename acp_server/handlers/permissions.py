"""Asks the permission gate's questions with `session/request_permission`."""

from collections.abc import Sequence
from typing import Literal

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.known_clients import order_choices
from acp_server.handlers.tool_calls import call_meta, content_blocks, locations
from acp_server.permissions.questions import (
    AskingError,
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from acp_server.protocol.client import ClientError
from acp_server.protocol.tool_calls import (
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    ToolCallUpdate,
)
from acp_server.protocol.updates import ChildState, SubAgentUpdate
from acp_server.turn.conversation import Text


class EditorPermissionAsker:
    """Asks the user through one session's editor."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        """Ask under the call's own id, with its diff or command; see the port.

        Raises:
            AskingError: the editor did not answer, or chose an option that was not offered.
        """
        session_id = self._connection.children.owner_of(self._session_id, question.call_id)
        is_child = session_id != self._session_id
        choices = order_choices(self._connection.client_name, choices)
        reason = question.reason
        reason_content = (Text(f"{reason}."),) if reason else ()
        request = RequestPermissionRequest(
            session_id=session_id,
            tool_call=ToolCallUpdate(
                tool_call_id=question.call_id,
                title=question.title,
                kind=question.kind,
                status="pending",
                content=content_blocks((*question.content, *reason_content)) or None,
                locations=locations(question.locations) or None,
                meta=call_meta("" if is_child else question.parent_id),
            ),
            options=tuple(
                PermissionOption(option_id=choice.id, name=choice.name, kind=choice.kind)
                for choice in choices
            ),
        )
        if is_child:
            self._show_state(session_id, "requires_action")
        try:
            response = await self._connection.client.request(
                "session/request_permission", request, RequestPermissionResponse
            )
        except ClientError as error:
            raise AskingError(str(error)) from error
        if is_child:  # not if it was cancelled: then its end is shown
            self._show_state(session_id, "running")
        if not isinstance(response.outcome, SelectedPermissionOutcome):
            return None
        # Never trust the id as given: an unknown option must not count as permission.
        chosen_id = response.outcome.option_id
        for choice in choices:
            if choice.id == chosen_id:
                return choice.id
        reason = f"the editor chose {chosen_id!r}, which was not offered"
        raise AskingError(reason)

    def _show_state(self, child_id: str, state: Literal["running", "requires_action"]) -> None:
        """Show whether a child session waits for the user."""
        update = SubAgentUpdate(session_id=child_id, state=ChildState(state=state))
        self._connection.client.send_update_now(self._session_id, update)
