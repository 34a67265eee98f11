"""File names that always require permission, wherever they are: secrets and settings. Pure.

One table of patterns for named paths and for searches. Knows names only; symlinks and ignore files
are checked elsewhere.
"""

import re
import unicodedata
from fnmatch import translate
from pathlib import Path

_FOLDERS = (
    ".git",
    "*.git",  # bare repositories
    "git~1",  # short name of `.git` on Windows
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".hg",
    ".svn",
    ".password-store",
    ".env*",
)
_FILES = (
    "*.env",
    "*.env.local",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".gitconfig",
    ".gitmodules",
    ".htpasswd",
    ".dockercfg",
    ".hermesignore",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.asc",
    "credentials",
    *(f"credentials.{ending}" for ending in ("json", "yaml", "yml", "toml", "ini")),
    *(f"secret.{ending}" for ending in ("json", "yaml", "yml", "toml", "ini", "txt")),
    *(f"secrets.{ending}" for ending in ("json", "yaml", "yml", "toml", "ini", "txt")),
    "service[-_]account*.json",
    "serviceaccount*.json",
)

SEARCH_GLOBS = (*_FOLDERS, *_FILES)
"""Patterns that a search leaves out, ignoring case: rather too much than too little."""

_FOLDER = re.compile("|".join(map(translate, _FOLDERS)))
_FILE = re.compile("|".join(map(translate, SEARCH_GLOBS)))
_HARMLESS = re.compile(r"\.env[.\-_](?:example|sample|template|dist)|id_[a-z0-9_.-]+\.pub")
_INVISIBLE = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)  # ignored by some systems


def is_protected(path: Path) -> bool:
    """Return whether a path, by its names alone, is that of a secret or of a tool's settings."""
    parts = path.parts
    return any(map(is_protected_directory, parts)) or bool(parts and is_protected_file(parts[-1]))


def is_protected_directory(name: str) -> bool:
    """Return whether a directory of this name protects all its content; a file of it is, too."""
    normalized = _normalize_name(name)
    return bool(_FOLDER.match(normalized)) and not _HARMLESS.fullmatch(normalized)


def is_protected_file(name: str) -> bool:
    """Return whether a file of this name is protected, wherever it is."""
    normalized = _normalize_name(name)
    return bool(_FILE.match(normalized)) and not _HARMLESS.fullmatch(normalized)


def _normalize_name(name: str) -> str:
    """Return the common form of all spellings that some system treats as the same name."""
    if not name.isascii():
        # Security: `.e\u200bnv` and full-width letters are the same file on some file systems.
        name = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    # Windows and macOS ignore case; Windows drops trailing dots and spaces.
    return name.casefold().rstrip(". ")


_AGENT_FILES = (
    ".hermes.md",
    "hermes.md",
    ".claude/settings*.json",
    ".claude/hooks/*",
    ".codex/*",
    ".gemini/*",
    ".cursor/*.json",
    ".mcp.json",
)
"""Files from which agents, this one too, read commands to run, hooks or permissions."""

_RUN_BY_OTHERS = re.compile(
    "|".join(
        translate(pattern)
        for pattern in (
            ".bash*",
            ".profile",
            ".zsh*",
            ".zprofile",
            ".zlogin",
            ".inputrc",
            ".husky/*",
            ".vscode/*",
            ".zed/*",
            ".idea/*",
            ".venv/*",
            "venv/*",
            ".github/workflows/*",
            ".gitlab-ci.yml",
            ".config/autostart/*",
            ".config/systemd/*",
            ".devcontainer/*",
            "*/.husky/*",
            "*/.vscode/*",
            "*/.zed/*",
            "*/.venv/*",
            ".circleci/*",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".dir-locals.el",
            *_AGENT_FILES,
            *(f"*/{pattern}" for pattern in _AGENT_FILES),
        )
    ),
    re.IGNORECASE,
)


def is_run_by_others(path: Path) -> bool:
    """Return whether other programs execute a file or read it as configuration.

    `path` is relative to the workspace. Shells, editors, agents, hooks and CI jobs do so without
    asking, or once the workspace is trusted.
    """
    return bool(_RUN_BY_OTHERS.fullmatch(path.as_posix()))
