"""Physical identities and textbook motions. Helper: rk4."""
