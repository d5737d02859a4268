"""The verdict of a node autoscaler on the claims of a pod: would it launch a node of an instance
type?

judge(claims, classes, "p5.48xlarge", karpenter_tables)     # serves, never or unknown, with the
reason

A verdict is about the autoscaler alone. It says nothing of the node that comes: kube-scheduler
judges its real devices.
"""

from dractl.autoscaler.karpenter import Judgement, find_shared_refusal, is_older, judge
from dractl.autoscaler.search import Verdict

__all__ = ["Judgement", "Verdict", "find_shared_refusal", "is_older", "judge"]
