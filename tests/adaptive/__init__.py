"""Tests of the engine. Helpers: oracle (the formulas as printed, 50 digits), cases (linkages as kernels see them)."""
