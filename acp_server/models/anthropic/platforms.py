"""Endpoints of the Messages API at cloud providers, through the SDK's own clients.

They sign requests by themselves, with credentials of the cloud's own tools: those of the
environment, of HERMES_HOME/.env, or of a sign-in by `aws` or `gcloud`. Each needs an extra of this
package. The streams of Bedrock are not server-sent events; they are converted to them.
"""

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from ssl import SSLContext
from typing import TYPE_CHECKING, Protocol, cast

import httpx2

from acp_server.models.access import EndpointAccess
from acp_server.text.json_values import as_object, as_text
from acp_server.turn.errors import ModelUnavailableError

if TYPE_CHECKING:
    from anthropic.lib.bedrock import AsyncAnthropicBedrock
    from anthropic.lib.vertex import AsyncAnthropicVertex
    from google.auth.credentials import Credentials as GoogleCredentials
    from pydantic import JsonValue

NEEDED_MODULES = {"bedrock": "boto3", "vertex": "google.auth"}
SIGN_IN = {
    "bedrock": "sign in again with `aws sso login`, or set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY in HERMES_HOME/.env",
    "vertex": "sign in again with `gcloud auth application-default login`, or set "
    "GOOGLE_APPLICATION_CREDENTIALS in HERMES_HOME/.env",
}
DEFAULT_AWS_REGION = "us-east-1"
DEFAULT_GOOGLE_REGION = "global"
NO_EXTRA = (
    "this provider needs a package that is not installed; install `hermes-acp-server[{platform}]`, "
    "then start acp-server again"
)
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_ERROR_CLASSES = {
    "bedrock": ("botocore.exceptions", "BotoCoreError"),
    "vertex": ("google.auth.exceptions", "GoogleAuthError"),
}
"""The base of the errors of each cloud's own package."""


class _Frame(Protocol):
    """A message in AWS's binary framing."""

    headers: Mapping[str, object]
    payload: bytes


class _FrameBuffer(Protocol):
    def add_data(self, data: bytes) -> None: ...


class _Accounts(Protocol):
    """The module of service accounts of google-auth."""

    Credentials: "_AccountReader"


class _AccountReader(Protocol):
    def from_service_account_file(
        self, filename: str, *, scopes: list[str]
    ) -> "GoogleCredentials": ...


def connect_platform(
    access: EndpointAccess, authorities: SSLContext, timeout: httpx2.Timeout
) -> "AsyncAnthropicBedrock | AsyncAnthropicVertex":
    """Return the SDK's client of a cloud provider.

    Raises:
        ModelUnavailableError: The extra is not installed.
    """
    if not _is_installed(NEEDED_MODULES[access.platform]):
        raise ModelUnavailableError(NO_EXTRA.format(platform=access.platform))
    values = dict(access.platform_values)
    # Security: as for other endpoints, no redirect is followed and nothing is traced.
    http_client = httpx2.AsyncClient(verify=authorities, timeout=timeout, follow_redirects=False)
    if access.platform == "bedrock":
        from anthropic.lib.bedrock import AsyncAnthropicBedrock

        return AsyncAnthropicBedrock(
            aws_access_key=values.get("AWS_ACCESS_KEY_ID"),
            aws_secret_key=values.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=values.get("AWS_SESSION_TOKEN"),
            aws_profile=values.get("AWS_PROFILE"),
            api_key=values.get("AWS_BEARER_TOKEN_BEDROCK"),
            aws_region=values.get("region")
            or values.get("AWS_REGION")
            or values.get("AWS_DEFAULT_REGION")
            or DEFAULT_AWS_REGION,
            base_url=access.base_url,
            timeout=timeout,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client,
        )
    from anthropic.lib.vertex import AsyncAnthropicVertex

    client = AsyncAnthropicVertex(
        region=values.get("region") or values.get("CLOUD_ML_REGION") or DEFAULT_GOOGLE_REGION,
        base_url=access.base_url,
        access_token=values.get("VERTEX_ACCESS_TOKEN"),
        timeout=timeout,
        max_retries=0,
        open_telemetry=False,
        http_client=http_client,
    )
    project = values.get("project_id") or values.get("GOOGLE_CLOUD_PROJECT")
    if project:
        client.project_id = project
    if file := values.get("GOOGLE_APPLICATION_CREDENTIALS"):
        accounts = cast("_Accounts", import_module("google.oauth2.service_account"))
        scopes = [GOOGLE_SCOPE]
        client.credentials = accounts.Credentials.from_service_account_file(file, scopes=scopes)
    return client


def platform_errors(platform: str) -> tuple[type[Exception], ...]:
    """Return the errors of credentials at a cloud provider; none at any other endpoint."""
    if platform not in _ERROR_CLASSES:
        return ()
    module, name = _ERROR_CLASSES[platform]
    base_error = cast("type[Exception]", getattr(import_module(module), name))
    return (RuntimeError, ValueError, ImportError, OSError, base_error)


async def as_server_sent_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Convert a stream of Bedrock, which is in AWS's binary framing, to server-sent events."""
    buffer = cast("_FrameBuffer", import_module("botocore.eventstream").EventStreamBuffer())
    async for chunk in chunks:
        buffer.add_data(chunk)
        for frame in cast("Iterable[_Frame]", buffer):
            yield b"data: " + _event_data(frame) + b"\n\n"


def _event_data(frame: _Frame) -> bytes:
    """Return the event of the Messages API in a frame; an error frame becomes an error event."""
    try:
        value = as_object(cast("JsonValue", json.loads(frame.payload or b"{}")))
    except ValueError:
        value = {}
    if ":exception-type" not in frame.headers:
        return b64decode(as_text(value.get("bytes")))
    kind, message = str(frame.headers[":exception-type"]), as_text(value.get("message"))
    error = {"type": kind, "message": message or kind}
    return json.dumps({"type": "error", "error": error}).encode()


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
