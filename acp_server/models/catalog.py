"""From a model's name, as configured, to its adapter."""

from acp_server.models.absent import AbsentModel
from acp_server.models.scripted import ScriptedModel
from acp_server.turn.ports import Model

SCRIPTED_PREFIX = "scripted:"


def model_for(name: str | None) -> Model:
    """Return the adapter for a name such as `scripted:demo` or `scripted:/path/to/file`.

    A name that nothing answers to gives a model that says so when it is asked, so that no
    configuration keeps an editor from opening a session.
    """
    if name is not None and name.startswith(SCRIPTED_PREFIX):
        return ScriptedModel(name.removeprefix(SCRIPTED_PREFIX))
    return AbsentModel(name)
