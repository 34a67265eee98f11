"""Command lines for a terminal that the editor runs, perhaps on another machine.

Pure text. We do not control the environment of that terminal, so the command line itself removes
our secrets; and it is confined by our launcher if that exists there, too.
"""

import shutil
from collections.abc import Collection

from acp_server.tools.shell.confinement.launchers import (
    FAILURE_EXIT_CODE,
    FAILURE_PREFIX,
    PERL_VARIABLES,
)
from acp_server.tools.shell.confinement.sandbox import TerminalConfinement
from acp_server.tools.shell.environment import (
    MARK_VARIABLE,
    REMOVED_VARIABLES,
    build_command_environment,
)

_OWN_VARIABLES = frozenset({MARK_VARIABLE, "TERM"})
_LAUNCHER_CHECK_SCRIPT = (
    f'n=$1; shift; i=0; while [ $i -lt $n ]; do [ -r "$1" ] || '
    f"{{ echo '{FAILURE_PREFIX}: there is no "
    f'launcher; nothing was run\'; exit {FAILURE_EXIT_CODE}; }}; shift; i=$((i+1)); done; exec "$@"'
)
"""For `sh -c`: runs the remaining arguments if all of the launcher's files exist; $1 is their
number."""


def build_terminal_environment(*, only_reads: bool) -> dict[str, str]:
    """Return the variables that the terminal sets in addition to its own."""
    variables = build_command_environment({}, (), "", only_reads=only_reads)
    # The editor supplies a TTY and kills its processes.
    return {name: value for name, value in variables.items() if name not in _OWN_VARIABLES}


def build_terminal_argv(
    command: str, secret_names: Collection[str], confinement: TerminalConfinement
) -> tuple[str, ...]:
    """Return the argv to run a command there: without our secrets, confined, with empty stdin."""
    # Security: `env -u` removes secrets and variables that change the meaning of a command. The
    # launcher's own variables are removed, too: they would load other code into it before it
    # confines.
    names = {*secret_names, *REMOVED_VARIABLES, *(PERL_VARIABLES if confinement.launcher else ())}
    unset_arguments = [part for name in sorted(names) for part in ("-u", name)]
    shell = ("bash", "-p") if shutil.which("bash") else ("sh",)
    check_command = (
        "sh",
        "-c",
        _LAUNCHER_CHECK_SCRIPT,
        "sh",
        str(len(confinement.files)),
        *confinement.files,
    )
    # Fail closed: without the launcher's files on that machine, the command must not run
    # unconfined.
    launcher_command = (*check_command, *confinement.launcher) if confinement.launcher else ()
    return ("env", *unset_arguments, *launcher_command, *shell, "-c", f"exec </dev/null; {command}")


def has_sandbox_failed(exit_code: int | None, output: str) -> bool:
    """Return whether a command was not run because it could not be confined there."""
    # Both are required: any command can exit with this code, and any output can hold this text.
    return exit_code == FAILURE_EXIT_CODE and FAILURE_PREFIX in output
