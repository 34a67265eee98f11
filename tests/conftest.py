import keyring
import pytest
from hypothesis import settings
from keyring.backends import null

# The same examples each time; `--hypothesis-profile seeking` looks for others.
settings.register_profile("house", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("seeking", deadline=None, print_blob=True)
settings.load_profile("house")

keyring.set_keyring(null.Keyring())  # no test looks into the user's


def pytest_configure(config: pytest.Config) -> None:
    # jsonrpcserver reads its own schema so, when it is imported
    config.addinivalue_line(
        "filterwarnings", "ignore:(open|read)_text is deprecated:DeprecationWarning"
    )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
