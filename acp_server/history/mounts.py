"""Detects network file systems, where SQLite's write-ahead log is not safe.

Knows the mount tables of Linux and macOS, and no database.
"""

import re
import subprocess
import sys
from pathlib import Path

_NAMES = """
    9p afpfs afs beegfs ceph cifs davfs glusterfs lustre ncpfs nfs nfs3 nfs4 smb2 smb3 smbfs webdav
    fuse.ceph fuse.davfs fuse.gcsfuse fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs
"""
NETWORK_TYPES = frozenset(_NAMES.split())
_LINUX = re.compile(r"^\S+ (?P<point>\S+) (?P<type>\S+) ")
_MACOS = re.compile(r"^.* on (?P<point>/.*) \((?P<type>[^,)]+)[,)]")
_MOUNT_SECONDS = 5.0


def is_on_network_filesystem(directory: Path, table: str | None = None) -> bool:
    """Whether a directory is on a network file system; `table` replaces the mount table.

    If it cannot be determined, it counts as local.
    """
    lines = (read_mounts() if table is None else table).splitlines()
    found = [mount for line in lines if (mount := _MACOS.match(line) or _LINUX.match(line))]
    resolved = directory.resolve()
    enclosing: list[tuple[int, str]] = []
    for mount in found:
        # Linux writes blanks in a mount point as octal escapes.
        point = re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), mount["point"])
        if point == "/" or resolved.is_relative_to(point):
            enclosing.append((len(point), mount["type"]))
    # Of two mounts on the same point the later one hides the other, hence `reversed`.
    return (
        bool(enclosing) and max(reversed(enclosing), key=lambda each: each[0])[1] in NETWORK_TYPES
    )


def read_mounts() -> str:
    """Return the system's mount table, or "" if there is none."""
    try:
        if sys.platform == "linux":
            return Path("/proc/self/mounts").read_text(errors="surrogateescape")
        if sys.platform == "darwin":
            command = ["/sbin/mount"]
            result = subprocess.run(  # noqa: S603 - a fixed command
                command, capture_output=True, check=True, timeout=_MOUNT_SECONDS
            )
            return result.stdout.decode(errors="surrogateescape")
    except (OSError, subprocess.SubprocessError):
        pass
    return ""
