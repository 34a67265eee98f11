"""Text clean-up and lenient JSON readers, used everywhere."""
