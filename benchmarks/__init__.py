"""What the solvers cost: `python -m benchmarks`. Modules dropped in here are found by themselves (see `harness`)."""
