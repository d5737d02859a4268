"""kube-scheduler around the allocator: what a pod meets before, beside and after the DRA allocator,
in one attempt.
"""
