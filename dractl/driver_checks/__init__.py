"""The checks of a DRA driver before its release: what it publishes over time, its chart, and its objects in a cluster."""
