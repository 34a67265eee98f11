"""What a failed connection means, without making one."""

import httpx2
import pytest

from acp_server.models.anthropic.failures import classify_error
from acp_server.models.failures import ProviderFailure


def test_an_untrusted_certificate_is_not_retried() -> None:
    error = httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    reason = (
        "the connection to host failed ([SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate); "
        "set SSL_CERT_FILE to the authority that signed it"
    )
    assert classify_error(error, "host") == ProviderFailure(reason, "connection")


@pytest.mark.parametrize(("said", "shown"), [("refused", "refused"), ("", "ConnectError")])
def test_other_connection_failures_are_retryable(said: str, shown: str) -> None:
    reason = f"the connection to host failed ({shown})"
    expected = ProviderFailure(reason, "connection", is_temporary=True)
    assert classify_error(httpx2.ConnectError(said), "host") == expected
