"""A server's parts around models of the test's: equipment, a catalog, a registry, no way in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from acp_server.credentials import Credential, Credentials, KeyStore
from acp_server.handlers.auth import AuthHandlers
from acp_server.models.catalog import FixedCatalog
from acp_server.models.metering import Unmetered
from acp_server.permissions.modes import Mode
from acp_server.session.briefing import PlainBriefing
from acp_server.session.ports import ModelCatalog, ModelChoice
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Equipment, Session
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.loop import Meter
from acp_server.turn.ports import Model, Toolbox

MODEL_ID = "test"
"""The id of the model of a registry that has one only."""


def registry_of(make: Callable[[], Model], mode: Mode = "ask") -> SessionRegistry:
    """Return a registry whose sessions each make this model."""
    return SessionRegistry(equipment(FixedCatalog(MODEL_ID, MODEL_ID, make), mode=mode))


def equipment(
    catalog: ModelCatalog, *, toolbox: Toolbox | None = None, mode: Mode = "ask"
) -> Equipment:
    """Return the equipment of sessions without a system prompt and, unless given, tools."""
    tools = toolbox or SessionToolbox(())

    async def given(session: Session) -> Toolbox:
        del session
        return tools

    return Equipment(
        catalog=catalog,
        toolbox=given,
        briefing=lambda _workspace: PlainBriefing(),
        mode=mode,
    )


def way_in(folder: Path | None = None, configured: Credential | None = None) -> AuthHandlers:
    """Return what signs in, with keys stored in a folder; without one there is no key."""
    store = KeyStore(folder or Path("/nowhere"), use_keyring=False)
    credentials = Credentials(configured, store)
    return AuthHandlers(credentials.sign_in, credentials.sign_out)


@dataclass(slots=True)
class Shelf:
    """A catalog of models that the test has made; `coming` are known after a refresh."""

    models: Mapping[str, Model]
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The thought levels of those that have any; the last one is the model's own."""
    coming: Mapping[str, Model] = field(default_factory=dict[str, Model])
    may_come: anyio.Event | None = None
    """What a refresh waits for, if anything."""
    gauge: Meter = field(default_factory=Unmetered)
    listeners: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    @property
    def default_id(self) -> str:
        """The first."""
        return next(iter(self.models))

    def choices(self) -> Sequence[ModelChoice]:
        """Return all, with names in capitals."""
        return [ModelChoice(model_id, model_id.upper()) for model_id in self.models]

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return a model's levels."""
        return self.levels.get(model_id, ())

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the last one."""
        levels = self.thought_levels(model_id)
        return levels[-1] if levels else None

    def model(self, model_id: str) -> Model:
        """Return a model."""
        return self.models[model_id]

    def meter(self, model_id: str) -> Meter:
        """Return the same for all."""
        del model_id
        return self.gauge

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return that of all."""
        return self.meter(model_id).window_tokens

    def allow(self) -> None:
        """Let come what was kept back."""
        if self.may_come is not None:
            self.may_come.set()

    async def refresh(self) -> None:
        """Learn what comes, once."""
        if self.may_come is not None:
            await self.may_come.wait()
        if self.coming:
            self.models, self.coming = {**self.models, **self.coming}, {}
            for listener in self.listeners:
                listener()

    async def settle(self) -> None:
        """Do nothing: the first is known."""

    async def learn_of(self, model_id: str) -> None:
        """Learn what comes, if the model is not there."""
        if model_id not in self.models:
            await self.refresh()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called after a refresh that changed something."""
        self.listeners.append(listener)
