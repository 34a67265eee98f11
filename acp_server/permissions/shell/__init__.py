"""Static analysis of shell commands: does a command line only read, and which paths?"""
