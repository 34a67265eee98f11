"""Finds model servers on this machine at their default ports, and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import httpx2

from acp_server.models.access import Access, ListedModel
from acp_server.models.openai_compatible.endpoint import connect, list_models
from acp_server.models.provider_profiles import PROFILES, Profile, is_for_chat
from acp_server.turn.errors import ModelFailedError

PATIENCE_SECONDS = 2.0
LOCAL = tuple(profile for profile in PROFILES if profile.is_local)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered, and its chat models."""

    profile: Profile
    models: tuple[ListedModel, ...]


async def find_local_servers(profiles: Sequence[Profile] = LOCAL) -> list[LocalServer]:
    """Return the servers that answer within `PATIENCE_SECONDS`, in the order of the profiles."""
    found: dict[str, LocalServer] = {}

    async def look(profile: Profile) -> None:
        models = await _models_of(profile)
        if models is not None:
            found[profile.name] = LocalServer(profile, models)

    async with anyio.create_task_group() as tasks:
        for profile in profiles:
            tasks.start_soon(look, profile)
    return [found[profile.name] for profile in profiles if profile.name in found]


async def _models_of(profile: Profile) -> tuple[ListedModel, ...] | None:
    """Return the chat models of a server; None if none, or something else, answers there."""
    endpoint = connect(Access(profile.base_url, idle_seconds=PATIENCE_SECONDS), "")
    try:
        with anyio.move_on_after(PATIENCE_SECONDS):
            listed = await list_models(endpoint)
            return tuple(model for model in listed if is_for_chat(model.id))
    except (ModelFailedError, httpx2.HTTPError):
        return None
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.client.aclose()
    return None
