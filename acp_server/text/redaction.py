"""Redaction of text that leaves this machine: keys, tokens, passwords, home directory paths.

Finds secrets by their shape and by the name before them. When in doubt it removes too much. Every
pattern takes time linear in the length of the text.
"""

import re
from dataclasses import dataclass
from pathlib import Path

REDACTED = "(hidden)"
MIN_SECRET_CHARACTERS = 6
"""Minimum length of a known secret to search for; shorter ones match by chance."""

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]|-(?!----END ))*(?:-----END [A-Z0-9 ]{0,60}-----)?"
)
_TOKEN_PATTERNS = (
    r"sk-[\w-]{8,}",  # Anthropic, OpenAI and many like them
    r"(?:sk|pk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{10,}",  # Stripe
    r"gh[pousr]_\w{16,}|github_pat_\w{16,}",
    r"gl(?:pat|ptt|dt|rt|cbt|soat|imt|agent|ft)-[\w-]{16,}",
    r"xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}",
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}",
    r"AIza[\w-]{30,}|ya29\.[\w-]{10,}|GOCSPX-[\w-]{10,}",
    r"npm_\w{20,}|pypi-[\w-]{16,}|hf_\w{16,}|nvapi-[\w-]{16,}|gsk_\w{16,}|xai-\w{16,}|r8_\w{16,}",
    r"SG\.[\w-]{10,}\.[\w-]{10,}|key-[0-9a-f]{32}|dop_v1_[0-9a-f]{20,}|dckr_pat_[\w-]{16,}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}|lin_api_\w{16,}|ntn_\w{16,}|sntrys_[\w+/=-]{16,}",
    r"\d{8,10}:AA[\w-]{30,}",  # Telegram
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}",  # JSON web tokens
)
_TOKEN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_TOKEN_PATTERNS)})")
_WEBHOOK_URL = re.compile(
    r"(?P<kept>https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks"
    r"|api\.telegram\.org/bot)/?)[^\s\"'<>]+"
)
_URL_USERINFO = re.compile(r"(?P<kept>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/@\"'<>]{1,300}@")
_AUTH_SCHEME = re.compile(
    r"(?P<kept>\b(?:Bearer|Basic|Digest|Negotiate)\s+)(?=[^\s\"']*[\d=+/._-]|[^\s\"']{20})"
    r"[^\s\"',;]{6,}",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?P<kept>\b(?:(?:proxy-)?authorization|(?:set-)?cookie)\\*[\"']?\s{0,8}[:=]\s{0,8}\\*[\"']?)"
    r"[^\r\n\"'\\]+",
    re.IGNORECASE,
)
_QUERY_PARAMETER = re.compile(
    r"(?P<kept>[?&#](?:[\w.-]{0,40}[_.-])?"
    r"(?:key|api_?key|apikey|token|secret|sig|signature|password|pwd|auth|code|credential)=)"
    r"[^\s&#\"'<>]+",
    re.IGNORECASE,
)
_NAME = (
    r"(?:[\w.-]{0,60}[_.-])?(?:api_?-?key|(?<=[_.-])key|token|secret|password|passwd|passphrase"
    r"|passcode|pwd|pat|credentials?|auth)(?:[_.-](?:id|value|base64|b64|\d{1,3}))?"
)
_CAMEL = r"[A-Za-z][A-Za-z0-9]{0,40}(?:Key|Token|Secret|Password|Passphrase|Credentials?)"
_VALUE = (
    r"(?:\\+[\"'][^\"'\r\n]*[\"']?"  # quoted within a quoted text
    r"|\"(?:[^\"\\\r\n]|\\.)*\"?|'(?:[^'\\\r\n]|\\.)*'?|[^\s\"',;&}\]]+)"
)
_NOT_EMPTY = r"(?!\(hidden\)|(?:None|null|true|false|unset)\b|\"\"|'')"
_ASSIGNMENT = re.compile(
    rf"(?P<kept>(?<![A-Za-z0-9])(?:(?i:{_NAME})|{_CAMEL})\\*[\"']?\s{{0,8}}(?::=|=>|[:=])\s{{0,8}})"
    rf"{_NOT_EMPTY}{_VALUE}"
)
_FLAG = re.compile(rf"(?P<kept>(?<!\S)--?{_NAME}\s{{1,8}})(?!-){_NOT_EMPTY}{_VALUE}", re.IGNORECASE)
_OTHER_HOMES = re.compile(
    r"(?P<kept>(?:/home/|/Users/|[A-Za-z]:\\{1,4}Users\\{1,4}))[^/\\\s\"':;,]+"
)
_NAMED_PATTERNS = (_HEADER, _AUTH_SCHEME, _WEBHOOK_URL, _QUERY_PARAMETER)
_ASSIGNMENT_PATTERNS = (_FLAG, _ASSIGNMENT)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes secrets and home directories from texts."""

    secrets: tuple[str, ...] = ()
    """Known secret values, removed wherever they occur."""
    home_directories: tuple[Path, ...] = ()
    """Directories that are replaced by `~`."""

    def redact(self, text: str) -> str:
        """Return a text without known secrets, secret-looking values and home directories."""
        # Longest first: a secret may contain another one.
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= MIN_SECRET_CHARACTERS:
                text = text.replace(secret, REDACTED)
        text = redact_secrets(text)
        for home in self.home_directories:
            text = _redact_home(text, home)
        return _OTHER_HOMES.sub(r"\g<kept>(user)", text)


def redact_secrets(text: str) -> str:
    """Return a text without values that look like secrets."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    for pattern in _NAMED_PATTERNS:
        text = pattern.sub(rf"\g<kept>{REDACTED}", text)
    text = _URL_USERINFO.sub(rf"\g<kept>{REDACTED}@", text)
    text = _TOKEN.sub(REDACTED, text)
    for pattern in _ASSIGNMENT_PATTERNS:
        text = pattern.sub(rf"\g<kept>{REDACTED}", text)
    return text


def redact_tokens(text: str) -> str:
    """Return a text without values whose own form is that of a secret, whatever is before them."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = _WEBHOOK_URL.sub(rf"\g<kept>{REDACTED}", text)
    text = _URL_USERINFO.sub(rf"\g<kept>{REDACTED}@", text)
    return _TOKEN.sub(REDACTED, text)


def _redact_home(text: str, home: Path) -> str:
    path = str(home)
    if home == Path(home.anchor):  # a service account's home may be `/`, which is in every path
        return text
    return re.sub(rf"(?<![\w.-]){re.escape(path)}(?![\w.-])", "~", text)
