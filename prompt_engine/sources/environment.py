"""Facts about the machine from files and environment variables. Runs no process and never waits.

Every fact comes from an argument: the variables, and a host whose root may be any directory.
"""

import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from prompt_engine.facts import MachineFacts, SourcedText
from prompt_engine.sources.user_files import UserFileText, read_user_file
from prompt_engine.toml_tables import read_toml

HINT_VARIABLE = "HERMES_ENVIRONMENT_HINT"
HINT_SETTING = "agent.environment_hint"
DEFAULT_PROFILE = "default"
MAX_NAME_CHARACTERS = 80

_FALSE_VALUES = frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class HostInfo:
    """Facts about the machine that a process knows without I/O.

    Attributes:
        platform: as in `sys.platform`.
        release: of the kernel; of the system on macOS and Windows.
        machine: the architecture.
        root: the directory in which `/etc` and the like are looked up.
    """

    platform: str
    release: str
    machine: str
    root: Path = Path("/")

    @classmethod
    def current(cls) -> "HostInfo":
        """Return this process's host."""
        is_mac = sys.platform == "darwin"
        release = platform.mac_ver()[0] if is_mac else platform.release()
        return cls(sys.platform, release, platform.machine())


def read_environment(
    variables: Mapping[str, str],
    host: HostInfo,
    *,
    tool_shell: str = "",
    hint: str = "",
    is_python_probed: bool = True,
) -> MachineFacts:
    """Return the machine facts for the prompt.

    `tool_shell` is the shell that tools run commands in; if empty, the user's own shell is named.
    `hint` is the hint from the settings.
    """
    container = _container(variables, host.root)
    is_wsl = "WSL_DISTRO_NAME" in variables or "microsoft" in host.release.lower()
    known = cast("dict[str, str]", read_toml("sources", "ci_services"))
    ci_services = (
        name for key, name in known.items() if variables.get(key, "").lower() not in _FALSE_VALUES
    )
    hints = (
        SourcedText(variables.get(HINT_VARIABLE, ""), HINT_VARIABLE),
        SourcedText(hint, HINT_SETTING),
    )
    return MachineFacts(
        system=_operating_system(host),
        architecture=host.machine,
        shell=tool_shell or Path(variables.get("SHELL", "")).name,
        container=container,
        ci_service=next(ci_services, ""),
        is_wsl=is_wsl and host.platform == "linux" and not container,
        is_termux="TERMUX_VERSION" in variables or "com.termux" in variables.get("PREFIX", ""),
        python=describe_python(variables.get("PATH", "")) if is_python_probed else "",
        hints=tuple(sourced_text for sourced_text in hints if sourced_text.text.strip()),
    )


def active_profile(home: Path) -> str:
    """Return the name of the profile that a home directory belongs to; empty if it is the only one.

    Profiles other than the default one are in its subdirectory `profiles`.

    >>> active_profile(Path("/home/ada/.hermes/profiles/work"))
    'work'
    """
    if home.parent.name == "profiles":
        return home.name
    try:
        has_others = any(each.is_dir() for each in (home / "profiles").iterdir())
    except OSError:
        return ""
    return DEFAULT_PROFILE if has_others else ""


def describe_python(search_path: str) -> str:
    """Return a sentence about a Python that needs care, empty for an ordinary one or none.

    Examines files only. For an unusual library location it returns an empty string.
    """
    has_uv = shutil.which("uv", path=search_path) is not None
    found = shutil.which("python3", path=search_path) or shutil.which("python", path=search_path)
    if found is None:
        return "Python runs only through uv: `uv run`, `uv pip`." if has_uv else ""
    python = Path(found)
    # The real interpreter; inside a virtual environment, the environment's own.
    if not (python.parent.parent / "pyvenv.cfg").is_file():
        python = python.resolve()
    library = _library_directory(python)
    if library is None:
        return ""
    sentences: list[str] = []
    if (library / "EXTERNALLY-MANAGED").exists():
        target = f"a virtual environment{', as `uv venv` makes one' if has_uv else ''}"
        sentences.append(
            f"The system's Python is externally managed (PEP 668): install packages into {target}."
        )
    if not _has_pip(python, library):
        sentences.append(f"Python has no pip here{': use `uv pip`' if has_uv else ''}.")
    return " ".join(sentences)


def _library_directory(python: Path) -> Path | None:
    """Return an interpreter's library directory, None if it is ambiguous."""
    folder = python.parent.parent / "lib"
    if python.name.startswith("python3."):
        found = [folder / python.name]
    else:
        found = list(folder.glob("python3.*"))
    return found[0] if len(found) == 1 and found[0].is_dir() else None


def _has_pip(python: Path, library: Path) -> bool:
    if any((python.parent / name).exists() for name in ("pip", "pip3")):
        return True
    directories = (
        library,
        library.parent / "python3",
        python.parent.parent / "local/lib" / library.name,
    )
    kinds = ("site-packages", "dist-packages")
    return any((directory / kind / "pip").is_dir() for directory in directories for kind in kinds)


def _operating_system(host: HostInfo) -> str:
    match host.platform:
        case "darwin":
            return f"macOS {host.release}".strip()
        case "win32":
            return f"Windows {host.release}".strip()
        case "linux" | "android":
            name = _distribution(host.root)
            return f"Linux ({name})" if name else "Linux"
        case _:
            return f"{host.platform} {host.release}".strip()


def _distribution(root: Path) -> str:
    """Return the distribution's PRETTY_NAME, on one line."""
    found = read_user_file(root / "etc/os-release")
    for line in found.text.splitlines() if isinstance(found, UserFileText) else ():
        key, _, value = line.partition("=")
        if key.strip() == "PRETTY_NAME":
            name = value.strip().strip("\"'")
            return "".join(filter(str.isprintable, name))[:MAX_NAME_CHARACTERS]
    return ""


def _container(variables: Mapping[str, str], root: Path) -> str:
    if "KUBERNETES_SERVICE_HOST" in variables:
        return "kubernetes"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    return variables.get("container", "")
