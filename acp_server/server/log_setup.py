"""Logging setup: stderr, which editors collect, and an optional file. Never stdout."""

import logging
import os
import sys
from pathlib import Path

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def configure_logging(level: str, log_file: Path | None) -> None:
    """Send log records of `level` and above to stderr and, if given, append them to a file."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    unusable: OSError | None = None
    is_new_folder = log_file is not None and not log_file.parent.exists()
    if log_file is not None:
        try:
            log_file.parent.mkdir(parents=True, exist_ok=True)
            _create_private(log_file)
            handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
        except OSError as error:
            unusable = error
    logging.basicConfig(level=level.upper(), format=LOG_FORMAT, handlers=handlers, force=True)
    if unusable is not None:
        logging.getLogger(__name__).warning("cannot open the log file: %s", unusable)
    elif is_new_folder and log_file is not None:
        logging.getLogger(__name__).warning("created directory %s for the log", log_file.parent)


def _create_private(log_file: Path) -> None:
    """Create the file for its owner only; an existing file keeps its mode.

    A log names files, commands and hosts.

    Raises:
        OSError: It can neither be created nor appended to.
    """
    os.close(os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
