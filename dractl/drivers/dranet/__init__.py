"""DRANET: dra.net."""
