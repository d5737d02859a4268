"""Reports of devices and fit."""
