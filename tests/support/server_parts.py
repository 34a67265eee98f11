"""Server parts around a test's models: session services, a model catalog, a registry, auth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore
from acp_server.handlers.auth import AuthHandlers
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.models.lazy_imports import ProviderEntryPoint
from acp_server.models.meters import NullMeter
from acp_server.permissions.modes import Mode
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.model_catalog import ModelCatalog, ModelChoice
from acp_server.session.ports.observer import ShowNotice
from acp_server.session.ports.skills import NoSkills, SkillsPort
from acp_server.session.ports.toolset import BuildToolset, SessionToolset
from acp_server.session.prompting.provider import FixedPromptProvider, PromptProvider
from acp_server.session.registry import SessionRegistry
from acp_server.session.services import SessionServices
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.lazy_value import Lazy
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.ports import Model, Toolbox

MODEL_ID = "test"
"""Model id of a registry with a single model."""


def make_registry(make_model: Callable[[], Model], mode: Mode = "ask") -> SessionRegistry:
    """Return a registry whose sessions each create a model with `make`."""
    return SessionRegistry(make_services(FixedCatalog(MODEL_ID, MODEL_ID, make_model), mode=mode))


def make_services(
    catalog: ModelCatalog, *, toolbox: Toolbox | None = None, mode: Mode = "ask"
) -> SessionServices:
    """Return session services without a system prompt and, by default, without tools."""
    return SessionServices(
        catalog=catalog,
        toolset=fixed_toolset(toolbox or SessionToolbox(())),
        prompt_provider=fixed_prompts(FixedPromptProvider()),
        mode=mode,
    )


def fixed_toolset(toolbox: Toolbox, skills: SkillsPort | None = None) -> BuildToolset:
    """Return a builder that gives every session the same tools."""
    toolset = SessionToolset(toolbox, skills or NoSkills())

    async def build(context: SessionContext, servers: Sequence[ServerConfig]) -> SessionToolset:
        del context, servers
        return toolset

    return build


def fixed_prompts(
    provider: PromptProvider,
) -> Callable[[SessionWorkspace, ShowNotice], Lazy[PromptProvider]]:
    """Return a factory that gives every session the same prompt provider."""
    return lambda _workspace, _show: Lazy[PromptProvider].of(provider)


async def close_client(client: Lazy[ProviderEntryPoint]) -> None:
    """Close the connections of an API client, if it was ever used."""
    if client.loaded is not None:
        await client.loaded.close()


def make_auth_handlers(
    directory: Path | None = None, configured: Credential | None = None
) -> AuthHandlers:
    """Return auth handlers whose keys are stored in a directory; without one, none is stored."""
    store = KeyStore(directory or Path("/nowhere"), use_keyring=False)
    credentials = CredentialProvider(configured, store)
    return AuthHandlers(credentials.sign_in, credentials.sign_out)


@dataclass(slots=True)
class FakeModelCatalog:
    """Model catalog over the test's models; a refresh adds `models_after_refresh`."""

    models: Mapping[str, Model]
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Thought levels by model id; the last one is the default."""
    fast_models: Mapping[str, str] = field(default_factory=dict[str, str])
    """What fast mode gives, by the id of each model that has it."""
    models_after_refresh: Mapping[str, Model] = field(default_factory=dict[str, Model])
    refresh_gate: anyio.Event | None = None
    """Event that a refresh waits for, if set."""
    shared_meter: ModelMeter = field(default_factory=NullMeter)
    listeners: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    @property
    def default_id(self) -> str:
        """Id of the first model."""
        return next(iter(self.models))

    @property
    def has_list(self) -> bool:
        """Whether a refresh would add nothing."""
        return not self.models_after_refresh

    def choices(self) -> Sequence[ModelChoice]:
        """Return all models, named by their ids in capitals."""
        return [ModelChoice(model_id, model_id.upper()) for model_id in self.models]

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return the thought levels of a model."""
        return self.levels.get(model_id, ())

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the last thought level of a model, or None if it has none."""
        levels = self.thought_levels(model_id)
        return levels[-1] if levels else None

    def describe_fast_mode(self, model_id: str) -> str | None:
        """Return what fast mode of a model gives."""
        return self.fast_models.get(model_id)

    def model(self, model_id: str) -> Model:
        """Return a model by its id."""
        return self.models[model_id]

    def meter(self, model_id: str) -> ModelMeter:
        """Return the meter that all models share."""
        del model_id
        return self.shared_meter

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the context window of the shared meter, in tokens."""
        return self.meter(model_id).window_tokens

    def allow_refresh(self) -> None:
        """Let refreshes that wait for `refresh_gate` go on."""
        if self.refresh_gate is not None:
            self.refresh_gate.set()

    async def refresh(self) -> None:
        """Add `models_after_refresh` and call the listeners, once."""
        if self.refresh_gate is not None:
            await self.refresh_gate.wait()
        if self.models_after_refresh:
            self.models, self.models_after_refresh = (
                {**self.models, **self.models_after_refresh},
                {},
            )
            for listener in self.listeners:
                listener()

    async def resolve_default(self) -> None:
        """Do nothing: the default is always known."""

    async def load_models_of(self, model_id: str) -> None:
        """Refresh if the model is unknown."""
        if model_id not in self.models:
            await self.refresh()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each refresh that added models."""
        self.listeners.append(listener)
