"""The three forms as one thing to test: an endpoint on loopback that plays the same script."""

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
    """Serve a script in a form."""
    if form == "messages":
        async with messages_api(script) as api:
            yield api
        return
    async with openai_api(script, endpoint(form)) as api:
        yield api


def endpoint(form: str) -> Endpoint:
    """Return the endpoint of a form as OpenAI's own would be."""
    if form == "responses":
        return Endpoint(form="responses")
    return Endpoint(form="chat")


def breaks_off(form: str, at_event: int) -> StreamFault:
    """Return what an endpoint sends that gives up in mid-stream."""
    return MessagesError(at_event) if form == "messages" else StreamedError(at_event)


def bad_request(form: str, message: str) -> Failure:
    """Return a refusal with a message."""
    return messages_bad_request(message) if form == "messages" else failure(400, message)
