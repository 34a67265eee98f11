"""Sanitizing of model, tool and server output for terminals, logs and machines.

Removes secrets and terminal escapes. Streamed text is collected and sanitized as a whole: a secret
that is split across two chunks would not be found in either.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from acp_server.text.json_values import map_strings
from acp_server.text.redaction import MIN_SECRET_CHARACTERS, REDACTED, redact_secrets
from acp_server.text.surrogates import repair_surrogates

MIN_SECRET_LINE_CHARACTERS = 16
"""Minimum length of one line of a multi-line secret; shorter lines match by chance."""
_PEM_BOUNDARY = "-----"
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)(?:$|_)",
    re.IGNORECASE,
)
_HARMLESS_VALUE = re.compile(r"(?:true|false|yes|no|none|null|\d{1,5}|/[\w./-]*)", re.IGNORECASE)
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def collect_secrets(environment: Mapping[str, str], known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the secrets in an environment, recognized by variable name, and the known ones.

    >>> collect_secrets({"GITHUB_TOKEN": "abcdefgh", "HOME": "/home/me", "USE_TOKEN": "true"})
    ('abcdefgh',)
    """
    found = (
        piece
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and not _HARMLESS_VALUE.fullmatch(value)
        for piece in _searchable_parts(value.strip())
    )
    return tuple(
        dict.fromkeys(each for each in (*known, *found) if len(each) >= MIN_SECRET_CHARACTERS)
    )


def secret_names(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the variables of an environment whose names mark them as secret."""
    return frozenset(
        name
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and not _HARMLESS_VALUE.fullmatch(value)
    )


def _searchable_parts(secret: str) -> Iterator[str]:
    """Yield a secret and, of a multi-line one such as a private key, its long lines."""
    yield secret
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        yield from (
            line
            for line in lines
            if len(line) >= MIN_SECRET_LINE_CHARACTERS and not line.startswith(_PEM_BOUNDARY)
        )


@dataclass(frozen=True, slots=True)
class OutputSanitizer:
    """Removes secrets and terminal escapes from texts."""

    secrets: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Return a text without secrets and without lone surrogates."""
        text = repair_surrogates(text)
        # Longest first: a secret may contain another one.
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return redact_secrets(text)

    def plain(self, text: str) -> str:
        """Return a text for a terminal or a log: no secrets, escapes or control characters."""
        return _CONTROLS.sub("", strip_escapes(self.text(text).replace("\r\n", "\n")))

    def line(self, text: str) -> str:
        """Return the same as `plain`, on one line."""
        return " ".join(self.plain(text).split())

    def json(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with all its strings and keys sanitized."""
        return map_strings(value, self.text)

    def partial_json(self, value: JsonValue) -> JsonValue:
        """Return the same for growing strings, which may end in the middle of a secret."""
        return map_strings(value, self._partial_text)

    def patch(self, patch: bytes) -> bytes:
        """Return a patch without known secrets in its added lines; it still applies."""
        secrets = [secret.encode() for secret in self.secrets]
        lines = patch.split(b"\n")
        return b"\n".join(_redact_added_line(line, secrets) for line in lines) if secrets else patch

    def _partial_text(self, text: str) -> str:
        """Return a text without secrets, nor the beginning of one at its end."""
        text = self.text(text)
        for secret in self.secrets:
            for length in range(min(len(secret), len(text)), MIN_SECRET_CHARACTERS - 1, -1):
                if text.endswith(secret[:length]):
                    return text[:-length] + REDACTED
        return text


def strip_escapes(text: str) -> str:
    r"""Return a text without terminal escapes: colours, cursor movements, titles, links.

    >>> strip_escapes("\x1b[31mred\x1b[0m \x1b]8;;http://a.b\x07link\x1b]8;;\x07")
    'red link'
    """
    return _ESCAPES.sub("", text)


def _redact_added_line(line: bytes, secrets: Sequence[bytes]) -> bytes:
    """Redact an added line; removed and context lines must match the repository."""
    if line.startswith(b"+"):
        for secret in secrets:
            line = line.replace(secret, REDACTED.encode())
    return line
