"""Opens recorders and replayers. They import an HTTP client, which most processes need later."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.models.recordings.exchange import RecordedEndpoint
    from acp_server.models.recordings.masking import KnownValues
    from acp_server.models.recordings.replayer import TrafficReplayer
    from acp_server.models.traffic import ModelTraffic


@frozen_dataclass
class MaskedValues:
    """Secrets, and values of this process and its sessions, which recordings must not contain."""

    known_values: "KnownValues"
    secrets: tuple[str, ...]


def open_recorder(
    directory: Path,
    masked: MaskedValues,
    endpoint: "tuple[str, str, str]",
    on_problem: Callable[[str], None],
) -> "ModelTraffic":
    """Return a recorder for an endpoint: its provider, API format and base URL."""
    from acp_server.models.recordings.exchange import RecordedEndpoint
    from acp_server.models.recordings.masking import RecordingMask
    from acp_server.models.recordings.recorder import TrafficRecorder

    mask = RecordingMask(masked.known_values, masked.secrets)
    return TrafficRecorder(directory, mask, RecordedEndpoint(*endpoint), on_problem)


def open_replayer(
    directory: Path, masked: MaskedValues, *, is_strict: bool
) -> "tuple[TrafficReplayer, RecordedEndpoint]":
    """Return a replayer of a recording, and the endpoint that the recording was made at. Blocks.

    Raises:
        RecordingError: The recording cannot be read.
    """
    from acp_server.models.recordings.exchange import load_exchanges
    from acp_server.models.recordings.masking import RecordingMask
    from acp_server.models.recordings.matching import ExchangeFinder
    from acp_server.models.recordings.replayer import TrafficReplayer

    exchanges = load_exchanges(directory)
    first = next((each for each in exchanges if each.endpoint.model), exchanges[0])
    mask = RecordingMask(masked.known_values, masked.secrets)
    return TrafficReplayer(ExchangeFinder(exchanges), mask, is_strict), first.endpoint
