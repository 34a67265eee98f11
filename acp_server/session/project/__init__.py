"""Per-session options, and the settings that a trusted project may ask for."""
