"""What the solvers cost: `python -m benchmarks`. A module dropped in here is found by itself (see `harness.benchmark`)."""
