"""Fleets: many tasks as units of work, a journal that survives kills, and engines that run them."""
