"""Checks whether the model's endpoint is reachable; sends no key and costs nothing."""

import time

import httpx2

from acp_server.cli.check_result import CheckResult
from acp_server.config.settings import Configuration
from acp_server.models.fixed_catalog import scripted_catalog
from acp_server.server.endpoints import configured_providers
from acp_server.text.redaction import redact_secrets

REQUEST_TIMEOUT_SECONDS = 5.0
FIRST_SERVER_ERROR = 500


async def check_endpoint(configuration: Configuration) -> CheckResult:
    """Send an unauthenticated request; any answer below 500 counts as reachable, even a 401.

    Uses the proxies and certificate authorities of the environment, as model requests do.
    """
    if scripted_catalog(configuration.settings.model or "") is not None:
        return CheckResult("endpoint", "ok", "not needed: the model is scripted")
    providers = configured_providers(configuration)
    if providers is None:
        return CheckResult("endpoint", "ok", "not checked: the provider is unknown")
    first = providers[0]
    address = first.address.rstrip("/")
    path = "/v1/models" if first.profile.api_format == "messages" else "/models"
    began = time.perf_counter()
    try:
        async with httpx2.AsyncClient(timeout=REQUEST_TIMEOUT_SECONDS) as client:
            answer = await client.get(f"{address}{path}")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return _unreachable(address, str(error) or type(error).__name__)
    milliseconds = {"answer": round((time.perf_counter() - began) * 1000)}
    fact = f"{redact_secrets(address)} answers in {milliseconds['answer']} ms"
    if answer.status_code >= FIRST_SERVER_ERROR:
        fact = f"{fact}, with HTTP status {answer.status_code}"
        advice = "the provider has a problem; try again later"
        return CheckResult("endpoint", "warning", fact, advice, milliseconds)
    return CheckResult("endpoint", "ok", fact, milliseconds=milliseconds)


def _unreachable(address: str, reason: str) -> CheckResult:
    fact = redact_secrets(f"{address} does not answer: {reason}")
    advice = "check the network, the proxy (HTTPS_PROXY) and the base URL"
    return CheckResult("endpoint", "warning", fact, advice)
