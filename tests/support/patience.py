"""How long tests wait for what comes at once on a quiet machine: for a hang, not for a verdict."""

PATIENCE_SECONDS = 60.0
