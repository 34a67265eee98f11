"""Whether the endpoint of the model can be reached from here. Sends no key and costs nothing."""

import time

import httpx2

from acp_server.cli.findings import Finding
from acp_server.endpoints import configured_providers
from acp_server.models.catalog import scripted_catalog
from acp_server.redaction import without_secrets
from acp_server.settings import Configuration

PATIENCE_SECONDS = 5.0
SERVER_FAULT = 500


async def endpoint(configuration: Configuration) -> Finding:
    """Ask the endpoint for anything; any answer will do, also one that wants a key.

    Proxies and certificate authorities are those of the environment, as for the model's calls.
    """
    if scripted_catalog(configuration.settings.model or "") is not None:
        return Finding("endpoint", "ok", "none is needed: the model plays a script")
    providers = configured_providers(configuration)
    if providers is None:
        return Finding("endpoint", "ok", "not asked: its provider is not known here")
    first = providers[0]
    address = first.address.rstrip("/")
    path = "/v1/models" if first.profile.form == "messages" else "/models"
    began = time.perf_counter()
    try:
        async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
            answer = await client.get(f"{address}{path}")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return _unreachable(address, str(error) or type(error).__name__)
    milliseconds = {"answer": round((time.perf_counter() - began) * 1000)}
    fact = f"{without_secrets(address)} answers in {milliseconds['answer']} ms"
    if answer.status_code >= SERVER_FAULT:
        fact = f"{fact}, with the error {answer.status_code}"
        advice = "try again later: it is the endpoint's"
        return Finding("endpoint", "warning", fact, advice, milliseconds)
    return Finding("endpoint", "ok", fact, milliseconds=milliseconds)


def _unreachable(address: str, reason: str) -> Finding:
    fact = without_secrets(f"{address} does not answer: {reason}")
    advice = "look at the network, a proxy (HTTPS_PROXY) and the base URL"
    return Finding("endpoint", "warning", fact, advice)
