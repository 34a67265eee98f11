"""Reports on fleets of tasks, made of the result files in their output directories.

`loading` reads and merges directories, `statistics` and `summary` compute, and each format has a
module that returns or yields text. `writing` writes all of them; `comparison` compares two runs.
"""
