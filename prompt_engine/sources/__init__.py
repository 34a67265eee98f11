"""The only modules of the engine that read the disk. Every path comes from an argument."""
