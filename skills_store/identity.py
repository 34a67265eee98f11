"""Identity of a skill: a digest of its files, by which the user's consent is kept."""

from hashlib import sha256
from pathlib import Path

from skills_store.guard.collecting import collect_skill_files

_CACHES = "__pycache__"


def skill_identity(folder: Path) -> str:
    """Return a digest of the names and contents of a skill's files; it reads them all. Blocks.

    Files that are too large to be read count by their names alone.

    Raises:
        OSError: the directory cannot be listed.
    """
    contents, digest = collect_skill_files(folder), sha256()
    names = [name for name in contents.files if _CACHES not in name.split("/")]
    for name in sorted(names):
        data = sha256(contents.files[name]).hexdigest()
        digest.update(f"{name}\0{data}\0".encode("utf-8", "surrogateescape"))
    for name in sorted(contents.unread_paths):
        digest.update(f"{name}\0\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
