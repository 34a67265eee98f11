"""The stored key: in the keyring where there is one, else in a file of the user's alone."""

import json
from pathlib import Path

import pytest
from keyring.backends import null

from acp_server.config.credentials import DEFAULT_ACCOUNT, KEYRING_SERVICE, Credential, KeyStore
from tests.credentials.keyrings import MemoryKeyring, use_keyring

KEYRING = "the system keyring"


def file_of(home: Path) -> Path:
    return home / "acp" / "credentials.json"


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def stored(home: Path, key: str) -> Credential:
    return Credential(str(file_of(home)), api_key=key)


def in_file(home: Path) -> KeyStore:
    return KeyStore(home, use_keyring=False)


def test_a_new_store_is_empty(tmp_path: Path) -> None:
    assert in_file(tmp_path).load() is None
    assert list(tmp_path.iterdir()) == []


def test_a_stored_key_is_found_again_with_its_location(tmp_path: Path) -> None:
    assert in_file(tmp_path).save("sk-1") == str(file_of(tmp_path))
    assert in_file(tmp_path).load() == stored(tmp_path, "sk-1")
    assert KeyStore(tmp_path).load() == stored(tmp_path, "sk-1")


def test_a_newer_key_replaces_an_older_one(tmp_path: Path) -> None:
    for key in ("sk-1", "sk-2"):
        in_file(tmp_path).save(key)
    assert in_file(tmp_path).load() == stored(tmp_path, "sk-2")


@pytest.mark.parametrize("home", ["", "missing", "missing/deeper"])
def test_the_file_and_its_directory_are_accessible_only_to_the_user(
    tmp_path: Path, home: str
) -> None:
    in_file(tmp_path / home).save("sk-1")
    file = file_of(tmp_path / home)
    modes = [path.stat().st_mode & 0o777 for path in (file, file.parent)]
    assert modes == [0o600, 0o700]
    assert json.loads(file.read_text()) == {DEFAULT_ACCOUNT: "sk-1"}


def test_a_world_readable_key_file_is_made_private(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    file.parent.mkdir()
    file.write_text("{}")
    file.chmod(0o644)
    in_file(tmp_path).save("sk-1")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_is_written_atomically_and_leaves_no_temporary_file(
    tmp_path: Path,
) -> None:
    """Who has the old file open sees the old key to its end."""
    in_file(tmp_path).save("old")
    with file_of(tmp_path).open() as old:
        in_file(tmp_path).save("new")
        assert json.load(old) == {DEFAULT_ACCOUNT: "old"}
    assert names_in(file_of(tmp_path).parent) == ["credentials.json", "credentials.json.lock"]


def test_a_failed_save_keeps_the_old_key(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        in_file(tmp_path).save("sk-1")
    assert names_in(file_of(tmp_path).parent) == ["credentials.json", "credentials.json.lock"]


def test_a_home_that_is_a_file_has_no_keys_and_stores_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    with pytest.raises(OSError, match="Not a directory"):
        in_file(home).save("sk-1")
    in_file(home).delete()
    assert in_file(home).load() is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"sk-1"',
        b"{}",
        json.dumps({DEFAULT_ACCOUNT: None}).encode(),
        json.dumps({DEFAULT_ACCOUNT: ["sk-1"]}).encode(),
        json.dumps({DEFAULT_ACCOUNT: ""}).encode(),
        b"[" * 100_000,
    ],
    ids=range(11),
)
def test_a_corrupt_file_has_no_key_and_can_be_overwritten(tmp_path: Path, content: bytes) -> None:
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).write_bytes(content)
    assert in_file(tmp_path).load() is None
    in_file(tmp_path).save("sk-1")
    assert in_file(tmp_path).load() == stored(tmp_path, "sk-1")
    aside = [path.read_bytes() for path in file_of(tmp_path).parent.glob("*.broken")]
    assert aside == ([] if content.startswith(b"{") and content != b"{" else [content])


def test_a_deleted_key_is_gone_and_can_be_deleted_again(tmp_path: Path) -> None:
    in_file(tmp_path).save("sk-1")
    for _ in range(2):
        in_file(tmp_path).delete()
        assert in_file(tmp_path).load() is None
    assert not file_of(tmp_path).exists()


def test_the_text_of_a_credential_contains_neither_key_nor_token() -> None:
    credential = Credential("environment", api_key="sk-1", auth_token="token-1")  # noqa: S106
    assert repr(credential) == "Credential(source='environment')"


# With a keyring.


def test_a_keyring_is_used_if_available(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    with use_keyring(ring):
        assert KeyStore(tmp_path).save("sk-1") == KEYRING
        assert KeyStore(tmp_path).load() == Credential(KEYRING, api_key="sk-1")
        assert in_file(tmp_path).load() is None
        assert ring.passwords == {(KEYRING_SERVICE, DEFAULT_ACCOUNT): "sk-1"}
        KeyStore(tmp_path).delete()
        assert KeyStore(tmp_path).load() is None
    assert (ring.passwords, list(tmp_path.iterdir())) == ({}, [])


@pytest.mark.parametrize("ring", [MemoryKeyring(is_locked=True), null.Keyring()])
def test_without_a_working_keyring_a_key_is_stored_in_the_file(
    tmp_path: Path, ring: MemoryKeyring | null.Keyring
) -> None:
    with use_keyring(ring):
        assert KeyStore(tmp_path).load() is None
        assert KeyStore(tmp_path).save("sk-1") == str(file_of(tmp_path))
        assert KeyStore(tmp_path).load() == stored(tmp_path, "sk-1")
        KeyStore(tmp_path).delete()
        assert KeyStore(tmp_path).load() is None


def test_the_last_stored_key_is_used_wherever_it_was_stored(tmp_path: Path) -> None:
    with use_keyring(MemoryKeyring()):
        KeyStore(tmp_path).save("first, in the keyring")
        in_file(tmp_path).save("second, in the file")
        assert KeyStore(tmp_path).load() == stored(tmp_path, "second, in the file")
        KeyStore(tmp_path).save("third, in the keyring")
        assert KeyStore(tmp_path).load() == Credential(KEYRING, api_key="third, in the keyring")
        assert not file_of(tmp_path).exists()


def test_deleting_removes_the_key_from_both_stores(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    with use_keyring(ring):
        KeyStore(tmp_path).save("one")
        in_file(tmp_path).save("two")
        KeyStore(tmp_path).delete()
        assert KeyStore(tmp_path).load() is None
    assert (ring.passwords, file_of(tmp_path).exists()) == ({}, False)
