"""What is taken out of a text that leaves the machine, and what stays."""

import time
from pathlib import Path

import pytest

from acp_server.models.model_facts import ModelFacts
from acp_server.models.provider_adapter import ProviderAdapter
from acp_server.models.provider_profiles import PROFILES, ProviderProfile
from acp_server.text.redaction import REDACTED, Redactor, redact_secrets
from tests.support.case_table import each_case

LONG = "0123456789abcdefghijklmnopqrstuvwxyzAB"
"""What tokens are made of; joined to its prefixes here, so that no scanner takes fright."""
PRIVATE_KEY = "\n".join(
    ["-----BEGIN OPENSSH PRIVATE " + "KEY-----", LONG, LONG, "-----END OPENSSH PRIVATE KEY-----"]
)

SHAPES = {
    "anthropic": "sk-ant-api03-" + LONG,
    "openai": "sk-proj-" + LONG,
    "stripe": "sk_" + "live_" + LONG[:24],
    "stripe webhook": "whsec_" + LONG,
    "github classic": "ghp_" + LONG[:36],
    "github server": "ghs_" + LONG[:36],
    "github fine": "github_pat_" + LONG,
    "gitlab": "glpat-" + LONG[:20],
    "slack bot": "xoxb-" + "123456789012-" + LONG[:24],
    "slack app": "xapp-" + "1-A0-" + LONG,
    "aws id": "AKIA" + "IOSFODNN7EXAMPLE",
    "google key": "AIza" + LONG[:35],
    "google token": "ya29." + LONG,
    "npm": "npm_" + LONG[:36],
    "pypi": "pypi-" + LONG,
    "hugging face": "hf_" + LONG[:34],
    "sendgrid": "SG." + LONG[:22] + "." + LONG,
    "digital ocean": "dop_v1_" + "0123456789abcdef" * 4,
    "docker": "dckr_pat_" + LONG[:27],
    "shopify": "shpat_" + "0123456789abcdef" * 2,
    "groq": "gsk_" + LONG,
    "telegram": "123456789:AA" + LONG[:33],
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + LONG,
    "private key": PRIVATE_KEY,
}


@each_case("name", SHAPES)
@each_case("around", ["it was {}", "({}) is", "'{}'", "x={}", "{}, and more", "a\n{}\nb"])
def test_a_secret_of_a_known_format_is_redacted_anywhere(name: str, around: str) -> None:
    secret = SHAPES[name]
    text = redact_secrets(around.format(secret))
    assert text == around.format(REDACTED)


PLACES = {
    "variable": ("ANTHROPIC_API_KEY=abc rest", f"ANTHROPIC_API_KEY={REDACTED} rest"),
    "exported": ("export DB_PASSWORD='a b c' # x", f"export DB_PASSWORD={REDACTED} # x"),
    "aws": ("AWS_SECRET_ACCESS_KEY = wJal/rX+U", f"AWS_SECRET_ACCESS_KEY = {REDACTED}"),
    "json": ('{"auth_token": "abc"}', f'{{"auth_token": {REDACTED}}}'),
    "json with a quote": (r'{"secret": "a\"b", "n": 1}', f'{{"secret": {REDACTED}, "n": 1}}'),
    "json in json": (r'"{\"apiKey\": \"abc\"}"', rf'"{{\"apiKey\": {REDACTED}}}"'),
    "python": ("{'api_key': 'abc', 'a': 1}", f"{{'api_key': {REDACTED}, 'a': 1}}"),
    "camel": ('clientSecret: "abc"', f"clientSecret: {REDACTED}"),
    "yaml": ("  github_token: abc", f"  github_token: {REDACTED}"),
    "toml": ('password = "hunter2"', f"password = {REDACTED}"),
    "digits": ("password: 123456", f"password: {REDACTED}"),
    "open quote": ('token="abc def', f"token={REDACTED}"),
    "flag": ("run --token abc --fast", f"run --token {REDACTED} --fast"),
    "flag with equals": ("run --api-key=abc x", f"run --api-key={REDACTED} x"),
    "bearer": ("Authorization: Bearer abc.def", f"Authorization: {REDACTED}"),
    "bearer alone": ("sent Bearer a1b2c3d4e5 to", f"sent Bearer {REDACTED} to"),
    "header in json": ('"authorization": "Basic dXNlcjpwdw=="', f'"authorization": "{REDACTED}"'),
    "key header": ("x-api-key: abc", f"x-api-key: {REDACTED}"),
    "cookie": ("Cookie: a=b; c=d\nHost: x", f"Cookie: {REDACTED}\nHost: x"),
    "address": ("https://me:pw@host/x", f"https://{REDACTED}@host/x"),
    "database": ("postgres://u:p%40@db:5432/x", f"postgres://{REDACTED}@db:5432/x"),
    "token in address": ("git+https://tok@host", f"git+https://{REDACTED}@host"),
    "query": ("GET /a?key=abc&n=1", f"GET /a?key={REDACTED}&n=1"),
    "signature": ("/b?X-Amz-Signature=abc&x=1", f"/b?X-Amz-Signature={REDACTED}&x=1"),
    "slack hook": (
        "https://hooks.slack.com/services/T0/B0/x",
        f"https://hooks.slack.com/services/{REDACTED}",
    ),
    "azure": ("AccountName=a;AccountKey=abc==;E=c", f"AccountName=a;AccountKey={REDACTED};E=c"),
}


@each_case("name", PLACES)
def test_the_value_after_a_secret_name_is_redacted(name: str) -> None:
    text, expected = PLACES[name]
    assert redact_secrets(text) == expected


@each_case("name", PLACES)
def test_redaction_is_idempotent(name: str) -> None:
    text = redact_secrets(PLACES[name][0])
    assert redact_secrets(text) == text


@each_case(
    "text",
    [
        "a monkey ate 3 tokens",
        "monkey: banana, turkey=3",
        "input_tokens: 4096, max_tokens=100",
        "keyboard: qwerty",
        "KeyError: 'name'",
        "the task-force met at https://example.com/a/b?page=2",
        "api_key=None token: null",
        "2026-01-01 12:00:00,123 WARNING acp_server.server.app: configuration: no home",
        "risk-averse desk-bound-workers",
        "mail me@example.com:25",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "basic research and bearer of news",
        "/usr/lib/python3.11/site-packages",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert Redactor().redact(text) == text


def test_a_known_secret_is_redacted_anywhere() -> None:
    redactor = Redactor(secrets=("hunter2", "hunter22", "abc"))
    text = "xhunter22y and hunter2; abc is too short to be looked for"
    expected = f"x{REDACTED}y and {REDACTED}; abc is too short to be looked for"
    assert redactor.redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/code", "~/code"),
        ("in '/home/ann'.", "in '~'."),
        ("file:///home/ann/x", "file://~/x"),
        ("/home/anna/x", "/home/(user)/x"),
        ("/Users/bob/x", "/Users/(user)/x"),
        (r"C:\Users\bob\x", r"C:\Users\(user)\x"),
        ("/data/home/ann", "/data/home/(user)"),
    ],
)
def test_home_directories_are_redacted(text: str, expected: str) -> None:
    assert Redactor(home_directories=(Path("/home/ann"),)).redact(text) == expected


def test_a_root_home_directory_is_not_redacted() -> None:
    assert Redactor(home_directories=(Path("/"),)).redact("/etc/hosts") == "/etc/hosts"


@each_case(
    "text",
    [
        "a" * 100_000,
        "a_" * 50_000,
        "token" * 20_000,
        "key-" * 25_000,
        "https://" + "a" * 100_000,
        "-----BEGIN PRIVATE KEY-----" * 4_000,
        '"' * 100_000,
        "eyJ" * 30_000,
        "secret: \\" * 12_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_long_line_of_any_kind_is_redacted_quickly(text: str) -> None:
    began = time.process_time()
    redact_secrets(text)
    assert time.process_time() - began < 3


@each_case("profile", PROFILES, ids=[profile.name for profile in PROFILES])
def test_the_message_about_a_missing_key_keeps_its_remedy(profile: ProviderProfile) -> None:
    adapter = ProviderAdapter(profile, ModelFacts(lambda _: None), needs_key=True)
    message = adapter.sign_in_message
    assert redact_secrets(message) == message
