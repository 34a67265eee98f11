"""Private caches of package managers: confined commands cannot write those in the user's home.

Each workspace has caches of its own, so that no command can put packages before those of another
workspace or before the user.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

_DIRECTORIES: Mapping[str, str] = {
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "GOCACHE": "go-build",
    "GOMODCACHE": "go-mod",
    "CARGO_HOME": "cargo",
}
_CARGO_SETTINGS = ("config.toml", "config")
"""Files of the user's cargo home that are no cache."""


def cache_directory(data_directory: Path, root: Path) -> Path:
    """Return the directory with the caches of a workspace."""
    name = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:16]
    return data_directory / "acp" / "caches" / name


def prepare_caches(directory: Path, cargo_home: Path) -> None:
    """Create the directory; cargo's part of it shows the settings of the user's cargo home. Blocks.

    Raises:
        OSError: It cannot be created.
    """
    directory.mkdir(0o700, parents=True, exist_ok=True)
    for name in _CARGO_SETTINGS:
        link = directory / _DIRECTORIES["CARGO_HOME"] / name
        if (cargo_home / name).is_file() and not link.is_symlink():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(cargo_home / name)


def cache_variables(directory: Path) -> Mapping[str, str]:
    """Return the variables by which package managers find their caches in a directory."""
    return {name: str(directory / each) for name, each in _DIRECTORIES.items()} | {
        # The cache may be on another file system than the packages are installed to.
        "UV_LINK_MODE": "copy"
    }
