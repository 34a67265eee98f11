"""Tells the user once which keys of a Hermes configuration have no effect here."""

from contextlib import suppress
from hashlib import sha256

from acp_server.config.settings import Configuration
from acp_server.config.unused_keys import describe_unused_keys
from skills_store.atomic import write_atomically

NOTICE = "These settings of {file} have no effect here (`acp-server config check`):\n{keys}"


def take_unused_settings_notice(configuration: Configuration) -> str:
    """Return the notice for the first session of a home, and after each change; else nothing.

    A digest of the last notice is kept in the home. The call blocks.
    """
    lines = describe_unused_keys(configuration.unused_keys)
    if not lines:
        return ""
    keys = "\n".join(f"- {line}" for line in lines)
    digest = sha256(keys.encode("utf-8", "surrogatepass")).hexdigest().encode()
    last = configuration.home / "acp" / "told_settings"
    # If the digest cannot be read or written, repeat the notice rather than never show it.
    with suppress(OSError):
        if last.exists() and last.read_bytes() == digest:
            return ""
        last.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(last, digest)
    return NOTICE.format(file=configuration.home / "config.yaml", keys=keys)
