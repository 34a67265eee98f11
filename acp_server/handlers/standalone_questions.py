"""Asks questions that belong to no tool call: in a form, else by a tool call made for the question.

Every ACP client answers permission requests, so those that show no forms are asked by one.
"""

from uuid import uuid4

from acp_server.handlers.client_connection import ClientConnection
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
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class StandaloneQuestion:
    """A question with the answers yes and no; a form shows it as a box to tick."""

    topic: str
    """Name of the form's field, and prefix of the id of the tool call."""
    title: str
    """Title of the tool call."""
    text: str
    yes: PermissionOption
    no: PermissionOption
    others: tuple[PermissionOption, ...] = ()
    """Further answers, which a form leaves out."""


async def ask_standalone(
    connection: ClientConnection, session_id: str, question: StandaloneQuestion
) -> str | None:
    """Return the id of the chosen option; None if the user dismissed the question.

    Raises:
        ClientError: the client cannot ask, or its answer cannot be understood.
    """
    if connection.shows_forms:
        return await _ask_by_form(connection, session_id, question)
    return await _ask_by_call(connection, session_id, question)


async def _ask_by_form(
    connection: ClientConnection, session_id: str, question: StandaloneQuestion
) -> str | None:
    schema = ElicitationSchema(
        properties={question.topic: BooleanPropertySchema(title=question.yes.name)},
        required=(question.topic,),
    )
    form = SessionForm(session_id=session_id, message=question.text, requested_schema=schema)
    answer = await connection.client.request("elicitation/create", form, CreateElicitationResponse)
    if answer.action == "accept" and (answer.content or {}).get(question.topic) is True:
        return question.yes.option_id
    return question.no.option_id if answer.action in {"accept", "decline"} else None


async def _ask_by_call(
    connection: ClientConnection, session_id: str, question: StandaloneQuestion
) -> str | None:
    call_id = f"{question.topic}_{uuid4().hex[:12]}"
    content = (Content(content=TextContent(text=question.text)),)
    client = connection.client
    start = ToolCallStart(
        tool_call_id=call_id, title=question.title, status="pending", content=content
    )
    # A permission request needs a tool call the editor has seen.
    await client.send_update(session_id, start)
    options = (question.yes, *question.others, question.no)
    request = RequestPermissionRequest(
        session_id=session_id,
        tool_call=ToolCallUpdate(tool_call_id=call_id, title=question.title, content=content),
        options=options,
    )
    chosen: str | None = None
    try:
        response = await client.request(
            "session/request_permission", request, RequestPermissionResponse
        )
        outcome = response.outcome
        if isinstance(outcome, SelectedPermissionOutcome):
            # Never trust the id as given: an unknown option counts as no answer.
            known = {option.option_id for option in options}
            chosen = outcome.option_id if outcome.option_id in known else None
    finally:
        status = "completed" if chosen == question.yes.option_id else "failed"
        # Also when cancelled, and without waiting: the call must not stay pending in the editor.
        client.send_update_now(session_id, ToolCallProgress(tool_call_id=call_id, status=status))
    return chosen
