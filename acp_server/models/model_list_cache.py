"""Cache file of the endpoints' model lists. Best effort: failing to read or write is no error."""

import json
import logging
from dataclasses import asdict
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from acp_server.models.access import ListedModel
from skills_store.atomic import write_atomically

logger = logging.getLogger(__name__)

VENDOR_KEY = "default"
_FILE_ADAPTER = TypeAdapter(dict[str, tuple[ListedModel, ...]], config=ConfigDict(defer_build=True))


def load_model_list(path: Path, base_url: str | None) -> tuple[ListedModel, ...]:
    """Return the cached models of an endpoint; empty if there are none or reading fails."""
    try:
        return _read(path).get(base_url or VENDOR_KEY, ())
    except OSError:
        return ()


def save_model_list(path: Path, base_url: str | None, models: tuple[ListedModel, ...]) -> None:
    """Store the models of an endpoint. Blocks; a write error is only logged."""
    try:
        lists = _read(path) | {base_url or VENDOR_KEY: models}
        document = {url: [asdict(model) for model in listed] for url, listed in lists.items()}
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=1).encode(), 0o600)
    except OSError as error:
        logger.info("could not save the model list: %s", error)


def _read(path: Path) -> dict[str, tuple[ListedModel, ...]]:
    """Return the file's content; empty if the file is missing or invalid.

    Raises:
        OSError: The file exists but cannot be read.
    """
    try:
        return _FILE_ADAPTER.validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return {}
