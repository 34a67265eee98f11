"""Text clean-up used everywhere: unpaired surrogates, secrets and home directories."""
