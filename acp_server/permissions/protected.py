"""Files that nobody reads or writes unasked, wherever they lie: secrets and settings. Pure.

One table of patterns, for paths that are named and for searches. Knows names only; where a link
leads, and what an ignore file says, is not for it to find out.
"""

import re
import unicodedata
from fnmatch import translate
from pathlib import Path

_FOLDERS = (
    ".git",
    "*.git",  # repositories without a work tree
    "git~1",  # what `.git` is also called on Windows
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
"""What a search leaves out, in any case. It leaves out too much rather than too little."""

_FOLDER = re.compile("|".join(map(translate, _FOLDERS)))
_FILE = re.compile("|".join(map(translate, SEARCH_GLOBS)))
_HARMLESS = re.compile(r"\.env[.\-_](?:example|sample|template|dist)|id_[a-z0-9_.-]+\.pub")
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")  # some systems ignore them


def is_protected(path: Path) -> bool:
    """Whether a path, by its names alone, is that of a secret or of a tool's own settings."""
    parts = path.parts
    return any(map(is_protected_folder, parts)) or bool(parts and is_protected_file(parts[-1]))


def is_protected_folder(name: str) -> bool:
    """Whether all that lies in a folder of this name is protected; a file of it is, too."""
    plain = _plain(name)
    return bool(_FOLDER.match(plain)) and not _HARMLESS.fullmatch(plain)


def is_protected_file(name: str) -> bool:
    """Whether a file of this name is protected, wherever it lies."""
    plain = _plain(name)
    return bool(_FILE.match(plain)) and not _HARMLESS.fullmatch(plain)


def _plain(name: str) -> str:
    """Return the spelling that all names have in common which some system takes for this one."""
    if not name.isascii():
        name = _UNSEEN.sub("", unicodedata.normalize("NFKC", name))
    return name.casefold().rstrip(". ")


_OF_AGENTS = (
    ".hermes.md",
    "hermes.md",
    ".claude/settings*.json",
    ".claude/hooks/*",
    ".codex/*",
    ".gemini/*",
    ".cursor/*.json",
    ".mcp.json",
)
"""What agents, this one too, take commands to start, hooks or permissions from."""

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
            *_OF_AGENTS,
            *(f"*/{pattern}" for pattern in _OF_AGENTS),
        )
    ),
    re.IGNORECASE,
)


def is_run_by_others(path: Path) -> bool:
    """Whether a file, by its path from the workspace on, is run or obeyed by other programs.

    Shells, editors, agents, hooks and automated jobs do so without anybody being asked, or once the
    workspace is trusted.
    """
    return bool(_RUN_BY_OTHERS.fullmatch(path.as_posix()))
