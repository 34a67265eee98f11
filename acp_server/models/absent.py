"""The model of a server that was given none: says what to do, when asked and not before."""

from typing import NoReturn

from acp_server.turn.errors import ModelUnavailableError
from acp_server.turn.ports import ModelRequest, Receive

WAY_OUT = (
    "no model is configured; start the server with `--model scripted:demo` to try it, or set "
    "`model.default` in the configuration"
)


class AbsentModel:
    """Refuses every request."""

    async def respond(self, request: ModelRequest, receive: Receive) -> NoReturn:
        """Refuse.

        Raises:
            ModelUnavailableError: always, with the way out.
        """
        del request, receive
        raise ModelUnavailableError(WAY_OUT)
