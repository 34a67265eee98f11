"""`acp-server setup`, as a user runs it."""

import json
import os
from pathlib import Path

import pytest
import yaml

from acp_server.config.credentials import DEFAULT_ACCOUNT, account_name
from tests.cli.command_line import CliResult, run
from tests.cli.test_demo_on_a_terminal import on_a_terminal, read_until
from tests.support.messages_api import KEY, messages_api_in_thread
from tests.support.user_texts import STORED_KEY_IN

OTHER_KEY = "sk-other-0815"
UNREACHABLE_URL = "http://127.0.0.1:9"
"""Refuses connections."""


def file_of(home: Path) -> Path:
    return home / "acp" / "credentials.json"


def stored(home: Path) -> object:
    return json.loads(file_of(home).read_text())


def store(home: Path, *options: str, stdin: str) -> CliResult:
    """Store a key without trying it."""
    return run(home, "setup", "--force", *options, stdin=stdin)


def stored_in(home: Path, host: str = "") -> CliResult:
    key = STORED_KEY_IN.replace("key", f"key for {host}") if host else STORED_KEY_IN
    return CliResult(0, "", f"{key} {file_of(home)}. New prompts use it at once.\n")


def account_at(url: str) -> str:
    return account_name("anthropic", url.removeprefix("http://"))


@pytest.mark.parametrize("given", [f"{KEY}\n", KEY, f"  {KEY} \r\nmore\n"])
@pytest.mark.parametrize("options", [[], ["--no-keyring"], ["--file"]])
def test_a_key_from_stdin_is_stored_and_not_echoed(
    tmp_path: Path, given: str, options: list[str]
) -> None:
    assert store(tmp_path, *options, stdin=given) == stored_in(tmp_path)
    assert stored(tmp_path) == {DEFAULT_ACCOUNT: KEY}
    assert file_of(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", ["n", "Yes", "sk-1", "two words", "sk-ключ-0815"])
def test_what_cannot_be_a_key_is_not_stored(tmp_path: Path, given: str) -> None:
    outcome = store(tmp_path, stdin=f"{given}\n")
    assert outcome.exit_code == 1
    assert "not an API key" in outcome.stderr
    assert outcome.stderr.endswith("Nothing was stored.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_the_endpoint_refuses_is_stored_only_by_force(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        address = {"ANTHROPIC_BASE_URL": api.url}
        refused = run(tmp_path, "setup", stdin=OTHER_KEY, **address)
        nothing_stored = not file_of(tmp_path).exists()
        accepted = run(tmp_path, "setup", stdin=KEY, **address)
        forced = run(tmp_path, "setup", "--force", stdin=OTHER_KEY, **address)
    assert (refused.exit_code, nothing_stored) == (1, True)
    assert f"{address['ANTHROPIC_BASE_URL']} refuses this key (HTTP status 401)" in refused.stderr
    assert accepted == stored_in(tmp_path, api.url.removeprefix("http://"))
    assert (forced.exit_code, stored(tmp_path)) == (0, {account_at(api.url): OTHER_KEY})


def test_a_key_that_could_not_be_tried_is_stored_and_that_is_said(tmp_path: Path) -> None:
    outcome = run(tmp_path, "setup", stdin=KEY, ANTHROPIC_BASE_URL=UNREACHABLE_URL)
    assert outcome.exit_code == 0
    assert f"It was not tried: {UNREACHABLE_URL} does not answer" in outcome.stderr
    assert stored(tmp_path) == {account_at(UNREACHABLE_URL): KEY}


def test_a_key_is_not_sent_to_an_address_that_is_set_later(tmp_path: Path) -> None:
    """Also a key of an older version, whose account has no address, is the provider's own."""
    store(tmp_path, stdin=KEY)
    with messages_api_in_thread([]) as api:
        host = api.url.removeprefix("http://")
        set_later = run(tmp_path, "config", "set", "anthropic.base_url", api.url)
        doctor = run(tmp_path, "doctor", "--json")
        prompted = run(tmp_path, "run", "hello", "--cwd", str(tmp_path))
        keys = {request.headers.get("x-api-key") for request in api.requests}
        at_it = store(tmp_path, stdin=OTHER_KEY)
    assert set_later.exit_code == 0
    reason = f"the stored key is for api.anthropic.com and is not sent to {host}"
    assert reason in doctor.stdout
    assert reason in prompted.stderr
    assert keys == {None}
    assert at_it == stored_in(tmp_path, host)
    assert stored(tmp_path) == {DEFAULT_ACCOUNT: KEY, account_at(api.url): OTHER_KEY}


def test_a_key_that_another_one_hides_is_stored_and_that_is_said(tmp_path: Path) -> None:
    outcome = run(tmp_path, "setup", "--force", stdin=KEY, ANTHROPIC_API_KEY=OTHER_KEY)
    assert "The key from environment is used before it" in outcome.stderr


def test_a_custom_endpoint_gets_an_address_an_api_and_a_key_of_its_own(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        form = ("--base-url", f"{api.url}/v1", "--api-mode", "anthropic_messages")
        outcome = run(tmp_path, "setup", "--provider", "custom", "--use", *form, stdin=KEY)
        models = run(tmp_path, "models")
        rotated = run(tmp_path, "setup", "--provider", "custom", "--force", stdin=OTHER_KEY)
        account = f"custom-api-key {api.url.removeprefix('http://')}"
        url = api.url
    written = file_of(tmp_path).with_name("config.yaml")
    assert yaml.safe_load(written.read_text())["model"] == {
        "provider": "custom",
        "base_url": url,
        "api_mode": "anthropic_messages",
    }
    host = url.removeprefix("http://")
    assert f"Stored the key for {host} in {file_of(tmp_path)}." in outcome.stderr
    assert f"New sessions use {url}, as set in {written}." in outcome.stderr
    assert (models.exit_code, models.stdout.splitlines()[0]) == (0, f"custom ({url})")
    assert (rotated.exit_code, stored(tmp_path)) == (0, {account: OTHER_KEY})
    # The next provider does not inherit the address.
    run(tmp_path, "setup", "--provider", "deepseek", "--use", "--force", stdin=KEY)
    assert yaml.safe_load(written.read_text())["model"] == {"provider": "deepseek"}


def test_in_a_terminal_a_custom_endpoint_is_asked_for_until_the_answers_make_sense(
    tmp_path: Path,
) -> None:
    options = ("--provider", "custom", "--use", "--force")
    terminal, process = on_a_terminal(tmp_path, "setup", *options)
    for question, answer in (
        (b"base URL): ", "nope"),
        (b"base URL): ", UNREACHABLE_URL),
        (b"[chat_completions]: ", "anthropic_messages"),
        (b"127.0.0.1:9: ", "yes"),
        (b"127.0.0.1:9: ", KEY),
    ):
        assert question in read_until(terminal, question)
        os.write(terminal, f"{answer}\n".encode())
    assert b"New sessions use" in read_until(terminal, b"New sessions use")
    os.close(terminal)
    assert process.wait() == 0
    assert stored(tmp_path) == {"custom-api-key 127.0.0.1:9": KEY}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--provider", "custom"], "needs --use"),
        (["--provider", "custom", "--use"], "add --base-url URL"),
        (["--provider", "custom", "--use", "--base-url", "nope"], "is not an address"),
        (["--base-url", "http://127.0.0.1:1"], "only be used with --provider custom"),
    ],
    ids=["not used", "no address", "no URL", "no provider"],
)
def test_what_a_custom_endpoint_needs_is_named(
    tmp_path: Path, options: list[str], message: str
) -> None:
    outcome = run(tmp_path, "setup", *options, stdin=KEY)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["", "\n", "  \n"])
def test_empty_stdin_stores_nothing_and_exits_with_1(tmp_path: Path, given: str) -> None:
    assert run(tmp_path, "setup", stdin=given) == CliResult(
        1, "", "No key entered; nothing was stored.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--forget"], ["--forget", "--no-keyring"]])
def test_a_stored_key_can_be_deleted(tmp_path: Path, options: list[str]) -> None:
    store(tmp_path, stdin=KEY)
    none = "No key is stored for api.anthropic.com.\n"
    for said in ("Removed the stored key.\n", none):
        assert run(tmp_path, "setup", *options) == CliResult(0, "", said)
        assert not file_of(tmp_path).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--local", "--use"], "--local cannot be used with other options"),
        (["--local", "--provider", "openrouter"], "--local cannot be used with other options"),
        (["--local", "--forget"], "--local cannot be used with other options"),
        (["--forget", "--use"], "--use cannot be used with --forget"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    store(tmp_path, stdin=KEY)
    outcome = run(tmp_path, "setup", *options, stdin=OTHER_KEY)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert stored(tmp_path) == {DEFAULT_ACCOUNT: KEY}


def test_an_unwritable_home_is_named_and_exits_with_1(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    outcome = run(tmp_path, "setup", "--force", stdin=f"{KEY}\n", HERMES_HOME=str(home))
    problem = f"[Errno 20] Not a directory: {str(home / 'acp')!r}"
    assert outcome == CliResult(1, "", f"The key cannot be stored: {problem}\n")
    outcome = run(tmp_path, "setup", "--forget", HERMES_HOME=str(home))
    assert outcome == CliResult(0, "", "No key is stored for api.anthropic.com.\n")


def test_a_key_that_cannot_be_removed_is_named_and_exits_with_1(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    outcome = run(tmp_path, "setup", "--forget")
    problem = f"[Errno 21] Is a directory: {str(file_of(tmp_path))!r}"
    assert outcome == CliResult(1, "", f"The key cannot be removed: {problem}\n")


def test_the_report_does_not_contain_the_key(tmp_path: Path) -> None:
    address = {"ANTHROPIC_BASE_URL": UNREACHABLE_URL}
    run(tmp_path, "setup", "--force", stdin="sk-verysecret\n", **address)
    outcome = run(tmp_path, "doctor", "--json", **address)
    assert "verysecret" not in outcome.stdout + outcome.stderr
    assert f"with the key from {file_of(tmp_path)}" in outcome.stdout
