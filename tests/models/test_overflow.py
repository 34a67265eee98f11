"""The errors by which endpoints say that a request does not fit, in their own words."""

import tomllib
from http import HTTPStatus
from pathlib import Path

import pytest

from acp_server.models.overflow import find_overflow
from acp_server.text.json_values import Object, as_object

ERRORS: dict[str, Object] = tomllib.loads(
    Path(__file__).with_name("overflow_errors.toml").read_text("utf-8")
)

OTHERS: dict[str, tuple[str, Object, int | None]] = {
    "a limit of the rate": ("Too many tokens, please wait before trying again.", {}, 429),
    "a limit of the rate in a stream": (
        "maximum context length is 8 tokens",
        {"code": "rate_limit_exceeded"},
        None,
    ),
    "a limit of the answer": (
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens.",
        {"code": "invalid_value", "param": "max_tokens"},
        400,
    ),
    "a used-up quota": (
        "You exceeded your current quota of tokens.",
        {"code": "insufficient_quota"},
        429,
    ),
    "a rejected key": ("prompt is too long", {"type": "authentication_error"}, 401),
    "a broken server": ("Internal server error", {"type": "api_error"}, 500),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_overflow_is_recognized_with_the_numbers_it_names(name: str) -> None:
    row = ERRORS[name]
    status = row["status"]
    assert isinstance(status, int)
    found = find_overflow(str(row["message"]), as_object(row.get("error")), status)
    assert found is not None
    assert found.limit_tokens == row.get("limit_tokens")
    assert found.request_tokens == row.get("request_tokens")


@pytest.mark.parametrize("name", ERRORS)
def test_an_overflow_is_recognized_in_a_stream(name: str) -> None:
    row = ERRORS[name]
    if row["status"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        pytest.skip("only the status says so")
    assert find_overflow(str(row["message"]), as_object(row.get("error"))) is not None


@pytest.mark.parametrize("name", OTHERS)
def test_another_error_that_names_limits_is_no_overflow(name: str) -> None:
    message, error, status = OTHERS[name]
    assert find_overflow(message, error, status) is None
