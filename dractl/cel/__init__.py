"""Device selectors in CEL: compile, check, estimate, evaluate and trace them as Kubernetes does.

    environment(Target.of("1.36"), "new").compile(text)      # kube-apiserver's verdict
    environment(Target.of("1.36"), "stored").compile(text)   # the selector of kube-scheduler

Importing this package is cheap: the CEL library is loaded when the first expression is compiled.
"""

from dractl.cel.device import Field
from dractl.cel.environment import Environment, attribute_environment, environment, reading
from dractl.cel.issues import Issue
from dractl.cel.program import EvalError, Program
from dractl.cel_library import require, why_not

__all__ = [
    "Environment",
    "EvalError",
    "Field",
    "Issue",
    "Program",
    "attribute_environment",
    "environment",
    "reading",
    "require",
    "why_not",
]
