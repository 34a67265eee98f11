"""Structural checks of a skill: size, links out of it, unreadable programs.

Judges names, sizes and the first bytes of files; the scan judges their text.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from skills_store.guard.contents import MAX_BYTES, MAX_FILES, SkillContents
from skills_store.guard.verdict import Severity, SkillFinding

SKILL_FILE = "SKILL.md"

_PROGRAM_MAGIC = (
    b"\x7fELF", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe", b"MZ", b"\0asm", b"dex\n", b"L\0\0\0\x01\x14\x02\0",
)  # fmt: skip
"""Executables of Linux, macOS, Java, Windows, the web and Android; Windows shortcuts."""
_ARCHIVE_MAGIC = (
    b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd",
    b"!<arch>",
)  # fmt: skip
_MEDIA_SUFFIXES_BY_MAGIC = {
    b"\x89PNG": (".png",),
    b"\xff\xd8\xff": (".jpg", ".jpeg"),
    b"GIF8": (".gif",),
    b"RIFF": (".webp", ".wav"),
    b"%PDF": (".pdf",),
    b"wOFF": (".woff",),
    b"wOF2": (".woff2",),
    b"OTTO": (".otf",),
    b"\0\x01\0\0": (".ttf",),
    b"\0\0\x01\0": (".ico",),
    b"SQLite format 3": (".sqlite", ".db"),
    b"OggS": (".ogg",),
    b"ID3": (".mp3",),
}
_OFFICE_SUFFIXES = (
    ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".dotx", ".xltx", ".potx", ".epub",
)  # fmt: skip
_COMPILED_SUFFIXES = (
    ".pyc", ".pyo", ".class", ".so", ".dylib", ".dll", ".exe", ".com", ".scr", ".o", ".a",
)  # fmt: skip
_ARCHIVE_SUFFIXES = (
    ".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".whl", ".egg", ".jar",
)  # fmt: skip
_AUTO_LOADED_FILES = {
    ".vscode/tasks.json", ".envrc", ".claude/settings.json", ".mcp.json", ".npmrc", ".pypirc",
    "sitecustomize.py", "usercustomize.py", "conftest.py", ".gitmodules", ".pre-commit-config.yaml",
}  # fmt: skip


def structure_findings(contents: SkillContents) -> Iterator[SkillFinding]:
    """Yield the structural findings of a skill."""
    count, size = len(contents.files), sum(map(len, contents.files.values()))
    if count > MAX_FILES:
        yield _finding("", "caution", f"holds {count} files, more than {MAX_FILES}")
    if size > MAX_BYTES:
        yield _finding("", "caution", f"holds {size} bytes, more than {MAX_BYTES}")
    if SKILL_FILE not in contents.files:
        yield _finding("", "caution", f"has no {SKILL_FILE}")
    for name in contents.outside_links:
        yield _finding(name, "dangerous", "links outside the skill's directory")
    for name in contents.special_files:
        yield _finding(name, "dangerous", "is neither a file nor a directory")
    for name in contents.unread_paths:
        yield _finding(name, "dangerous", "is too large or unreadable, so it was not scanned")
    for name, data in contents.files.items():
        yield from _file_findings(name, data)


def is_opaque(name: str, data: bytes) -> bool:
    """Return whether a file holds no text and is judged by its type alone."""
    head = data[:16]
    if _is_media(name, head):
        return True
    return head.startswith((*_PROGRAM_MAGIC, *_ARCHIVE_MAGIC)) and b"\0" in data[:4096]


def _file_findings(name: str, data: bytes) -> Iterator[SkillFinding]:
    path, head = PurePosixPath(name.lower()), data[:16]
    is_media = _is_media(name, head)
    claims_media = any(path.suffix in each for each in _MEDIA_SUFFIXES_BY_MAGIC.values())
    is_compiled = path.suffix in _COMPILED_SUFFIXES and b"\0" in data[:4096]
    if head.startswith(_PROGRAM_MAGIC) or is_compiled:
        yield _finding(name, "dangerous", "is a compiled program, which cannot be scanned")
    elif path.suffix in _OFFICE_SUFFIXES and head.startswith(b"PK"):
        yield _finding(name, "note", "is an office document")
    elif head.startswith(_ARCHIVE_MAGIC) or path.suffix in _ARCHIVE_SUFFIXES:
        yield _finding(name, "caution", "is an archive, which cannot be scanned")
    elif claims_media and not is_media and data:
        severity: Severity = "dangerous" if head.startswith((b"#!", b"<?php")) else "caution"
        yield _finding(name, severity, "does not match its file extension")
    elif not is_media and b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield _finding(name, "caution", "contains binary data")
    if any(name == each or name.endswith(f"/{each}") for each in _AUTO_LOADED_FILES):
        yield _finding(name, "caution", "is loaded automatically by other programs")
    if path.name == ".env" or path.name.startswith(("id_rsa", "id_ed25519")):
        yield SkillFinding(name, 0, "secrets", "caution", "is a file that usually contains secrets")


def _is_media(name: str, head: bytes) -> bool:
    return any(
        head.startswith(magic) and name.lower().endswith(suffixes)
        for magic, suffixes in _MEDIA_SUFFIXES_BY_MAGIC.items()
    )


def _finding(name: str, severity: Severity, description: str) -> SkillFinding:
    return SkillFinding(name, 0, "structure", severity, description)
