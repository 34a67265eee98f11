"""Finds model servers on this machine at their default ports, and nowhere else."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio
import httpx2

from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.openai_compatible.endpoint import connect, list_models
from acp_server.models.provider_profiles import PROFILES, ProviderProfile, is_chat_model
from acp_server.turn.errors import ModelFailedError

PROBE_TIMEOUT_SECONDS = 2.0
LOCAL_PROFILES = tuple(profile for profile in PROFILES if profile.is_local)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered, and its chat models."""

    profile: ProviderProfile
    models: tuple[ListedModel, ...]


async def find_local_servers(
    profiles: Sequence[ProviderProfile] = LOCAL_PROFILES,
) -> list[LocalServer]:
    """Return the servers that answer within `PROBE_TIMEOUT_SECONDS`, in profile order."""
    found: dict[str, LocalServer] = {}

    async def probe(profile: ProviderProfile) -> None:
        access = EndpointAccess(profile.base_url, read_timeout_seconds=PROBE_TIMEOUT_SECONDS)
        endpoint = connect(access, "")
        try:
            # No server, or something else, may answer there.
            with suppress(ModelFailedError, httpx2.HTTPError):
                with anyio.move_on_after(PROBE_TIMEOUT_SECONDS):
                    listed = await list_models(endpoint)
                    models = tuple(model for model in listed if is_chat_model(model.id))
                    found[profile.name] = LocalServer(profile, models)
        finally:
            with anyio.CancelScope(shield=True):
                await endpoint.client.aclose()

    async with anyio.create_task_group() as tasks:
        for profile in profiles:
            tasks.start_soon(probe, profile)
    return [found[profile.name] for profile in profiles if profile.name in found]
