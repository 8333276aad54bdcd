"""6-D algebra for kernels: vectors, rotations, motion and force, inertia. Pure functions on tuples, compiled."""
