"""What a shell command would do, judged from its text alone: it only reads, it asks, or never."""
