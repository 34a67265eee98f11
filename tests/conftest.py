import keyring
import pytest
from hypothesis import settings
from keyring.backends import null

# Deterministic examples by default; `--hypothesis-profile seeking` searches for new ones.
settings.register_profile("house", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("seeking", deadline=None, print_blob=True)
settings.load_profile("house")

keyring.set_keyring(null.Keyring())  # no test may read the user's keyring


def pytest_configure(config: pytest.Config) -> None:
    # jsonrpcserver reads its own schema with the deprecated API at import time
    config.addinivalue_line(
        "filterwarnings", "ignore:(open|read)_text is deprecated:DeprecationWarning"
    )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
