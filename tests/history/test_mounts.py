"""Which folders lie on a network, by the tables of Linux and macOS."""

from pathlib import Path

from acp_server.history.mounts import is_on_network_filesystem, read_mounts
from tests.support.case_table import each_case

LINUX = r"""
/dev/vda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /net/home nfs4 rw,vers=4.2 0 0
//desk/share /net/my\040share cifs rw 0 0
me@desk: /net/desk fuse.sshfs rw 0 0
/dev/vdb /net/home/local btrfs rw 0 0
server:/old /twice nfs rw 0 0
/dev/vdc /twice xfs rw 0 0
"""
MACOS = """
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//me@desk/share on /Volumes/share (v2) (smbfs, nodev, nosuid, mounted by me)
server:/home on /Volumes/home (nfs)
"""


@each_case(
    ("table", "folder", "expected"),
    [
        (LINUX, "/home/me", False),
        (LINUX, "/net/home", True),
        (LINUX, "/net/home/me/.hermes", True),
        (LINUX, "/net/homes", False),
        (LINUX, "/net/my share/x", True),
        (LINUX, "/net/desk/x", True),
        (LINUX, "/net/home/local/x", False),
        (LINUX, "/twice/x", False),
        (MACOS, "/Users/me", False),
        (MACOS, "/Volumes/share (v2)/x", True),
        (MACOS, "/Volumes/home/x", True),
        ("", "/home/me", False),
        ("no table at all", "/home/me", False),
    ],
)
def test_the_nearest_mount_is_used(table: str, folder: str, *, expected: bool) -> None:
    assert is_on_network_filesystem(Path(folder), table) is expected


def test_the_mount_table_of_this_machine_can_be_parsed() -> None:
    assert " on / " in read_mounts() or " / " in read_mounts()
