"""Tests of the 6-D algebra against 6×6 matrices, scipy and integer arithmetic. Helper: oracle."""
