"""The model of a server that was given none that exists: says so when asked and not before."""

from typing import NoReturn

from acp_server.turn.errors import ModelUnavailableError
from acp_server.turn.ports import ModelRequest, Receive

WAY_OUT = (
    "start the server with `--model scripted:demo` to try it, or set `model.default` in the "
    "configuration"
)


class AbsentModel:
    """Refuses every request. `name` is what was asked for, if anything was."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name

    async def respond(self, request: ModelRequest, receive: Receive) -> NoReturn:
        """Refuse.

        Raises:
            ModelUnavailableError: always, with the way out.
        """
        del request, receive
        problem = f"there is no model {self._name!r}" if self._name else "no model is configured"
        reason = f"{problem}; {WAY_OUT}"
        raise ModelUnavailableError(reason)
