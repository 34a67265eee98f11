"""One fake endpoint per API form, so that the same test can run against all three."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from tests.support.messages_api import ErrorEvent as MessagesError
from tests.support.messages_api import FakeApiServer, ScriptedTurn, StreamFault, messages_api
from tests.support.messages_api.failures import HttpFailure
from tests.support.messages_api.failures import bad_request as messages_bad_request
from tests.support.openai_api import OpenAiServerConfig, StreamedError, make_failure, openai_api

FORMS = ("messages", "chat", "responses")
OPENAI_FORMS = ("chat", "responses")


@asynccontextmanager
async def serve_form(form: str, script: Sequence[ScriptedTurn]) -> AsyncGenerator[FakeApiServer]:
    """Serve a script with an API form."""
    if form == "messages":
        async with messages_api(script) as api:
            yield api
        return
    async with openai_api(script, make_endpoint(form)) as api:
        yield api


def make_endpoint(form: str) -> OpenAiServerConfig:
    """Return an endpoint configuration that behaves like OpenAI's."""
    if form == "responses":
        return OpenAiServerConfig(form="responses")
    return OpenAiServerConfig(form="chat")


def make_stream_fault(form: str, at_event: int) -> StreamFault:
    """Return a fault that replaces an event with an error in mid-stream."""
    return MessagesError(at_event) if form == "messages" else StreamedError(at_event)


def bad_request(form: str, message: str) -> HttpFailure:
    """Return a 400 failure with this message."""
    return messages_bad_request(message) if form == "messages" else make_failure(400, message)
