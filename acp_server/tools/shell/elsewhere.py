"""A command for a terminal that is not ours: the editor's, perhaps on another machine.

Knows words only. Which variables there are in the terminal is not for us to say, so our secrets are
taken out by the command itself; and it is confined by our launcher, if that is there too.
"""

import shutil
from collections.abc import Collection

from acp_server.tools.shell.confinement.launchers import FAILED, FAILED_CODE, OBEYED_VARIABLES
from acp_server.tools.shell.confinement.sandbox import ConfinedElsewhere
from acp_server.tools.shell.environment import MARK_VARIABLE, STEERING, command_environment

UNATTENDED = {
    name: value
    for name, value in command_environment({}, (), "").items()
    if name not in {MARK_VARIABLE, "TERM"}  # the editor has a terminal, and ends what is in it
}
"""The variables that it is given besides those that it has."""
_GUARD = (
    f'n=$1; shift; i=0; while [ $i -lt $n ]; do [ -r "$1" ] || {{ echo \'{FAILED}: there is no '
    f'launcher; nothing was run\'; exit {FAILED_CODE}; }}; shift; i=$((i+1)); done; exec "$@"'
)
"""For `sh -c`: runs what follows if some files, of which it is told the number, are there."""


def argv_elsewhere(
    command: str, secret_names: Collection[str], confined: ConfinedElsewhere
) -> tuple[str, ...]:
    """Return what runs a command there: without our secrets, confined, and nothing on stdin."""
    names = {*secret_names, *STEERING, *(OBEYED_VARIABLES if confined.launcher else ())}
    hidden = [part for name in sorted(names) for part in ("-u", name)]
    shell = ("bash", "-p") if shutil.which("bash") else ("sh",)
    guard = ("sh", "-c", _GUARD, "sh", str(len(confined.files)), *confined.files)
    guarded = (*guard, *confined.launcher) if confined.launcher else ()
    return ("env", *hidden, *guarded, *shell, "-c", f"exec </dev/null; {command}")


def was_not_confined(exit_code: int | None, output: str) -> bool:
    """Whether a command was not run, for it could not have been confined there."""
    return exit_code == FAILED_CODE and FAILED in output
