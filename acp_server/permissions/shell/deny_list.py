"""The deny list: catastrophic commands, recognised by program name and words without quotes."""

import re
from collections.abc import Sequence

from acp_server.permissions.shell.scope import normalize_path
from acp_server.permissions.word_lists import read_word_lists

_RAW_DEVICE = re.compile(
    r"/dev/(?:[shv]d[a-z]\d*|xvd[a-z]\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|loop\d+|md\d+|dm-\d+"
    r"|mapper/.+|disk/.+|k?mem|port|sr\d|sg\d)"
)
DENY_WORDS = {key: frozenset(words) for key, words in read_word_lists(__file__).items()}
"""The names in `deny_list.toml`."""
_SHUTDOWN_PROGRAMS = DENY_WORDS["shutdown_programs"]
_SHUTDOWN_UNITS = _SHUTDOWN_PROGRAMS | DENY_WORDS["shutdown_units"]
_PARTITIONERS = DENY_WORDS["partitioners"]


def is_raw_device(path: str) -> bool:
    """Return whether a path names a disk or the memory, bypassing all file systems."""
    return (
        _RAW_DEVICE.fullmatch(normalize_path(path)) is not None if path.startswith("/") else False
    )


def match_deny_list(
    program: str, words: Sequence[str], folder: str, home: str | None
) -> str | None:
    """Return as a phrase which catastrophe a command causes; None if it is not on the deny list."""
    operands = [word for word in words if not _is_flag(word)]
    if program == "mkfs" or program.startswith("mkfs."):
        return "it makes a new file system over an old one"
    if program in {"rm", "chmod", "chown", "chgrp"}:
        return _recursive_reason(program, words, (folder, home))
    if program in DENY_WORDS["device_writers"] | _PARTITIONERS:
        return _device_reason(program, words)
    # In the last place, -1 is a process id that means all; in `kill -1 PID` it is a signal.
    if program == "kill" and len(words) > 1 and words[-1] == "-1":
        return "it ends every process"
    return _shutdown_reason(program, words, operands)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _shutdown_reason(program: str, words: Sequence[str], operands: Sequence[str]) -> str | None:
    is_shutdown = (
        program in _SHUTDOWN_PROGRAMS
        or (program in {"init", "telinit"} and operands[:1] in (["0"], ["6"]))
        or (program == "systemctl" and not _SHUTDOWN_UNITS.isdisjoint(operands[:1]))
    )
    return "it stops the machine" if is_shutdown and "--help" not in words else None


def _recursive_reason(
    program: str, words: Sequence[str], directories: tuple[str, str | None]
) -> str | None:
    if not any(_is_recursive(word, program) for word in words):
        return None
    is_removal = program == "rm"
    if not any(
        _is_everything(word, *directories, includes_home=is_removal)
        for word in words
        if not _is_flag(word)
    ):
        return None
    if is_removal:
        return "it removes the whole disk or the home folder"
    return "it changes the rights of the whole disk"


def _is_recursive(word: str, program: str) -> bool:
    if word.startswith("--"):
        # GNU programs accept abbreviated long flags, such as `--rec`.
        return len(word) > len("--r") and "--recursive".startswith(word)
    # For chmod, `-r` takes the right to read away.
    letters = "rR" if program == "rm" else "R"
    return word.startswith("-") and any(letter in word for letter in letters)


def _is_everything(word: str, folder: str, home: str | None, *, includes_home: bool) -> bool:
    """Return whether a word names the root or home directory, or everything in it."""
    path = word if word.startswith(("/", "~")) else f"{folder}/{word}"
    path = re.sub(r"^~(?=/|$)", home or "/~", path)
    # Globs for everything in a directory, such as `/*`, `/.[!.]*` and `/{*,.*}`, count as itself.
    without_glob = re.sub(r"/(?:\{?\.?\*(?:,\.?\*)*\}?|\.\[!?[^/]*|\.\?\?\*)?$", "", path)
    target = normalize_path(without_glob or "/")
    homes = (
        {home and normalize_path(home), "/~", "/root", "/home", "/Users"}
        if includes_home
        else set[str]()
    )
    return target == "/" or target in homes


def _device_reason(program: str, words: Sequence[str]) -> str | None:
    targets = [word.removeprefix("of=") for word in words if not word.startswith("if=")]
    if program == "dd":
        targets = [word.removeprefix("of=") for word in words if word.startswith("of=")]
    elif program in {"cp", "mv"}:
        targets = targets[-1:]
    if not any(is_raw_device(target) for target in targets):
        return None
    if program in _PARTITIONERS:
        only_lists = not DENY_WORDS["listing_flags"].isdisjoint(words) or "print" in words
        is_bare_list = program == "wipefs" and len(words) == 1
        return None if only_lists or is_bare_list else "it writes the partitions of a disk"
    return "it writes to a raw device"
