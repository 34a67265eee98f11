"""Texts of the reasons why a permission question is asked: each is one plain sentence for the user.

A sentence says what could happen, or why that cannot be known, without its full stop. Which reason
holds is decided elsewhere, by the parsed structure of a command and facts about files.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

ProgramKind = Literal["runs_code", "removes", "stops", "sends", "changes", "other"]
"""What a program is known for; `other` is any program that is not known to only read."""
MAX_SHOWN_CHARACTERS = 60


class SecretsReason(str):
    """Reason to ask because a file may hold secrets."""

    __slots__ = ()


MAY_HOLD_SECRETS = "may hold secrets or settings"
OUTSIDE_SANDBOX = (
    "This would run outside the sandbox, where it can write anywhere and use the network"
)
FROM_THIS_MACHINE = (
    "Programs on this machine, such as your browser, could then connect to what commands serve at "
    "port {port}, until the session ends"
)
AMBIGUOUS = "The shell could read this in another way than it looks"
UNKNOWN_WORD = "A part of this is known only when it runs, so it could do anything"
MATCHES_FLAG = (
    "A pattern in it could match a file whose name is a flag, and change what the command does"
)
REPEATS = "This repeats commands, and it is not known how often"
OUTPUT_AS_FILE = (
    "This passes the output of a command to another one as a file, which cannot be checked"
)
NO_SCRIPT = "This has no script that could be checked"
SED_SCRIPT = "This `sed` script could change files or run commands"
NO_PROGRAM = "This has no program text that could be checked"
AWK_PROGRAM = "This `awk` program could change files or run commands"
UNKNOWN_PATH = "A path in this is known only when it runs, so it could read any file"
LEAVES_PATTERN = (
    "A path in this leaves, by `..`, a folder that a pattern selects, so it could read any file"
)
ODD_FILES = "A pattern in it could match files that are not ordinary, such as devices"
ODD_FOLDER = "This searches a path that is not an ordinary folder"
GIT_PATTERN = "`git` selects the files by a pattern, so it could show any file"
GIT_FORMAT = "Its format could show the contents of any file"
GIT_LISTING = "This could create or change what it names"
GIT_REFLOG = "`git reflog` can remove history"
GIT_SETTINGS = "This could show or change any setting of git"
GIT_PRIVATE = "This could show a secret in the settings of git"
GIT_FOLDER = "The folder that `git` runs in is known only when it runs"
GIT_COMMAND = "This `git` command could change files or history"
BRACES = "This uses a brace expansion, so it could name other files than it seems"
TILDE = "This uses `~` inside a word, so it could name other files than it seems"
OPEN_QUOTE = "A quote in it is not closed, so it could do something else than it seems"
SPLIT_WORD = "A word in it goes on in the next line, so it could do something else than it seems"
BACKQUOTE = "This contains a backquote or an open quote, so it could run other commands"
EXPANSION = "This uses a shell expansion, so it could run or name something else than it seems"
OTHER_HOME = "This names the home folder of another user"
UNKNOWN_HOME = "This names the home folder, which is not known"
TOO_MANY_FOLDERS = "This changes the folder too often to be checked"
TOO_DEEP = "This is too long or too deeply nested to be checked, so it could do anything"
AMBIGUOUS_LOOP = "The shell could read this loop in another way than it looks"
SETS_VARIABLE = "This sets a variable, which can change what other commands do"
ONLY_REDIRECTS = "This redirects without running anything, so it could empty a file"
UNKNOWN_FOLDER = "This changes to a folder that is known only when it runs"
NAMES_TO_WORDS = "This makes other words of file names, so it could do anything"
LINKED_FOLDER = "This changes to a folder that depends on links"
INNER_COMMAND = "This runs a command inside a word, which cannot be checked"
BACKGROUND = "This leaves a command running in the background"
UNKNOWN_SYNTAX = "This uses shell syntax that cannot be checked, so it could do anything"
FUNCTION = "This defines a function, which can change what other commands do"
VARIABLES = "This sets or shows variables, which can hold secrets"
CHOICE = "This chooses between commands when it runs"
ODD_VARIABLE = "This sets a variable in an unusual form, which can change what other commands do"
COMMAND_VARIABLE = "This sets a variable, which can change what the command does"
ARITHMETIC = "This contains arithmetic, which can set variables and run commands"
ODD_TEST = "Its test does more than compare texts or look at a file"
AMBIGUOUS_TEST = "The shell could read its test in another way than it looks"
OPEN_TEST = "Its test is not closed, so it could do something else than it seems"
MATCHES_OPERATOR = "A pattern in its test could match a file whose name is an operator"
COMPLEX_TEST = "Its test is not a simple comparison, so it cannot be checked"
NOT_NUMBERS = "This compares something that may not be a number, and could run commands"
UNPARSED = "This cannot be read as a shell command, so it could do anything"
TOO_LONG = "This is too long to be checked, so it could do anything"
CONTROL_CHARACTERS = "This contains control characters, which can hide what it does"
INVISIBLE_CHARACTERS = "This contains invisible characters, which can hide what it does"
LOOK_ALIKES = "This contains characters that look like others, which can hide what it does"
MIXED_SCRIPTS = "This mixes letters of several scripts in one word, which can hide what it does"
UNKNOWN_COMMAND = "Which command this runs is known only when it runs, so it could do anything"
MORE_ARGUMENTS = "This has more arguments than the files that it reads, so it could write one"
WORDS_FROM_FILE = "This takes its arguments from a file, so it could do more than it shows"
JQ_PROGRAM = "This program could read more than its input, such as variables that hold secrets"
UNKNOWN_FORMAT = "Its format is known only when it runs"
PRINTF_FORMAT = "Its format could set variables, which can change what other commands do"
LAST_FLAG = "Its last flag decides whether it lists or searches, so it could read any file"
FIND_FILES = "It is not known which files `find` passes on, so it could read any file"
MATCHES_ACTION = (
    "A pattern in it could match a file whose name is an action, such as removing files"
)
UNKNOWN_PART = "A part of `find` is known only when it runs, so it could change files"
OPEN_EXEC = "The command that `find` runs does not end, so it could do anything"
COMMAND_PER_FILE = "This runs another command for each file, which cannot be checked"
WORDS_FROM_NAMES = "This builds other arguments from file names, so it could do anything"
UNKNOWN_FILES = "Which files this works on is known only when it runs"
XARGS_NAMES = "The names that `xargs` gets are known only when it runs, so it could read any file"
NOT_A_NUMBER = "One of its arguments is not a number, so it could do something else than it seems"
CLOCK = "This could set the clock"
PROCESS_ENVIRONMENT = "This could show the variables of other processes, which can hold secrets"
PROCESS_COLUMNS = "This could show columns that hold secrets"
SHELL_OPTIONS = (
    "This changes how the shell reads the line, or shows variables that can hold secrets"
)
SHOWN_VARIABLES = "This shows variables that can hold secrets"
RUNS_COMMAND = "This runs another command, which cannot be checked"
GO_COMMAND = "This `go` command could change files or run other programs"
GO_SETTINGS = "This shows settings that can hold secrets"
PACKAGES = "This could install, change or remove packages"
ODD_LOOP = "Its loop has an unusual form, so it cannot be checked"
LOOP_VALUES = "Its loop has no values, or too many to be checked"
UNKNOWN_INPUT = "Its input is known only when it runs"
UNKNOWN_REDIRECT = "This contains an unknown kind of redirect, so it could write a file"
ODD_REDIRECT = "Its redirect could write a file"
AMBIGUOUS_TEXT = "The shell could read its here-document in another way than it looks"
OPEN_TEXT = "Its here-document does not end, so it could do something else than it seems"
ACTIVE_TEXT = "Its here-document contains variables or commands, so it could run other commands"
UNKNOWN_FLAG_WORD = (
    "A word in it, perhaps a flag, is known only when it runs, so it could change files"
)
LATE_FLAG = "A flag behind an argument could be an argument itself, so it could read any file"
UNKNOWN_FLAG = "A flag in it is known only when it runs, so it could change files"
SENT_AS_INPUT = "This is sent to a running command, which could do anything with it"
RUNS_OUTSIDE = "This runs outside the workspace"
TOO_MANY_MATCHES = "A pattern in it matches too many files to check, so it could read secrets"
GIT_OWN_FILES = (
    "`git` could take the files of that directory for its own configuration, and run what they name"
)
GIT_CREDENTIALS = "This could show credentials in the configuration of git"
GIT_SUBMODULES = (
    "The git configuration of its submodules cannot be checked, and could name programs to run"
)
GIT_PROGRAMS = "The configuration of this repository names programs that `git` would run"
GIT_LEADS_ELSEWHERE = (
    "The git directory of this repository leads to files elsewhere, which `git` would read"
)
GIT_OTHER_FILES = "The configuration of this repository names other files, which `git` would read"
GIT_UNREADABLE = (
    "The git configuration of this repository cannot be checked, and could name programs to run"
)
GIT_UNBOUNDED = "What `git` could show of this repository cannot be checked"
GIT_UNKNOWN_OBJECT = (
    "It is not known which file this git object belongs to, so it could show any file"
)
MEMORY_NEEDS_APPROVAL = "Your settings require approval of each memory change"
DESTRUCTIVE_HINT = "The server says that this tool can destroy data"
READ_ONLY_HINT = "The server says that this tool only reads, which cannot be verified"
UNKNOWN_HOST = "It is not certain which machine this contacts"
NO_SANDBOX = "Commands cannot be sandboxed on this machine, so this could change any file"
CHANGED_SINCE = "Changes made after the turn would be lost: {names}"
WITH_NETWORK = "This could contact any machine, and still writes in the workspace only"
NOT_PUBLIC = "{site} leads to {address}, which is on this machine or in a private network"
READS_FROM_HOST = "This contacts {hosts}, and what it asks for could carry data there"

_PROGRAMS: dict[ProgramKind, str] = {
    "runs_code": "{name} can run any code",
    "removes": "{name} can remove or overwrite data",
    "stops": "{name} can end other programs",
    "sends": "{name} can contact other machines",
    "changes": "{name} can change files",
    "other": "{name} could change files or run other programs",
}


def join_sentences(parts: Iterable[str]) -> str:
    """Return several reasons as one text; the empty ones are left out."""
    return ". ".join(filter(None, parts))


def program(kind: ProgramKind, name: str) -> str:
    """Return what a program can do."""
    return _PROGRAMS[kind].format(name=_code(name))


def contacts(hosts: Iterable[str], *, are_all: bool = True) -> str:
    """Return that a command contacts these hosts, and perhaps others."""
    return f"This contacts {', '.join(hosts)}{'' if are_all else ', and perhaps other machines'}"


def runs_input(name: str, hosts: Sequence[str] = ()) -> str:
    """Return that a program takes its input for code, which it may get from these hosts."""
    origin = f"what is downloaded from {', '.join(hosts)}" if hosts else "its input"
    return f"{_code(name)} runs {origin} as code"


def runs_file(path: str) -> str:
    """Return that a file of any place is run as a program."""
    return f"This runs the file {_code(path)}, which can do anything"


def odd_file(path: str) -> str:
    """Return that something else than an ordinary file is read."""
    return f"This reads {_code(path)}, which is not an ordinary file"


def flag(text: str) -> str:
    """Return that a flag is not known to only read."""
    return f"With {_code(text)} it could change files or run other programs"


def flag_without_value(text: str) -> str:
    """Return that a flag may take the next argument for its value."""
    return f"The flag {_code(text)} lacks its value, so this could do something else than it seems"


def unknown_value(text: str) -> str:
    """Return that the value of a flag is not known."""
    return f"The value of {_code(text)} is known only when it runs"


def unquoted_variable(name: str) -> str:
    """Return that a variable may become several arguments."""
    return f"The unquoted `${name}` could become several arguments"


def used_variable(name: str) -> str:
    """Return that the value of a variable is not known, or may be a secret."""
    return f"This uses the value of `${name}`, which is not known or could be a secret"


def set_variable(name: str) -> str:
    """Return that a variable is set that other commands obey."""
    return f"This sets `{name}`, which can change what a command does"


def writes(path: str) -> str:
    """Return that a file is written."""
    return f"This writes to {_code(path)}"


def outside(*paths: object) -> str:
    """Return that a path, or several, are outside the workspace."""
    verb = "is" if len(paths) == 1 else "are"
    return f"{', '.join(map(str, paths))} {verb} outside the workspace"


def chosen_program(path: object, name: str) -> str:
    """Return that a file of the workspace decides which program a name means."""
    return f"{path} decides which program runs as {_code(name)}"


def workspace_program(path: object) -> str:
    """Return that a program of the workspace has a usual name."""
    return f"This runs {path}, a program of the workspace"


def too_many_files(folder: object) -> str:
    """Return that a folder cannot be checked."""
    return f"{folder} contains too many files to check for secrets"


def split_name(path: object) -> str:
    """Return that the name of a file would become several arguments."""
    return f"{path} would count as several arguments"


def credentials(path: object) -> str:
    """Return that a file is known to hold credentials."""
    return f"{path} contains credentials"


def secrets(name: object) -> SecretsReason:
    """Return that a file may hold secrets."""
    return SecretsReason(f"{name} {MAY_HOLD_SECRETS}")


def outside_link(path: object) -> str:
    """Return that a link leads out of the workspace."""
    return f"{path} is a link that points outside the workspace"


def tracked(name: object) -> str:
    """Return that git may show a protected file."""
    return f"{name} is tracked by git, which could show its changes"


def _code(text: str) -> str:
    """Return a text as inline code, which cannot be mistaken for the words around it."""
    # Security: a name is chosen by the model.
    shown = "".join(each if each.isprintable() and each != "`" else "\ufffd" for each in text)
    end = "…" if len(shown) > MAX_SHOWN_CHARACTERS else ""
    return f"`{shown[:MAX_SHOWN_CHARACTERS]}{end}`"
