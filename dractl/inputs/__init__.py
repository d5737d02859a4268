"""Reads files, and renders charts and kustomizations."""
