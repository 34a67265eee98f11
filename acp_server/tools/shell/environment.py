"""The variables that a command sees.

Owns what is kept from it and what it is told. Reads no environment: ours is handed in.
"""

from collections.abc import Collection, Mapping

MARK_VARIABLE = "ACP_SERVER_COMMAND"
"""Says whose command a process belongs to, wherever it went; see `processes`."""

SHORTEST_SECRET = 8
"""A shorter value, such as 1 or true, is too common to give a secret away."""

_UNATTENDED = {
    # Pagers wait for a key. What they would show goes through as it is.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    # Editors wait for a person. This one leaves every text as it was: a commit without a message
    # fails for want of one, an amended commit keeps its own.
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    # Questions. ssh would ask in a window once it finds no terminal. GIT_ASKPASS stays: editors
    # set it to a helper of theirs, which mostly knows the answer.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    # There is no terminal, so none is claimed; without a TERM, `tput` and `clear` would fail.
    "TERM": "dumb",
}
"""Not among them: CI changes what builds and tests do, NO_COLOR overrules a `--color=always` whose
colours can be shown, and npm_config_yes would agree to installations."""

STEERING = frozenset(["BASH_ENV", "CDPATH", "ENV", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH"])
"""They would make a command do other than its text says, by which it was judged."""


def command_environment(
    own: Mapping[str, str], secret_names: Collection[str], mark: str
) -> dict[str, str]:
    """Return the variables of a command: ours without secrets, set so that nothing waits for us.

    A variable goes too if its value is that of a secret under another name.
    """
    secret_names = frozenset(secret_names)
    values = {own[name] for name in secret_names if name in own}
    values = {value for value in values if len(value) >= SHORTEST_SECRET}
    kept = {
        name: value
        for name, value in own.items()
        if name not in secret_names | STEERING and value not in values
    }
    return kept | _UNATTENDED | _plain_git(kept) | {MARK_VARIABLE: mark}


def _plain_git(own: Mapping[str, str]) -> dict[str, str]:
    """Return what keeps git from starting programs that settings name while it only looks.

    It takes no folder of the right layout for a repository, asks no monitor of the file system,
    and does not refresh its index, which a hook would hear of.
    """
    given = own.get("GIT_CONFIG_COUNT", "0")
    first = int(given) if given.isdecimal() else 0
    settings = (("safe.bareRepository", "explicit"), ("core.fsmonitor", "false"))
    named = {
        f"GIT_CONFIG_{part}_{first + index}": value
        for index, setting in enumerate(settings)
        for part, value in zip(("KEY", "VALUE"), setting, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(first + len(settings)), "GIT_OPTIONAL_LOCKS": "0", **named}
