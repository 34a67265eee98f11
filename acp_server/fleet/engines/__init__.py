"""Engines of fleets: each places attempts on nodes, on this machine or on others."""
