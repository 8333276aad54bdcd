"""Tests of the exact solvers against plain mechanics. Helper: oracle (slow, readable, independent)."""
