"""What holds: the configured key, else the stored one, and neither after a logout."""

from pathlib import Path

import pytest

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore
from acp_server.server.config_mapping import configured_credential
from tests.support.editor import make_configuration

CONFIGURED = Credential("environment", api_key="sk-configured")


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path, use_keyring=False)


async def test_a_configured_key_takes_precedence_over_a_stored_one(store: KeyStore) -> None:
    store.save("sk-stored")
    assert await CredentialProvider(CONFIGURED, store).current() is CONFIGURED


async def test_a_key_that_another_process_stores_is_found_without_a_restart(
    store: KeyStore, tmp_path: Path
) -> None:
    credentials = CredentialProvider(None, store)
    assert await credentials.current() is None
    assert not await credentials.sign_in()
    source = KeyStore(tmp_path, use_keyring=False).save("sk-stored")
    assert await credentials.current() == Credential(source, api_key="sk-stored")
    assert await credentials.sign_in()


async def test_a_logout_removes_the_stored_key_permanently(store: KeyStore) -> None:
    store.save("sk-stored")
    credentials = CredentialProvider(None, store)
    await credentials.sign_out()
    assert await credentials.current() is None
    assert store.load() is None
    assert not await credentials.sign_in()


async def test_after_a_logout_a_configured_key_is_ignored_until_the_next_login(
    store: KeyStore,
) -> None:
    credentials = CredentialProvider(CONFIGURED, store)
    await credentials.sign_out()
    assert await credentials.current() is None
    assert await credentials.sign_in()
    assert await credentials.current() is CONFIGURED


async def test_a_key_stored_after_a_logout_is_used_after_the_next_login(
    store: KeyStore,
) -> None:
    credentials = CredentialProvider(None, store)
    await credentials.sign_out()
    source = store.save("sk-new")
    assert await credentials.current() is None
    assert await credentials.sign_in()
    assert await credentials.current() == Credential(source, api_key="sk-new")


@pytest.mark.parametrize(
    ("variables", "credential"),
    [
        ({}, None),
        ({"ANTHROPIC_API_KEY": "k"}, Credential("environment", api_key="k")),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, Credential("environment", auth_token="t")),  # noqa: S106
        (
            {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"},
            Credential("environment", api_key="k"),
        ),
    ],
)
def test_the_configuration_provides_either_a_key_or_a_token(
    tmp_path: Path, variables: dict[str, str], credential: Credential | None
) -> None:
    assert configured_credential(make_configuration(tmp_path, environment=variables)) == credential
