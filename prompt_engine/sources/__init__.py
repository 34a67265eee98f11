"""The only part of the engine that reads disk; everything it reads is an argument's path."""
