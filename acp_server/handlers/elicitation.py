"""Forwards questions of MCP servers to the editor, if it can show them.

A server's form is a flat JSON schema, nearly the editor's own; a form that does not fit is
declined. The user sees which server asks. The server's own text has no influence on whether it may
ask.
"""

from collections.abc import Mapping
from typing import assert_never
from urllib.parse import urlsplit

from pydantic import JsonValue, ValidationError

from acp_server.handlers.client_connection import ClientConnection
from acp_server.protocol.client import ClientError
from acp_server.protocol.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationResponse,
    ElicitationSchema,
    SessionForm,
    SessionUrl,
)
from acp_server.session.ports.elicitation import (
    DECLINED,
    ElicitationForm,
    ElicitationResult,
    ElicitationUrl,
)

QUESTION_TEMPLATE = "The MCP server “{server}” asks: {message}"
NO_SECRETS_WARNING = "It is a separate program: do not enter passwords or keys."
MAX_MESSAGE_CHARACTERS = 4_000
PAGE_SCHEMES = frozenset({"http", "https"})


class EditorElicitor:
    """Asks the user through one session's editor."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    @property
    def can_ask(self) -> bool:
        """Whether the client shows forms or pages."""
        return self._connection.shows_forms or self._connection.shows_pages

    @property
    def shows_pages(self) -> bool:
        """Whether the client opens web pages."""
        return self._connection.shows_pages

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        """Ask the user; see the port."""
        request = self._request(question)
        if request is None:
            return DECLINED
        try:
            response = await self._connection.client.request(
                "elicitation/create", request, CreateElicitationResponse
            )
        except ClientError:
            return DECLINED
        return _to_result(response)

    async def complete(self, page_id: str) -> None:
        """Report that a page has done its work; see the port."""
        notification = CompleteElicitationNotification(elicitation_id=page_id)
        await self._connection.client.notify("elicitation/complete", notification)

    def _request(
        self, question: ElicitationForm | ElicitationUrl
    ) -> SessionForm | SessionUrl | None:
        """Return the request for the client, or None if it cannot show the question."""
        # The prefix comes first and the cut last: a long message must not hide which server asks.
        message = QUESTION_TEMPLATE.format(server=question.server, message=question.message)
        message = message[:MAX_MESSAGE_CHARACTERS]
        match question:
            case ElicitationForm():
                schema = (
                    _to_editor_schema(question.schema) if self._connection.shows_forms else None
                )
                if schema is None:
                    return None
                message = f"{message}\n\n{NO_SECRETS_WARNING}"
                return SessionForm(
                    session_id=self._session_id, message=message, requested_schema=schema
                )
            case ElicitationUrl():
                if not self.shows_pages or not _is_web_url(question.url):
                    return None
                return SessionUrl(
                    session_id=self._session_id,
                    message=message,
                    elicitation_id=question.id,
                    url=question.url,
                )
            case _:
                assert_never(question)


def _to_editor_schema(schema: Mapping[str, JsonValue]) -> ElicitationSchema | None:
    """Return a server's form as the editor's type, or None if it does not fit."""
    raw_properties = schema.get("properties")
    properties = {} if not isinstance(raw_properties, dict) else raw_properties
    converted: dict[str, JsonValue] = {
        name: _with_option_titles(each) for name, each in properties.items()
    }
    try:
        return ElicitationSchema.from_wire({**schema, "properties": converted})
    except ValidationError:
        return None


def _with_option_titles(field: JsonValue) -> JsonValue:
    """Return a field with option titles as `oneOf`; older servers send them as `enumNames`."""
    if not isinstance(field, dict):
        return field
    values, names = field.get("enum"), field.get("enumNames")
    if not isinstance(values, list) or not isinstance(names, list) or len(values) != len(names):
        return field
    remaining = {key: each for key, each in field.items() if key not in {"enum", "enumNames"}}
    pairs = zip(values, names, strict=True)
    options: list[JsonValue] = [{"const": value, "title": name} for value, name in pairs]
    return {**remaining, "oneOf": options}


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    # The editor opens the URL: only web pages, never file: or an application's scheme.
    return parts.scheme in PAGE_SCHEMES and bool(parts.hostname)


def _to_result(response: CreateElicitationResponse) -> ElicitationResult:
    match response.action:
        case "accept":
            content: dict[str, JsonValue] = {}
            for name, value in (response.content or {}).items():
                content[name] = [*value] if isinstance(value, tuple) else value
            return ElicitationResult("accept", content)
        case "decline":
            return DECLINED
        case _:  # an unknown action is not consent
            return ElicitationResult("cancel")
