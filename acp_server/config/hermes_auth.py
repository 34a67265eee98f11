"""Tokens and keys that Hermes keeps in its auth.json: read, never written, never refreshed.

Hermes keeps the token of a sign-in below `providers.NAME`, and pools of keys and tokens, in the
order of their priority, below `credential_pool.NAME`. The file of a profile is completed by that of
the home that the profile belongs to.
"""

import json
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from acp_server.config.credentials import Credential
from acp_server.startup.fast_dataclass import frozen_dataclass

AUTH_FILE = "auth.json"
MARGIN_SECONDS = 60.0
"""A token that expires within this time counts as expired."""
ANTHROPIC_TOKEN_PREFIX = "sk-ant-oat"  # noqa: S105  how a secret begins, not a secret
ANTHROPIC_TOKEN_HEADERS = (("anthropic-beta", "oauth-2025-04-20"),)
"""Without this header the Messages API refuses tokens of a sign-in."""
EXHAUSTED_SECONDS = 3_600.0
"""How long Hermes leaves an exhausted key alone if its provider names no time."""
MAX_BYTES = 1_000_000
_Object = Mapping[str, object]
_CODEX_CLAIM = "https://api.openai.com/auth"
_MILLISECONDS = 1_000_000_000_000
"""A time stamp above this is in milliseconds."""


@frozen_dataclass
class HermesCredentials:
    """What Hermes has for a provider at one moment."""

    valid: tuple[Credential, ...] = ()
    """Usable credentials, best first."""
    has_expired: bool = False
    """Whether there is a credential that is not usable any more."""


@frozen_dataclass
class HermesAuth:
    """The credentials of one provider in the auth.json of a home."""

    home: Path
    names: tuple[str, ...]
    """Names of the provider in that file."""
    now: Callable[[], float] = time.time

    def read(self) -> HermesCredentials:
        """Return the credentials. Blocks: reads files. Never raises."""
        for file in _auth_files(self.home):
            document = _read_document(file)
            found = HermesCredentials()
            for name in self.names:
                entries = [*_sign_ins(document, name), *_pool(document, name)]
                usable = [each for each in entries if self._is_usable(each)]
                found = HermesCredentials(
                    (*found.valid, *(_credential(each, file) for each in usable)),
                    found.has_expired or len(usable) < len(entries),
                )
            if found.valid or found.has_expired:
                return HermesCredentials(tuple(dict.fromkeys(found.valid)), found.has_expired)
        return HermesCredentials()

    def _is_usable(self, entry: _Object) -> bool:
        now = self.now()
        expires = _expiry(entry)
        if entry.get("last_status") == "dead" or (expires and expires <= now + MARGIN_SECONDS):
            return False
        if entry.get("last_status") != "exhausted":
            return True
        again = _timestamp(entry.get("last_error_reset_at"))
        failed = _timestamp(entry.get("last_status_at"))
        return (again or (failed or 0.0) + EXHAUSTED_SECONDS) <= now


def token_claims(token: str) -> _Object:
    """Return what a JSON Web Token says of itself, unchecked; nothing if it is none."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004  header, claims, signature
        return {}
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        return _as_object(json.loads(urlsafe_b64decode(padded)))
    except (ValueError, RecursionError):
        return {}


def anthropic_credential(source: str, secret: str) -> Credential:
    """Return the credential for a key or a token of a sign-in at Anthropic."""
    if secret.startswith(ANTHROPIC_TOKEN_PREFIX):
        return Credential(source, auth_token=secret, headers=ANTHROPIC_TOKEN_HEADERS)
    return Credential(source, api_key=secret)


def _auth_files(home: Path) -> Iterator[Path]:
    yield home / AUTH_FILE
    if home.parent.name == "profiles":
        yield home.parent.parent / AUTH_FILE


def _read_document(file: Path) -> _Object:
    try:
        if file.stat().st_size > MAX_BYTES:
            return {}
        return _as_object(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _sign_ins(document: _Object, name: str) -> Iterator[_Object]:
    """Yield the entry of a sign-in, with its token as `access_token`."""
    state = _as_object(_as_object(document.get("providers")).get(name))
    tokens = _as_object(state.get("tokens"))
    if token := tokens.get("access_token") or state.get("access_token"):
        yield {**state, **tokens, "access_token": token, "auth_type": "oauth"}


def _pool(document: _Object, name: str) -> Sequence[_Object]:
    """Return the entries of a pool that have a secret, in order of their priority."""
    pool = _as_object(document.get("credential_pool")).get(name)
    if not isinstance(pool, list):
        return ()
    entries = [_as_object(each) for each in cast("list[object]", pool)]
    # A key of an environment variable is not stored: it is found where it is.
    usable = [each for each in entries if _secret(each)]
    return sorted(usable, key=lambda each: _timestamp(each.get("priority")) or 0.0)


def _secret(entry: _Object) -> str:
    value = entry.get("access_token")
    return value.strip() if isinstance(value, str) else ""


def _credential(entry: _Object, file: Path) -> Credential:
    secret, label = _secret(entry), entry.get("label")
    source = f"{file} ({label})" if isinstance(label, str) and label else str(file)
    if secret.startswith(ANTHROPIC_TOKEN_PREFIX):
        return anthropic_credential(source, secret)
    account = _as_object(token_claims(secret).get(_CODEX_CLAIM)).get("chatgpt_account_id")
    headers = (("ChatGPT-Account-ID", account),) if isinstance(account, str) else ()
    return Credential(source, api_key=secret, headers=headers)


def _expiry(entry: _Object) -> float | None:
    """Return when a token expires, in seconds since the epoch; None if nothing says so."""
    claimed = _timestamp(token_claims(_secret(entry)).get("exp"))
    return claimed or _timestamp(entry.get("expires_at_ms")) or _timestamp(entry.get("expires_at"))


def _timestamp(value: object) -> float | None:
    """Return a time in seconds since the epoch: a number, or an ISO 8601 text."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / 1000 if value > _MILLISECONDS else float(value)


def _as_object(value: object) -> _Object:
    return cast("_Object", value) if isinstance(value, dict) else {}
