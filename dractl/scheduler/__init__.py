"""One attempt of kube-scheduler: all that it checks of a pod before, beside and after the DRA
allocator.
"""
