"""Fuzzers, which mutate valid inputs and give them to dractl. Every outcome other than an answer or
a clear error is a failure.
"""
