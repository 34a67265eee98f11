"""Private paths of a home directory: keys, tokens, histories and browser data.

One table, plus the names that the permission gate protects everywhere. Files that tools need in
order to start are not included, such as git's own configuration.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from acp_server.permissions.protected_names import is_protected_file

_PRIVATE_NAMES = (
    *(".claude/.credentials.json", ".codex/auth.json", ".config/github-copilot"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".config/git/credentials"),
    *(".config/gcloud", ".config/doctl", ".config/rclone", ".config/op", ".config/1Password"),
    *(".config/sops", ".config/age", ".config/containers/auth.json", ".config/pypoetry/auth.toml"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml"),
    *(".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json", ".terraformrc"),
    *(".vault-token", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".oci", ".databrickscfg"),
    *(".bash_history", ".zsh_history", ".histfile", ".local/share/fish/fish_history"),
    *(".python_history", ".node_repl_history", ".psql_history", ".mysql_history"),
    *(".sqlite_history", ".rediscli_history", ".local/share/keyrings", ".local/share/kwalletd"),
    *(".local/share/python_keyring", ".mozilla", ".thunderbird", ".config/google-chrome"),
    *(".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/Signal"),
    *("Library/Keychains", "Library/Cookies", "Library/Mail", "Library/Messages"),
    *("Library/Safari", "Library/Application Support/Google/Chrome"),
    *("Library/Application Support/Firefox", "Library/Application Support/1Password"),
)
_READABLE_NAMES = frozenset({".git", ".gitconfig", ".gitmodules", ".hermesignore"})
"""Protected elsewhere because programs execute them, not because they hold secrets."""
_SYSTEM_SECRETS = ("/run/secrets", "/run/credentials", "/var/run/secrets")


def iter_private_paths(home: Path) -> Iterator[Path]:
    """Yield the user's private paths, existing or not."""
    yield from map(Path, _SYSTEM_SECRETS)
    yield from (home / name for name in _PRIVATE_NAMES)
    try:
        with os.scandir(home) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return
    # Check names, not paths: constructing a Path for each entry would take ten times longer.
    yield from (
        home / name for name in names if name not in _READABLE_NAMES and is_protected_file(name)
    )
