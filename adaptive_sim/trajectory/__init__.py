"""Trajectories in HDF5: layout, writer, reader, linkages in files, export to other programs."""
