"""One attempt of kube-scheduler: everything that it checks of a pod before, beside and after the
DRA allocator.
"""
