"""Fuzzers: valid inputs are mutated and given to dractl; every outcome but an answer or a clear error is a failure."""
