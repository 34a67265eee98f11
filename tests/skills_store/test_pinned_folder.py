"""Directories held by descriptors: whatever becomes a link in them is not followed."""

import os
from pathlib import Path

import pytest

from skills_store.pinned_folder import PinnedFolder, SymlinkInPathError

pytestmark = pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="no descriptors here")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file and a folder, and links to both of them."""
    root = tmp_path.resolve() / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder/file.txt").write_text("text")
    (root / "file.txt").write_text("text")
    (root / "link.txt").symlink_to("file.txt")
    (root / "link").symlink_to("folder")
    return root


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_CREAT])
def test_a_file_that_became_a_link_is_not_opened(root: Path, flags: int) -> None:
    with PinnedFolder.at(root) as folder:
        os.close(folder.open("file.txt", os.O_RDONLY))
        with pytest.raises(OSError, match="symbolic link"):
            folder.open("link.txt", flags)
    assert (root / "file.txt").read_text() == "text"


def test_a_folder_that_became_a_link_is_not_entered(root: Path) -> None:
    with PinnedFolder.at(root) as folder:
        with folder.enter("folder", should_create=False) as inner:
            assert inner.entries() == [("file.txt", False)]
        for should_create in (False, True):
            with pytest.raises(SymlinkInPathError) as caught:
                folder.enter("link", should_create=should_create)
            assert caught.value.folder == root / "link"


def test_no_folder_is_opened_or_created_behind_a_link(root: Path) -> None:
    for path in (root / "link", root / "link/new"):
        with pytest.raises(SymlinkInPathError):
            PinnedFolder.at_without_links(path)
        with pytest.raises(SymlinkInPathError):
            PinnedFolder.create(path)
    with PinnedFolder.create(root / "folder/new") as folder:
        assert folder.entries() == []
    assert [*(root / "folder/new").iterdir()] == []
