"""Agreement with other engines: golden data and Pinocchio."""
