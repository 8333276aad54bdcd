"""Tests of the engine. Helpers: oracle (the formulas as printed, 50 digits), cases (a linkage as the kernels see it)."""
