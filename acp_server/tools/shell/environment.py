"""Environment variables for commands.

Decides which variables are removed and which are set. Reads no environment itself: the server's is
passed in.
"""

from collections.abc import Collection, Mapping

from acp_server.permissions.git_environment import git_hardening_variables

MARK_VARIABLE = "ACP_SERVER_COMMAND_ID"
"""Identifies the command that a process belongs to, even in another process group: see
`process_groups`."""

MIN_SECRET_LENGTH = 8
"""Shorter values, such as 1 or true, are too common to identify a secret."""

_NON_INTERACTIVE = {
    # Pagers would wait for a key; `cat` passes the text through.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    # Editors would wait for the user. `true` leaves each text unchanged: a commit without a message
    # fails, an amended commit keeps its message.
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    # Prompts. Without a terminal, ssh would open a window to ask. GIT_ASKPASS stays: editors set it
    # to a helper that usually has the credentials.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    # There is no terminal, so none is claimed. Without any TERM, `tput` and `clear` would fail.
    "TERM": "dumb",
}
"""Deliberately absent: CI changes the behaviour of builds and tests, NO_COLOR overrides a
`--color=always` whose colours can be shown, and npm_config_yes would agree to installations."""

REMOVED_VARIABLES = frozenset(["BASH_ENV", "CDPATH", "ENV", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH"])
"""They make a command do something else than its text, by which it was judged."""


_CONTROL_PREFIXES = ("LD_", "DYLD_", "GIT_", "BASH_", "NODE_OPTIONS", "PERL", "PYTHON", "RUBYOPT")
_CONTROL_NAMES = frozenset(
    {"IFS", "PS4", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PATH", "HOME"}
)
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def is_control_variable(name: str) -> bool:
    """Return whether a variable decides what programs run or load, and is no mere value.

    >>> is_control_variable("GIT_SSH_COMMAND"), is_control_variable("GIT_TOKEN")
    (True, False)
    """
    if name in REMOVED_VARIABLES | _CONTROL_NAMES | _NON_INTERACTIVE.keys() | {MARK_VARIABLE}:
        return True
    return name.startswith(_CONTROL_PREFIXES) and not name.endswith(_SECRET_ENDINGS)


def build_command_environment(
    base: Mapping[str, str],
    secret_names: Collection[str],
    mark: str,
    *,
    only_reads: bool = False,
) -> dict[str, str]:
    """Return the variables of a command: ours without secrets, set so that nothing waits for input.

    A variable is also removed if its value equals that of a secret with another name. With
    `only_reads`, git runs no program that a repository's settings name.
    """
    secret_names = frozenset(secret_names)
    # Security: a copy of a key under another name would reach the command just as well.
    secret_values = {base[name] for name in secret_names if name in base}
    secret_values = {value for value in secret_values if len(value) >= MIN_SECRET_LENGTH}
    inherited = {
        name: value
        for name, value in base.items()
        if name not in secret_names | REMOVED_VARIABLES and value not in secret_values
    }
    # Order: later operands win, so inherited values cannot undo these settings or fake the mark.
    hardening = git_hardening_variables(inherited, only_reads=only_reads)
    return inherited | _NON_INTERACTIVE | hardening | {MARK_VARIABLE: mark}
