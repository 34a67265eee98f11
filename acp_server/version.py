"""The package version: read by the build, the handshake and `--version`."""

__version__ = "0.1.0"
