"""Catalogs that need no endpoint: scripted models and unknown providers."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import NoReturn

from acp_server.models.lazy_imports import scripted_model
from acp_server.models.meters import NullMeter
from acp_server.models.provider_profiles import provider_names
from acp_server.session.commands.similar_names import find_similar_names
from acp_server.session.ports.model_catalog import ModelChoice
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.errors import ModelUnavailableError
from acp_server.turn.ports import Model, ModelRequest, ReceiveEvent

SCRIPTED_PREFIX = "scripted:"
_COPILOT = "it is another agent, run as a process; use `copilot` with a token"
UNSUPPORTED = {
    **dict.fromkeys(("copilot-acp", "github-copilot-acp", "copilot-acp-agent"), _COPILOT),
    "moa": "it asks several models for each answer; name one of them",
}
"""Providers of Hermes that are no endpoints, with what to do instead."""


@frozen_dataclass
class FixedCatalog:
    """Catalog of one model that needs no endpoint."""

    model_id: str
    name: str
    make_model: Callable[[], Model]

    @property
    def default_id(self) -> str:
        """The only model."""
        return self.model_id

    @property
    def has_list(self) -> bool:
        """True: there is nothing to list."""
        return True

    def choices(self) -> Sequence[ModelChoice]:
        """Return the only model."""
        return (ModelChoice(self.model_id, self.name),)

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return no levels: thinking is not adjustable."""
        del model_id
        return ()

    def default_thought_level(self, model_id: str) -> None:
        """Return None: thinking is not adjustable."""
        del model_id

    def describe_fast_mode(self, model_id: str) -> None:
        """Return None: there is no fast mode."""
        del model_id

    def model(self, model_id: str) -> Model:
        """Return a new model for a session."""
        del model_id
        return self.make_model()

    def meter(self, model_id: str) -> NullMeter:
        """Return a meter without limits: a prompt of any size is accepted."""
        del model_id
        return NullMeter()

    def known_window_tokens(self, model_id: str) -> None:
        """Return None: there is no context window."""
        del model_id

    async def refresh(self) -> None:
        """Do nothing: there is no list to fetch."""

    async def resolve_default(self) -> None:
        """Do nothing: the default is known."""

    async def load_models_of(self, model_id: str) -> None:
        """Do nothing: there is no list to fetch."""
        del model_id

    def on_change(self, listener: Callable[[], None]) -> None:
        """Do nothing: the choices never change."""
        del listener


@frozen_dataclass
class UnknownProviderModel:
    """Placeholder model of a provider that is unknown and has no base URL."""

    reason: str

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> NoReturn:
        """Fail with advice for the user.

        Raises:
            ModelUnavailableError: Always; names the provider and how to configure it.
        """
        del request, receive
        raise ModelUnavailableError(self.reason)


def unknown_provider_reason(provider: str, origin: str, more_names: Iterable[str] = ()) -> str:
    """Return why a configured provider cannot be used, with the nearest known name.

    `more_names` are those of endpoints that the configuration names.
    """
    name = provider.strip().lower()
    if name in UNSUPPORTED:
        return (
            f"acp-server cannot use the configured provider {provider!r} ({origin}): "
            + (UNSUPPORTED[name])
        )
    names = find_similar_names(name, (*more_names, *provider_names()))
    question = f"did you mean `{names[0]}`? If not, " if names else ""
    return (
        f"acp-server does not know the configured provider {provider!r} ({origin}); {question}set "
        "`model.base_url` to its address, or `model.provider` to a name that "
        "`acp-server setup --help` lists, in HERMES_HOME/acp/config.yaml"
    )


def scripted_catalog(name: str) -> FixedCatalog | None:
    """Return the catalog of a scripted model name such as `scripted:demo`; None for others."""
    if not name.startswith(SCRIPTED_PREFIX):
        return None
    source = name.removeprefix(SCRIPTED_PREFIX)
    return FixedCatalog(name, f"Script: {PurePath(source).stem}", lambda: scripted_model(source))


def unknown_provider_catalog(reason: str, name: str) -> FixedCatalog:
    """Return the catalog of an unknown provider: a model that gives the reason."""
    return FixedCatalog(name, name, lambda: UnknownProviderModel(reason))
