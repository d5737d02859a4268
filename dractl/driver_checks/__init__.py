"""Checks of a DRA driver before its release: its snapshots, its chart, its objects in a cluster."""
