"""Tokens and pools of keys in the auth.json of Hermes, which is read and never written."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from acp_server.config.hermes_auth import HermesAuth
from tests.support.case_table import each_case

NOW = 1_000_000.0


def token(**claims: JsonValue) -> str:
    """Return a JSON Web Token without a valid signature."""
    body = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


def read(home: Path, name: str, document: JsonValue) -> tuple[list[str | None], bool]:
    """Return the secrets of a provider, and whether one has expired."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "auth.json"
    file.write_text(json.dumps(document))
    before = file.read_bytes()
    found = HermesAuth(home, (name,), now=lambda: NOW).read()
    assert file.read_bytes() == before
    return [each.api_key or each.auth_token for each in found.valid], found.has_expired


VALID, EXPIRED = token(exp=NOW + 3_600), token(exp=NOW - 1)
LATER = datetime.fromtimestamp(NOW + 3_600, UTC).isoformat().replace("+00:00", "Z")
EARLIER = datetime.fromtimestamp(NOW - 3_600, UTC).isoformat()
STATES: dict[str, tuple[JsonValue, list[str | None], bool]] = {
    "a token with a valid claim": ({"access_token": VALID}, [VALID], False),
    "a token whose claim has passed": ({"access_token": EXPIRED}, [], True),
    "tokens below their own key": ({"tokens": {"access_token": VALID}}, [VALID], False),
    "an opaque token": ({"access_token": "t", "expires_at": LATER}, ["t"], False),
    "an opaque token that expired": ({"access_token": "t", "expires_at": EARLIER}, [], True),
    "milliseconds": ({"access_token": "t", "expires_at_ms": 2e12}, ["t"], False),
    "no token": ({"refresh_token": "r"}, [], False),
    "no object": ("text", [], False),
}


@each_case("name", STATES)
def test_a_token_is_used_while_it_is_valid(tmp_path: Path, name: str) -> None:
    state, secrets, has_expired = STATES[name]
    assert read(tmp_path, "nous", {"providers": {"nous": state}}) == (secrets, has_expired)


def test_a_pool_is_read_by_priority_without_what_is_exhausted(tmp_path: Path) -> None:
    pool: JsonValue = [
        {"access_token": "second", "priority": 1},
        {"access_token": "first", "priority": 0},
        {"source": "env:X_API_KEY", "priority": 2},
        {"access_token": "dead", "priority": 3, "last_status": "dead"},
        {"access_token": "later", "last_status": "exhausted", "last_error_reset_at": NOW + 60},
        {"access_token": "just", "last_status": "exhausted", "last_status_at": NOW - 60},
        {
            "access_token": EXPIRED,
            "last_status": "exhausted",
            "last_status_at": 1.0,
            "last_error_reset_at": None,
        },
        {
            "access_token": "again",
            "priority": 4,
            "last_status": "exhausted",
            "last_error_reset_at": NOW - 60,
        },
    ]
    assert read(tmp_path, "zai", {"credential_pool": {"zai": pool}}) == (
        ["first", "second", "again"],
        True,
    )


def test_a_profile_falls_back_to_the_home_that_it_belongs_to(tmp_path: Path) -> None:
    read(tmp_path, "nous", {"providers": {"nous": {"access_token": VALID}}})
    profile = tmp_path / "profiles" / "work"
    assert read(profile, "nous", {"providers": {}}) == ([VALID], False)


def test_a_token_of_claude_is_a_bearer_token_with_its_header(tmp_path: Path) -> None:
    pool: JsonValue = [{"access_token": "sk-ant-oat01-x", "auth_type": "oauth"}]
    (tmp_path / "auth.json").write_text(json.dumps({"credential_pool": {"anthropic": pool}}))
    (found,) = HermesAuth(tmp_path, ("anthropic",)).read().valid
    assert (found.auth_token, found.api_key) == ("sk-ant-oat01-x", None)
    assert found.headers[0][0] == "anthropic-beta"


def test_a_token_of_codex_names_its_account(tmp_path: Path) -> None:
    claims: dict[str, JsonValue] = {"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}}
    value = token(**claims)
    document: JsonValue = {"providers": {"openai-codex": {"tokens": {"access_token": value}}}}
    (tmp_path / "auth.json").write_text(json.dumps(document))
    (found,) = HermesAuth(tmp_path, ("openai-codex",)).read().valid
    assert found.headers == (("ChatGPT-Account-ID", "acc"),)


@each_case("text", ["", "{", "[]", "[" * 100_000, '{"providers": 1, "credential_pool": []}'])
def test_a_broken_file_holds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "auth.json").write_text(text)
    found = HermesAuth(tmp_path, ("nous",)).read()
    assert not found.valid
    assert not found.has_expired
