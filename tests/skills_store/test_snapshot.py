"""The snapshot saves reading, and is believed only as far as it is whole and still holds."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills_store.discovery import scan_root
from skills_store.json_file import Json
from skills_store.library import SkillLibrary
from skills_store.root_scan import RootScan
from skills_store.scan_cache import MAX_ROOTS, VERSION, ScanCache
from skills_store.skill import SkillRoot
from tests.skills_store.skill_files import (
    home_root,
    make_files_old,
    skill_text,
    write_file,
    write_skill,
)


@pytest.fixture
def root(tmp_path: Path) -> SkillRoot:
    folder = tmp_path / "skills"
    write_skill(folder / "coding/git", fields="metadata:\n  hermes:\n    tags: [a, 1, true]")
    write_skill(folder / "caf\u00e9")
    write_file(folder / "coding/DESCRIPTION.md", "---\ndescription: For code.\n---\n")
    write_file(folder / "odd/SKILL.md", skill_text("even"))
    write_file(folder / "mute/SKILL.md", "# Mute\n")
    write_file(tmp_path / "dotfiles/linked.md", skill_text("linked"))
    (folder / "linked").mkdir()
    (folder / "linked/SKILL.md").symlink_to(tmp_path / "dotfiles/linked.md")
    make_files_old(folder)
    return home_root(folder)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "acp" / "skills_snapshot.json"


def test_a_saved_scan_is_loaded_unchanged(root: SkillRoot, file: Path) -> None:
    found = scan_root(root)
    ScanCache(file).save([found])
    assert ScanCache(file).load([root]) == {root: found}
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_file_has_a_version_an_entry_per_root_and_a_manifest(
    root: SkillRoot, file: Path
) -> None:
    ScanCache(file).save([scan_root(root)])
    document = json.loads(file.read_bytes())
    assert document["version"] == VERSION
    (entry,) = document["roots"].values()
    path = root.path / "coding/git/SKILL.md"
    status = path.stat()
    number = entry["paths"].index(str(path))
    stamp = (entry["times"][number], entry["sizes"][number])
    assert stamp == (status.st_mtime_ns, status.st_size)


def test_another_process_reads_no_skill_again(root: SkillRoot, file: Path) -> None:
    SkillLibrary(lambda: [root], file).skills()
    document = root.path / "coding/git/SKILL.md"
    status = document.stat()
    document.write_bytes(b"x" * status.st_size)  # as if unchanged: so it would be noticed
    os.utime(document, ns=(status.st_atime_ns, status.st_mtime_ns))
    names = [skill.name for skill in SkillLibrary(lambda: [root], file).skills()]
    assert names == ["caf\u00e9", "linked", "odd", "git"]


def test_a_later_change_is_noticed_and_saved(root: SkillRoot, file: Path) -> None:
    SkillLibrary(lambda: [root], file).skills()
    write_skill(root.path / "new")
    make_files_old(root.path / "new")
    library = SkillLibrary(lambda: [root], file)
    assert "new" in [skill.name for skill in library.skills()]
    assert "new" in [skill.name for skill in ScanCache(file).load([root])[root].skills]


def test_entries_of_other_roots_are_kept_and_the_oldest_are_evicted(
    tmp_path: Path, file: Path
) -> None:
    roots = [home_root(tmp_path / str(number)) for number in range(MAX_ROOTS + 1)]
    for each in roots:
        ScanCache(file).save([scan_root(each)])
    assert list(ScanCache(file).load(roots)) == roots[1:]


def test_a_root_of_another_kind_is_a_different_root(root: SkillRoot, file: Path) -> None:
    ScanCache(file).save([scan_root(root)])
    assert ScanCache(file).load([SkillRoot("external", root.path)]) == {}


def _as_another_version(data: bytes) -> bytes:
    return data.replace(f'"version": {VERSION}'.encode(), b'"version": 999')


COLUMNS = (
    *("paths", "times", "sizes", "links", "names", "categories", "descriptions", "frontmatters"),
    "problems",
)
EMPTY: dict[str, Json] = {**{name: list[Json]() for name in COLUMNS}, "category_descriptions": {}}
"""A scan without skills."""


def _with(**columns: Json) -> Json:
    return {**EMPTY, **columns}


def _without(name: str) -> Json:
    return {column: values for column, values in EMPTY.items() if column != name}


ENTRIES: list[Json] = [
    None,
    [],
    {},
    _without("problems"),
    _without("links"),
    _without("paths"),
    _with(paths=["/"], times=[1], sizes=["a"]),
    _with(paths=["/"], times=[1]),
    _with(paths=["/"], times=[True], sizes=[1]),
    _with(paths={}),
    _with(names=["a"]),
    _with(names=["a"], categories=[""], descriptions=["b"], frontmatters=[[]]),
    _with(category_descriptions={"a": 1}),
    _with(problems=[["a"]]),
    _with(links=[1]),
    _with(links=["/"]),
]
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "no-json": lambda _: b"{",
    "a-list": lambda _: b"[]",
    "null": lambda _: b"null",
    "cut": lambda data: data[:-20],
    "longer": lambda data: data + b"x",
    "twice": lambda data: data * 2,
    "version": _as_another_version,
    "description": lambda data: data.replace(b"Use it.", b"Use me."),
    "a-skill-less": lambda data: data.replace(b'"odd"', b'"add"'),
    "laid-out-anew": lambda data: json.dumps(json.loads(data), indent=1).encode(),
    "digest": lambda data: data.replace(b'"digest": "', b'"digest": "0', 1),
    "binary": lambda data: bytes(reversed(data)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_an_invalid_file_is_recreated(
    root: SkillRoot, file: Path, damage: Callable[[bytes], bytes]
) -> None:
    expected = SkillLibrary(lambda: [root], file).collection()
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert SkillLibrary(lambda: [root], file).collection() == expected
    assert file.read_bytes() == good


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_every_changed_byte_is_noticed(root: SkillRoot, file: Path, data: st.DataObject) -> None:
    snapshot = ScanCache(file)
    snapshot.save([scan_root(root)])
    content = bytearray(file.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    assert snapshot.load([root]) == {}


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_an_entry_of_another_format_is_ignored(root: SkillRoot, file: Path, entry: Json) -> None:
    roots = json.dumps({f"home::{root.path}": entry}).encode()
    digest = hashlib.blake2b(roots, digest_size=16).hexdigest()
    file.parent.mkdir()
    file.write_bytes(
        f'{{"version": {VERSION}, "digest": "{digest}", "roots": '.encode() + roots + b"}\n"
    )
    assert ScanCache(file).load([root]) == {}


def test_a_scan_without_skills_is_read(root: SkillRoot, file: Path) -> None:
    ScanCache(file).save([RootScan(root)])
    assert json.loads(file.read_bytes())["roots"] == {f"home::{root.path}": EMPTY}
    assert ScanCache(file).load([root]) == {root: RootScan(root)}


def test_a_snapshot_that_cannot_be_written_does_no_harm(root: SkillRoot, tmp_path: Path) -> None:
    write_file(tmp_path / "acp")
    assert len(SkillLibrary(lambda: [root], tmp_path / "acp/skills_snapshot.json").skills()) == 4


def test_a_file_without_entries_is_not_a_snapshot(root: SkillRoot, file: Path) -> None:
    digest = hashlib.blake2b(b"[]", digest_size=16).hexdigest()
    write_file(file, f'{{"version": {VERSION}, "digest": "{digest}", "roots": []}}\n')
    assert ScanCache(file).load([root]) == {}
    ScanCache(file).save([scan_root(root)])
    assert ScanCache(file).load([root]) == {root: scan_root(root)}


def test_a_directory_in_place_of_the_snapshot_does_no_harm(root: SkillRoot, file: Path) -> None:
    file.mkdir(parents=True)
    assert len(SkillLibrary(lambda: [root], file).skills()) == 4
