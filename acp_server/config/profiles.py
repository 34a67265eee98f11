"""The home directory that is used: the one of the environment, or one of its profiles.

A profile is a home directory of its own below `profiles` of another home, as in Hermes. It is
chosen by `--profile NAME` or ACP_SERVER_PROFILE, else by the file `active_profile` of the home.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from acp_server.config.values import expand_user
from acp_server.startup.fast_dataclass import frozen_dataclass

PROFILE_VARIABLE = "ACP_SERVER_PROFILE"
PROFILE_OPTION = "--profile"
DEFAULT_PROFILE = "default"
"""The name of the home itself."""
PROFILES = "profiles"
ACTIVE_FILE = "active_profile"
MAX_NAME_BYTES = 1_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@frozen_dataclass
class ChosenHome:
    """The home directory that is used."""

    path: Path
    profile: str = DEFAULT_PROFILE
    problem: str = ""
    """Why another home than the named one is used."""

    @property
    def root(self) -> Path:
        """The home that the profiles belong to."""
        return self.path.parent.parent if self.path.parent.name == PROFILES else self.path


def choose_home(environment: Mapping[str, str]) -> ChosenHome:
    """Return the home directory of HERMES_HOME (`~/.hermes` by default), or one of its profiles.

    Reads at most one small file. A HERMES_HOME that is a profile is used as it is.
    """
    named = expand_user(Path(environment.get("HERMES_HOME") or "~/.hermes"))
    is_profile = named.parent.name == PROFILES
    root = named.parent.parent if is_profile else named
    name, source = environment.get(PROFILE_VARIABLE, "").strip().lower(), PROFILE_VARIABLE
    if not name and is_profile:
        return ChosenHome(named, named.name)
    if not name:
        name, source = _read_active_name(root / ACTIVE_FILE), str(root / ACTIVE_FILE)
    if name in ("", DEFAULT_PROFILE):
        return ChosenHome(root)
    path = root / PROFILES / name
    if _NAME.fullmatch(name) and path.is_dir():
        return ChosenHome(path, name)
    return ChosenHome(root, problem=f"{source}: {unknown_profile(name, root)}; {root} is used")


def unknown_profile(name: str, root: Path) -> str:
    """Return that a profile is unknown, and which ones there are."""
    return f"there is no profile {name!r}; there are {', '.join(list_profiles(root))}"


def list_profiles(root: Path) -> tuple[str, ...]:
    """Return the names of the profiles of a home, the home itself first."""
    try:
        found = sorted(
            each.name
            for each in (root / PROFILES).iterdir()
            if each.is_dir() and _NAME.fullmatch(each.name)
        )
    except OSError:
        found = []
    return (DEFAULT_PROFILE, *found)


def _read_active_name(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_NAME_BYTES).decode().strip().lower()
    except (OSError, UnicodeDecodeError):
        return ""
