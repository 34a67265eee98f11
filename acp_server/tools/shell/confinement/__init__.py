"""Confinement of commands by the operating system: file access, network and processes."""
