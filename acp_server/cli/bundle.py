"""Zip archive for a bug report: check results, settings, versions and log, without secrets."""

import json
import locale
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import JsonValue

from acp_server.cli.doctor_checks import CheckResult
from acp_server.cli.editor_detection import FoundEditor
from acp_server.cli.setting_rows import SettingRow
from acp_server.text.json_values import map_strings
from acp_server.text.redaction import Redactor
from acp_server.version import __version__
from skills_store.atomic import write_atomically

PRIVATE = 0o600
DISTRIBUTION = "hermes-acp-server"
MAX_LOG_LINES = 500
MAX_LOG_BYTES = 512_000
RELEVANT_VARIABLE_PREFIXES = ("ACP_SERVER_", "ANTHROPIC_", "HERMES_", "XDG_", "LC_")
RELEVANT_VARIABLES = {
    "LANG",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SHELL",
}


@dataclass(frozen=True, slots=True)
class BundleContents:
    """Contents of the archive."""

    findings: Sequence[CheckResult]
    rows: Sequence[SettingRow]
    editors: Sequence[FoundEditor]
    environment: Mapping[str, str]
    log_file: Path | None


def build_bundle(contents: BundleContents, redactor: Redactor) -> bytes:
    """Return a zip archive."""
    documents: dict[str, JsonValue] = {
        "findings.json": [asdict(finding) for finding in contents.findings],
        "settings.json": [asdict(row) for row in contents.rows],
        "editors.json": [asdict(editor) for editor in contents.editors],
        "environment.json": describe_machine(contents.environment),
    }
    plain: dict[str, JsonValue] = json.loads(json.dumps(documents))  # turns tuples into lists
    texts = {
        name: json.dumps(map_strings(each, redactor.redact), indent=2)
        for name, each in plain.items()
    }
    readme = (files("acp_server.cli") / "text" / "bundle_readme.txt").read_text(encoding="utf-8")
    log = redactor.redact(read_log_tail(contents.log_file))
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, text in {"README.txt": readme, **texts, "log.txt": log}.items():
            archive.writestr(name, text)
    return stream.getvalue()


def write_bundle(archive: bytes, file: Path, *, is_forced: bool) -> None:
    """Write the archive so that only the user can read it.

    Raises:
        FileExistsError: The file exists and `is_forced` is not set.
        OSError: The file cannot be written.
    """
    if is_forced:
        write_atomically(file, archive, PRIVATE)
        return
    # O_EXCL: a check before opening could be overtaken by another process.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags, PRIVATE), "wb") as stream:
        stream.write(archive)


def describe_machine(environment: Mapping[str, str]) -> JsonValue:
    """Return versions, the platform and the names (not the values) of relevant variables."""
    return {
        "version": __version__,
        "python": sys.version,
        "platform": platform.platform(),
        "encoding": locale.getpreferredencoding(do_setlocale=False),
        "packages": dict[str, JsonValue](_dependency_versions()),
        "variables": [
            name
            for name in sorted(environment)
            if name in RELEVANT_VARIABLES or name.startswith(RELEVANT_VARIABLE_PREFIXES)
        ],
    }


def read_log_tail(file: Path | None) -> str:
    """Return the last lines of the log, or the reason that there are none."""
    if file is None:
        return "No log file is set. Set one with `log.file`, ACP_SERVER_LOG_FILE or --log-file.\n"
    try:
        if file.exists() and not file.is_file():  # reading a pipe would block
            return f"{file} is not a regular file\n"
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - MAX_LOG_BYTES))
            lines = stream.read(MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}\n"
    return "\n".join((*lines[-MAX_LOG_LINES:], ""))


def _dependency_versions() -> Mapping[str, str]:
    """Return the versions of this program's dependencies."""
    found: dict[str, str] = {}
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return found
    for requirement in required:
        name = "".join(c if c.isalnum() or c in "-_." else " " for c in requirement).split()[0]
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
