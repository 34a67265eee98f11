"""Command lines for a terminal that the editor runs, perhaps on another machine.

Pure text. We do not control the environment of that terminal, so the command line itself removes
our secrets; and it is confined by our launcher if that exists there, too.
"""

import shutil
from collections.abc import Collection

from acp_server.tools.shell.confinement.launchers import FAILED, FAILED_CODE, OBEYED_VARIABLES
from acp_server.tools.shell.confinement.sandbox import ConfinedElsewhere
from acp_server.tools.shell.environment import MARK_VARIABLE, STEERING, command_environment

UNATTENDED = {
    name: value
    for name, value in command_environment({}, (), "").items()
    if name not in {MARK_VARIABLE, "TERM"}  # the editor supplies a TTY and kills its processes
}
"""Variables that the terminal sets in addition to its own."""
_GUARD = (
    f'n=$1; shift; i=0; while [ $i -lt $n ]; do [ -r "$1" ] || {{ echo \'{FAILED}: there is no '
    f'launcher; nothing was run\'; exit {FAILED_CODE}; }}; shift; i=$((i+1)); done; exec "$@"'
)
"""For `sh -c`: runs the remaining arguments if all of the launcher's files exist; $1 is their
number."""


def argv_elsewhere(
    command: str, secret_names: Collection[str], confined: ConfinedElsewhere
) -> tuple[str, ...]:
    """Return the argv to run a command there: without our secrets, confined, with empty stdin."""
    # Security: `env -u` removes secrets and variables that change the meaning of a command. The
    # launcher's own variables are removed, too: they would load other code into it before it
    # confines.
    names = {*secret_names, *STEERING, *(OBEYED_VARIABLES if confined.launcher else ())}
    hidden = [part for name in sorted(names) for part in ("-u", name)]
    shell = ("bash", "-p") if shutil.which("bash") else ("sh",)
    guard = ("sh", "-c", _GUARD, "sh", str(len(confined.files)), *confined.files)
    # Fail closed: without the launcher's files on that machine, the command must not run
    # unconfined.
    guarded = (*guard, *confined.launcher) if confined.launcher else ()
    return ("env", *hidden, *guarded, *shell, "-c", f"exec </dev/null; {command}")


def was_not_confined(exit_code: int | None, output: str) -> bool:
    """Return whether a command was not run because it could not be confined there."""
    # Both are required: any command can exit with this code, and any output can hold this text.
    return exit_code == FAILED_CODE and FAILED in output
