"""The verdict of a node autoscaler on the claims of a pod: would it launch a node of an instance
type?

judge(claims, classes, "p5.48xlarge", karpenter_tables)     # serves, never or unknown, with the
reason

A verdict is only about the autoscaler, not about the node that it launches: kube-scheduler judges
the real devices.
"""

from dractl.autoscaler.karpenter import Judgement, find_shared_refusal, is_older, judge
from dractl.autoscaler.search import Verdict

__all__ = ["Judgement", "Verdict", "find_shared_refusal", "is_older", "judge"]
