"""Tests of the assembly tree. Helpers: shapes (inputs), checker (the definition), worst_case (adversaries)."""
