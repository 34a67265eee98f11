"""One fake endpoint per API form, so that the same test can run against all three."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from tests.support.messages_api import ErrorEvent as MessagesError
from tests.support.messages_api import MessagesApi, StreamFault, Turn, messages_api
from tests.support.messages_api.failures import Failure
from tests.support.messages_api.failures import bad_request as messages_bad_request
from tests.support.openai_api import Endpoint, StreamedError, failure, openai_api

FORMS = ("messages", "chat", "responses")
OTHERS = ("chat", "responses")


@asynccontextmanager
async def serving(form: str, script: Sequence[Turn]) -> AsyncGenerator[MessagesApi]:
    """Serve a script with an API form."""
    if form == "messages":
        async with messages_api(script) as api:
            yield api
        return
    async with openai_api(script, endpoint(form)) as api:
        yield api


def endpoint(form: str) -> Endpoint:
    """Return an endpoint configuration that behaves like OpenAI's."""
    if form == "responses":
        return Endpoint(form="responses")
    return Endpoint(form="chat")


def breaks_off(form: str, at_event: int) -> StreamFault:
    """Return a fault that replaces an event with an error in mid-stream."""
    return MessagesError(at_event) if form == "messages" else StreamedError(at_event)


def bad_request(form: str, message: str) -> Failure:
    """Return a 400 failure with this message."""
    return messages_bad_request(message) if form == "messages" else failure(400, message)
