"""ACP v1 message types. Data only, no behavior."""
