"""Asks the model's questions as forms, if the client shows forms."""

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.standalone_questions import StandaloneQuestion, ask_standalone
from acp_server.protocol.client import ClientError
from acp_server.protocol.elicitation import (
    CreateElicitationResponse,
    ElicitationPropertySchema,
    ElicitationSchema,
    EnumOption,
    SessionForm,
    StringPropertySchema,
)
from acp_server.protocol.tool_calls import PermissionOption
from acp_server.session.ports.user_questions import UserQuestion, UserQuestionError

CHOICE_FIELD, FREE_TEXT_FIELD = "choice", "answer"
"""The fields of the form."""
_OTHER_ANSWER = "Other answer (replaces the choice)"

_CONTINUE = PermissionOption(option_id="continue", name="Continue", kind="allow_once")
_STOP = PermissionOption(option_id="stop", name="Stop", kind="reject_once")


class EditorUserAsker:
    """Asks the user through one session's editor."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    @property
    def is_attended(self) -> bool:
        """Whether a person uses the client."""
        return self._connection.is_attended

    @property
    def has_forms(self) -> bool:
        """Whether the client supports forms."""
        return self._connection.shows_forms

    async def ask(self, question: UserQuestion) -> str | None:
        """Ask with a form attached to the call; see the port."""
        form = SessionForm(
            session_id=self._session_id,
            tool_call_id=question.call_id,
            message=question.question,
            requested_schema=_build_schema(question.choices),
        )
        try:
            response = await self._connection.client.request(
                "elicitation/create", form, CreateElicitationResponse
            )
        except ClientError as error:
            raise UserQuestionError(str(error)) from error
        return _read_answer(response)

    async def ask_to_continue(self, title: str, reason: str) -> bool | None:
        """Ask with a form or a permission request; see the port."""
        if not self.is_attended:
            return None
        question = StandaloneQuestion("continue", title, f"{title}\n\n{reason}", _CONTINUE, _STOP)
        try:
            answer = await ask_standalone(self._connection, self._session_id, question)
        except ClientError:
            return None
        return answer == _CONTINUE.option_id


def _build_schema(choices: tuple[str, ...]) -> ElicitationSchema:
    """Return a form with a text field, and a choice if there are options."""
    free_text = StringPropertySchema(title=_OTHER_ANSWER if choices else "Your answer")
    properties: dict[str, ElicitationPropertySchema] = {FREE_TEXT_FIELD: free_text}
    if not choices:
        return ElicitationSchema(properties=properties, required=(FREE_TEXT_FIELD,))
    options = tuple(EnumOption(const=choice, title=choice) for choice in choices)
    choice = StringPropertySchema(title="Your choice", one_of=options)
    return ElicitationSchema(properties={CHOICE_FIELD: choice, **properties})


def _read_answer(response: CreateElicitationResponse) -> str | None:
    """Return the user's answer; a typed text takes precedence over a choice."""
    content = response.content or {}
    values = [content.get(field) for field in (FREE_TEXT_FIELD, CHOICE_FIELD)]
    texts = [text.strip() for text in values if isinstance(text, str) and text.strip()]
    return texts[0] if texts else None
