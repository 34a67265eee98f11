"""What may be done, what is asked about, what is refused."""
