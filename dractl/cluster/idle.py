"""Workloads that want no pods now: suspended, paused, scaled to zero, done."""

from msgspec import Struct

from dractl.cluster.paste import command
from dractl.cluster.state import Key, map_at, maps_at, text_at
from dractl.objects import Raw

_QUEUE = "kueue.x-k8s.io/queue-name"


class Idle(Struct, frozen=True):
    """Why a workload creates no pods although nothing refuses them, and the command that makes it create some."""

    why: str
    resume: str = ""


def idle(kind: str, key: Key, value: Raw | None) -> Idle | None:
    """Why a workload of a cluster wants no pods now; None if it wants some."""
    if not text_at(value, "metadata", "uid"):
        return None
    namespace, name = key
    called = f"{kind} {namespace}/{name}"
    spec, conditions = map_at(value, "spec"), maps_at(value, "status", "conditions")
    over = {text_at(c, "type"): c for c in conditions if c.get("status") == "True"} if kind == "Job" else {}
    for condition, word in (("Complete", "is done"), ("Failed", "has failed")):
        if condition in over:
            why = text_at(over[condition], "message") if condition == "Failed" else ""
            return Idle(f"{called} {word}" + (f" ({why})" if why else ""))
    if spec.get("suspend") is True:
        queue = text_at(value, "metadata", "labels", _QUEUE)
        if queue:
            why = f"{called} is suspended until LocalQueue {namespace}/{queue} of Kueue admits it"
            return Idle(why, command("kubectl get workloads.kueue.x-k8s.io -n {}", namespace))
        suspended = '{"spec":{"suspend":false}}'
        resume = command("kubectl patch {} {} -n {} --type=merge -p {}", kind.lower(), name, namespace, suspended)
        return Idle(f"{called} is suspended (spec.suspend) and creates no pods", resume)
    if kind == "Deployment" and spec.get("paused") is True:
        resume = command("kubectl rollout resume deployment/{} -n {}", name, namespace)
        return Idle(f"{called} is paused (spec.paused) and creates no pods of a new template", resume)
    if spec.get("replicas") == 0:
        resume = command("kubectl scale {}/{} -n {} --replicas=1", kind.lower(), name, namespace)
        return Idle(f"{called} has 0 replicas", resume)
    if spec.get("parallelism") == 0:
        return Idle(f"{called} has parallelism 0 and creates no pods")
    if kind == "CronJob" and not maps_at(value, "status", "active"):
        return Idle(f"{called} has no Job now; its schedule is {text_at(spec, 'schedule')}")
    return None
