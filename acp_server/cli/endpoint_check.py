"""Whether the endpoint of the model can be reached from here. Sends no key and costs nothing."""

import time

import httpx2

from acp_server.cli.findings import Finding
from acp_server.models.catalog import foreign_catalog, scripted_catalog
from acp_server.redaction import without_secrets
from acp_server.settings import Settings

VENDOR = "https://api.anthropic.com"
PATIENCE_SECONDS = 5.0
SERVER_FAULT = 500


async def endpoint(current: Settings) -> Finding:
    """Ask the endpoint for anything; any answer will do, also one that wants a key.

    Proxies and certificate authorities are those of the environment, as for the model's calls.
    """
    if scripted_catalog(current.model or "") is not None:
        return Finding("endpoint", "ok", "none is needed: the model plays a script")
    if foreign_catalog(current.provider, "", None) is not None:
        return Finding("endpoint", "ok", "not asked: its provider is not spoken here")
    address = (current.base_url or VENDOR).rstrip("/")
    began = time.perf_counter()
    try:
        async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
            answer = await client.get(f"{address}/v1/models")
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
    advice = "look at the network, a proxy (HTTPS_PROXY) and `anthropic.base_url`"
    return Finding("endpoint", "warning", fact, advice)
