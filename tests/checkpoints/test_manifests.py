"""What a turn has made of files, told from the snapshots around it; nothing is made up."""

from acp_server.checkpoints.manifests import Manifest, OmittedFile, StatFingerprint, find_changes
from acp_server.checkpoints.records import FileVersion, RecordedChange

OLD, NEW = FileVersion("file", "old", 0o644), FileVersion("file", "new", 0o644)


def look_now(path: str) -> tuple[StatFingerprint, float]:
    """Every file has changed a moment ago."""
    del path
    return (1,), 100.0


def test_files_in_a_directory_not_scanned_before_do_not_count_as_new() -> None:
    before = Manifest(50.0, {}, {"/src": OmittedFile("there was no time", ())})
    after = Manifest(60.0, {"/src/a": NEW, "/other/b": NEW})
    found = [*find_changes(before, after, look_now)]
    assert found == [RecordedChange("/other/b", None, NEW, is_own=False)]


def test_changes_in_a_directory_not_scanned_afterwards_are_uncertain() -> None:
    before = Manifest(50.0, {"/src/a": OLD})
    after = Manifest(60.0, {}, {"/src": OmittedFile("there was no time", ())})
    found = [*find_changes(before, after, look_now)]
    assert found == [RecordedChange("/src/a", OLD, None, is_after_known=False, is_own=False)]


def test_files_exposed_by_changed_ignore_rules_are_uncertain() -> None:
    before = Manifest(50.0, {"/src/.gitignore": OLD})
    after = Manifest(
        60.0, {"/src/.gitignore": NEW, "/src/a": OLD, "/src/b": FileVersion("file", "b")}
    )
    found = [*find_changes(before, after, look_now)]
    assert [(each.path, each.is_after_known) for each in found] == [
        ("/src/.gitignore", True),
        ("/src/a", False),
        ("/src/b", False),
    ]
