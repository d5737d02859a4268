"""The way of an input: it is read, and charts and kustomizations are rendered, in one place."""
