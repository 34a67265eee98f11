"""Adapters of the model port, one package per API format; each is imported on first use."""
