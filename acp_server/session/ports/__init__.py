"""What a session needs from outside, as protocols with null objects."""
