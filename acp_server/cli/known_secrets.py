"""What must not leave this machine: the keys of the settings, and the user's home directory."""

from pathlib import Path

from acp_server.cli.setting_rows import iter_secrets
from acp_server.config.credentials import KeyStore
from acp_server.config.settings import SECRET_ENDINGS, Configuration
from acp_server.config.table import setting_values
from acp_server.text.redaction import Redactor


def create_redactor(configuration: Configuration) -> Redactor:
    """Return a redactor that knows the secrets of a configuration. Blocks."""
    return Redactor(
        secrets=(
            *iter_secrets(setting_values(configuration.settings)),
            *KeyStore(configuration.home, use_keyring=False).keys_in_file(),
            *(
                value
                for name, value in configuration.dotenv.items()
                if name.endswith(SECRET_ENDINGS)
            ),
        ),
        home_directories=(Path.home(), Path.home().resolve()),
    )
