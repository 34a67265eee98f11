"""From the configuration to the models that a session can choose from."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NoReturn

from acp_server.frozen import frozen
from acp_server.models.loading import scripted_model
from acp_server.models.metering import Unmetered
from acp_server.models.profiles import PROFILES
from acp_server.session.ports import ModelChoice
from acp_server.turn.errors import ModelUnavailableError
from acp_server.turn.ports import Model, ModelRequest, Receive

SCRIPTED_PREFIX = "scripted:"


@frozen
class FixedCatalog:
    """A catalog of one model that needs no endpoint."""

    model_id: str
    name: str
    make: Callable[[], Model]

    @property
    def default_id(self) -> str:
        """The one."""
        return self.model_id

    def choices(self) -> Sequence[ModelChoice]:
        """Return the one."""
        return (ModelChoice(self.model_id, self.name),)

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return none: it thinks as it thinks."""
        del model_id
        return ()

    def default_thought_level(self, model_id: str) -> None:
        """Return none."""
        del model_id

    def model(self, model_id: str) -> Model:
        """Return a new one for a session."""
        del model_id
        return self.make()

    def meter(self, model_id: str) -> Unmetered:
        """Return no measures: a prompt of any size is its own to take."""
        del model_id
        return Unmetered()

    def known_window_tokens(self, model_id: str) -> None:
        """Return none: it is not read for its length."""
        del model_id

    async def refresh(self) -> None:
        """Do nothing: there is no list."""

    async def settle(self) -> None:
        """Do nothing: it is known."""

    async def learn_of(self, model_id: str) -> None:
        """Do nothing: there is no list."""
        del model_id

    def on_change(self, listener: Callable[[], None]) -> None:
        """Do nothing: it never changes."""
        del listener


@frozen
class ForeignModel:
    """Stands for a model of a provider that is not known here, and has no address."""

    provider: str
    origin: str

    async def respond(self, request: ModelRequest, receive: Receive) -> NoReturn:
        """Refuse.

        Raises:
            ModelUnavailableError: always, naming the provider and the way out.
        """
        del request, receive
        raise ModelUnavailableError(
            f"the configured provider is {self.provider!r} ({self.origin}), which acp-server does "
            "not know; set `model.base_url` to where it is, or `model.provider` to one of "
            f"{', '.join(profile.name for profile in PROFILES)}, in HERMES_HOME/acp/config.yaml"
        )


def scripted_catalog(name: str) -> FixedCatalog | None:
    """Return the catalog of a scripted model, for a name such as `scripted:demo`; else None."""
    if not name.startswith(SCRIPTED_PREFIX):
        return None
    source = name.removeprefix(SCRIPTED_PREFIX)
    return FixedCatalog(name, f"Script: {PurePath(source).stem}", lambda: scripted_model(source))


def foreign_catalog(provider: str, origin: str, model_id: str | None) -> FixedCatalog:
    """Return the catalog of a provider that is not known here."""
    name = model_id or provider
    return FixedCatalog(name, name, lambda: ForeignModel(provider, origin))
