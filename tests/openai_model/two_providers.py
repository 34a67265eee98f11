"""A session with two providers, each a strict fake server with its own key."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from acp_server.config.credentials import Credential, Credentials, KeyStore
from acp_server.models.access import Access
from acp_server.models.aggregate_catalog import JoinedCatalog
from acp_server.models.endpoint_catalog import EndpointCatalog, Plan
from acp_server.models.lazy_imports import SdkLoader
from acp_server.models.model_facts import Facts
from acp_server.models.provider_adapter import Speech
from acp_server.models.provider_profiles import CUSTOM, ApiForm
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.project.options import MODEL_OPTION
from tests.anthropic_model.model_session import Desk, Rules, loader_for, no_window, open_desk
from tests.support.messages_api import MessagesApi, Turn, messages_api
from tests.support.openai_api import Endpoint, openai_api

OTHER_KEY = "another-key"


@dataclass(frozen=True, slots=True)
class Houses:
    """Session and the fake endpoints of its models."""

    desk: Desk
    claude: MessagesApi
    other: MessagesApi

    async def choose(self, model_id: str) -> None:
        """Select a model as an editor does, even if its endpoint has not listed it yet."""
        answer = await self.desk.editor.call(
            "session/set_config_option",
            {"sessionId": self.desk.session_id, "configId": MODEL_OPTION, "value": model_id},
        )
        assert "error" not in answer, answer
        assert self.desk.session.model_id == model_id


@asynccontextmanager
async def open_houses(
    home: Path, form: str, *, claude: Sequence[Turn], other: Sequence[Turn]
) -> AsyncGenerator[Houses]:
    """Open a session with a Messages API provider and one with the API form `form`."""
    endpoint = Endpoint(form=cast("ApiForm", form), keys=frozenset({OTHER_KEY}))  # pyright: ignore[reportArgumentType]  never messages
    async with messages_api(claude) as first, openai_api(other, endpoint) as second:
        loader = loader_for(form, Rules())
        join = partial(_joined, second, home, loader)
        try:
            async with open_desk(first, home, Rules(join=join)) as desk:
                yield Houses(desk, first, second)
        finally:
            await loader.close()


def _joined(api: MessagesApi, home: Path, loader: SdkLoader, first: ModelCatalog) -> ModelCatalog:
    plan = Plan(
        Access(api.url, idle_seconds=5.0),
        None,
        RetryPolicy(attempts=1, first_seconds=0.004),
        home / "acp" / "models.json",
    )
    profile = replace(CUSTOM, form=cast("ApiForm", api.form))
    speech = Speech(profile, Facts(no_window), needs_key=True)
    credentials = Credentials(
        Credential("the test", api_key=OTHER_KEY), KeyStore(home, use_keyring=False)
    )
    catalog = EndpointCatalog(plan, speech, credentials.current, loader)
    return JoinedCatalog(first, {"other": catalog})
