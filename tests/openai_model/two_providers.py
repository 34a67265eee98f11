"""A session with two providers, each a strict fake server with its own key."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore
from acp_server.models.access import EndpointAccess
from acp_server.models.aggregate_catalog import AggregateCatalog
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.lazy_imports import ProviderEntryPoint
from acp_server.models.model_facts import ModelFacts
from acp_server.models.provider_adapter import ProviderAdapter
from acp_server.models.provider_profiles import CUSTOM, ApiFormat
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.project.options import MODEL_OPTION
from acp_server.startup.lazy_value import Lazy
from tests.anthropic_model.model_session import (
    ModelSession,
    ModelSessionConfig,
    make_loader,
    open_model_session,
    unknown_window,
)
from tests.support.messages_api import FakeApiServer, ScriptedTurn, messages_api
from tests.support.openai_api import OpenAiServerConfig, openai_api
from tests.support.server_parts import close_client

OTHER_KEY = "another-key"


@dataclass(frozen=True, slots=True)
class TwoProviders:
    """Session and the fake endpoints of its models."""

    session: ModelSession
    claude: FakeApiServer
    other: FakeApiServer

    async def select_model(self, model_id: str) -> None:
        """Select a model as an editor does, even if its endpoint has not listed it yet."""
        answer = await self.session.editor.call(
            "session/set_config_option",
            {"sessionId": self.session.session_id, "configId": MODEL_OPTION, "value": model_id},
        )
        assert "error" not in answer, answer
        assert self.session.session.context.options.model_id == model_id


@asynccontextmanager
async def open_two_providers(
    home: Path, form: str, *, claude: Sequence[ScriptedTurn], other: Sequence[ScriptedTurn]
) -> AsyncGenerator[TwoProviders]:
    """Open a session with a Messages API provider and one with the API form `form`."""
    endpoint = OpenAiServerConfig(form=cast("ApiFormat", form), keys=frozenset({OTHER_KEY}))  # pyright: ignore[reportArgumentType]  never messages
    async with messages_api(claude) as first, openai_api(other, endpoint) as second:
        loader = make_loader(form, ModelSessionConfig())
        join = partial(_aggregate_catalog, second, home, loader)
        try:
            async with open_model_session(
                first, home, ModelSessionConfig(wrap_catalog=join)
            ) as session:
                yield TwoProviders(session, first, second)
        finally:
            await close_client(loader)


def _aggregate_catalog(
    api: FakeApiServer, home: Path, loader: Lazy[ProviderEntryPoint], first: ModelCatalog
) -> ModelCatalog:
    plan = EndpointConfig(
        EndpointAccess(api.url, read_timeout_seconds=5.0),
        None,
        RetryPolicy(max_retries=1, initial_seconds=0.004),
        home / "acp" / "models.json",
    )
    profile = replace(CUSTOM, api_format=cast("ApiFormat", api.form))
    adapter = ProviderAdapter(profile, ModelFacts(unknown_window), needs_key=True)
    credentials = CredentialProvider(
        Credential("the test", api_key=OTHER_KEY), KeyStore(home, use_keyring=False)
    )
    catalog = EndpointCatalog(plan, adapter, credentials.current, loader)
    return AggregateCatalog(first, {"other": catalog})
