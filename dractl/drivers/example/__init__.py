"""The example driver in its three kinds."""
