"""Homes of agents: each attempt has a HERMES_HOME of its own.

Settings and credentials are the node's, memory and skills are copies: what one task learns reaches
neither another task nor the user. Sessions end with the task.
"""

import shutil
from contextlib import suppress
from pathlib import Path

LINKED = (
    *("config.yaml", ".env", "auth.json", "honcho.json", "SOUL.md"),
    *("agents", "commands", "hooks", "plugins", "scripts"),
    *("acp/config.yaml", "acp/credentials.json"),
)
"""Entries that agents only read."""
COPIED = (
    *("memories", "skills"),
    *("acp/permissions.json", "acp/trust.json", "acp/context_trust.json", "acp/models.json"),
)
"""Entries that agents may change."""


def make_agent_home(directory: Path, node_home: Path) -> Path:
    """Create the home of one agent in a directory, from the home of its node. Blocking.

    Raises:
        OSError: A directory cannot be created.
    """
    home = directory / "home"
    (home / "acp").mkdir(parents=True, mode=0o700)
    for name in LINKED:
        if (node_home / name).exists():
            (home / name).symlink_to((node_home / name).absolute())
    for name in COPIED:
        source, target = node_home / name, home / name
        # An entry that cannot be read, or is removed meanwhile, must not stop a task.
        with suppress(OSError):
            if source.is_dir():
                shutil.copytree(source, target, ignore_dangling_symlinks=True)
            else:
                shutil.copyfile(source, target)
    return home
