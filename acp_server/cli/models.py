"""`acp-server models`: lists the models of each configured provider, fetched now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import anyio
import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.models.access import ListedModel
from acp_server.models.endpoint_catalog import EndpointCatalog
from acp_server.models.model_facts import ASSUMED_WINDOW_TOKENS
from acp_server.server.endpoints import open_models
from acp_server.server.providers import ConfiguredProvider
from acp_server.text.redaction import redact_secrets
from acp_server.turn.errors import TurnError

ASSUMED_WINDOW_NOTE = (
    f"size unknown, {ASSUMED_WINDOW_TOKENS:,} tokens assumed; set model.context_length"
)


@dataclass(frozen=True, slots=True)
class ProviderModels:
    """Models of one provider, or the reason that they could not be listed."""

    provider: str
    address: str
    default: str
    models: Sequence[Mapping[str, object]]
    problem: str


@click.command(cls=ExampleCommand)
@JSON
def command(*, is_json: bool) -> int:
    """List the models of each configured provider.

    The configured provider comes first, then those that have a key or are named in
    `model.additional_providers`; sessions call their models `PROVIDER:ID`. The default model is
    marked with *. The exit code is 1 if a provider does not answer or is unknown.

    With --json: {"providers": [{"provider", "address", "default", "models": [{"id", "name",
    "window_tokens", "output_tokens"}], "problem"}]}.
    """
    configuration = settings.load({})
    providers, reason = anyio.run(_list_all, configuration)
    if is_json:
        click.echo(
            json.dumps({"providers": [asdict(provider) for provider in providers]}, indent=2)
        )
    else:
        _print_models(providers)
    if reason:
        click.echo(f"No models to list: {reason}.", err=True)
    elif not providers:
        model = configuration.settings.model
        click.echo(f"No models to list: {model} is a script, which asks no provider.", err=True)
    return int(bool(reason) or any(provider.problem for provider in providers))


async def _list_all(configuration: Configuration) -> tuple[Sequence[ProviderModels], str]:
    """Return the models of each provider, and why there is none, if the provider is unknown."""
    models = open_models(configuration)
    reason = "" if models.endpoints else models.opening_notice
    try:
        found = [await _list_provider(provider, catalog) for provider, catalog in models.endpoints]
        return found, reason
    finally:
        await models.close()


async def _list_provider(provider: ConfiguredProvider, catalog: EndpointCatalog) -> ProviderModels:
    problem = ""
    listed: tuple[ListedModel, ...] = ()
    try:
        listed = await catalog.fetch_models()
    except TurnError as error:
        problem = error.reason
    offered = {choice.id for choice in catalog.choices()}
    rows = [
        {
            "id": model.id,
            "name": model.name,
            "window_tokens": catalog.known_window_tokens(model.id),
            "output_tokens": model.output_tokens,
        }
        for model in listed
        if model.id in offered
    ]
    address = redact_secrets(provider.address)
    return ProviderModels(provider.profile.name, address, catalog.default_id, rows, problem)


def _print_models(providers: Sequence[ProviderModels]) -> None:
    for provider in providers:
        click.echo(f"{provider.provider} ({provider.address})")
        if provider.problem:
            click.echo(f"  {provider.problem}")
        for model in provider.models:
            window = model["window_tokens"]
            size = f"{window:,} tokens" if isinstance(window, int) else ASSUMED_WINDOW_NOTE
            mark = "*" if model["id"] == provider.default else " "
            click.echo(f"{mark} {model['id']}  ({size})")
