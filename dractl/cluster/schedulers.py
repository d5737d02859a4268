"""The scheduler that a pod names: the workloads that run it, its profile, and its messages about
the pod.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.derived import derive_from
from dractl.cluster.shell import is_safe_name
from dractl.cluster.state import API_GROUPS, SCHEDULER_CONFIGURATION, ClusterState, Key
from dractl.facts.schedulers import (
    KUBE_SCHEDULER,
    SchedulerFacts,
    scheduler_named,
    scheduler_of_image,
    schedulers,
)
from dractl.manifests import Document, read_text
from dractl.model import pod_templates
from dractl.model.nearest import nearest
from dractl.model.paths import remove_at
from dractl.objects import Raw
from dractl.views import (
    DEFAULT_SCHEDULER,
    Condition,
    ConfigMap,
    Container,
    Pod,
    SchedulerConfiguration,
    SchedulerGroup,
    SchedulerProfile,
    Workload,
)

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_PLUGIN = "DynamicResources"
_POINTS = ("multiPoint", "preFilter", "filter", "reserve", "preBind")
_SYSTEM = "kube-system"
_EVENT, _PHASE = "event", "phase"
_MAX_EVENTS = 2
_MAX_CONFIGURATION = 1 << 16
"""The number of characters of a configuration that are parsed; a profile with every plugin has a
tenth of that.
"""


class Profile(Struct, frozen=True):
    """A profile of a kube-scheduler's configuration."""

    config_map: str
    """``ConfigMap/NAMESPACE/NAME``."""
    name: str
    """The ``schedulerName`` of the profile."""
    enabled: tuple[str, ...]
    """Plugins that the profile enables by name."""
    disabled: tuple[str, ...]
    """Plugins that the profile disables; ``*`` stands for all plugins of an extension point."""
    allocates: bool
    """True if plugin DynamicResources is on."""


class SchedulerWorkload(Struct, frozen=True):
    """A workload or pod that runs a scheduler."""

    target: str
    """``KIND/NAMESPACE/NAME``."""
    facts: SchedulerFacts | None
    """The facts about the scheduler in the workload's image; None for an unknown image."""
    version: str
    names: tuple[str, ...]
    """The scheduler names in the workload's arguments and configuration, or else the names that
    belong to its image.
    """
    hints: tuple[str, ...]
    """Texts that indicate the scheduler's name if nothing else does: the workload's own name, and
    parts of its arguments.
    """
    ready: bool
    """False if no replica of the workload is available."""

    @property
    def runs_kube_scheduler(self) -> bool:
        """True if the workload runs the program kube-scheduler itself."""
        return self.facts is schedulers()[KUBE_SCHEDULER]

    def answers_to(self, name: str) -> bool:
        """Return True if the workload schedules pods with ``name`` as ``spec.schedulerName``."""
        return name in (self.names or self.hints)


class Survey(Struct, frozen=True):
    """The schedulers of a cluster, as far as the input shows them."""

    workloads: tuple[SchedulerWorkload, ...]
    profiles: tuple[Profile, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names for which some workload schedules pods."""
        running = (name for workload in self.workloads for name in workload.names)
        profiles = (profile.name for profile in self.profiles)
        return tuple(dict.fromkeys((DEFAULT_SCHEDULER, *running, *profiles)))


class Utterance(Struct, frozen=True):
    """A condition or event with a scheduler's message about a pod or its group."""

    origin: str
    """``condition PodScheduled``, ``event``, ``PodGroup ml/ring``."""
    reason: str
    message: str
    time: str
    """The time of the message (RFC 3339); empty if unknown."""

    @property
    def is_own(self) -> bool:
        """True if only the scheduler writes such a message; False for the phase of a group, which
        the group's controller writes as well.
        """
        return self.reason != _PHASE

    @property
    def text(self) -> str:
        """``in condition PodScheduled (Unschedulable, 2026-11-27T08:00:00Z): "..."``."""
        origin = "an event" if self.origin == _EVENT else self.origin
        details = ", ".join(filter(None, (self.reason, self.time)))
        message = f': "{self.message}"' if self.message else ""
        return f"in {origin}" + (f" ({details})" if details else "") + message


class PodScheduler(Struct, frozen=True):
    """The scheduler that a pod names in ``spec.schedulerName``."""

    name: str
    facts: SchedulerFacts | None
    """The facts about the scheduler; None for an unknown one."""
    workloads: tuple[SchedulerWorkload, ...]
    """The workloads in the input that run the scheduler."""
    profile: Profile | None
    """The profile of that name, if a configuration is in the input."""
    words: tuple[Utterance, ...]
    """The scheduler's messages about the pod, followed by its messages about the pod's group."""
    absent: bool
    """True if the input shows all pods, and none of them runs the scheduler."""
    nearest: str
    """A similar name for which a workload schedules pods, or that dractl knows; empty if there is
    none.
    """
    nearest_runs: bool
    """True if a workload schedules pods for the nearest name."""

    @property
    def is_default(self) -> bool:
        """True for the name that pods have by default."""
        return self.name == DEFAULT_SCHEDULER

    @property
    def runs(self) -> bool | None:
        """True if a workload runs the scheduler, or if the scheduler has written about the pod.
        False if all pods are known and none runs it; None if that is unknown.
        """
        if self.is_default or self.workloads or any(word.is_own for word in self.words):
            return True
        return False if self.absent else None

    @property
    def may_run(self) -> bool:
        """True if the scheduler runs, or dractl knows it and it may run: dractl then leaves its
        pods to it.
        """
        return self.runs is True or self.facts is not None

    @property
    def is_kube_scheduler(self) -> bool:
        """True if the scheduler decides as kube-scheduler does: it is a profile or a workload of
        kube-scheduler itself, not of a scheduler that is built on kube-scheduler.
        """
        if self.is_default:
            return True
        if self.profile is not None and not self.profile.allocates:
            return False
        if self.workloads:
            return all(workload.runs_kube_scheduler for workload in self.workloads)
        return self.profile is not None and self._is_kube_or_unknown

    @property
    def _is_kube_or_unknown(self) -> bool:
        return self.facts is None or self.facts is schedulers()[KUBE_SCHEDULER]

    @property
    def title(self) -> str:
        """``KAI Scheduler 0.14.0``; the name of an unknown scheduler."""
        if self.facts is None or self._is_kube_or_unknown:
            return self.name
        return " ".join(filter(None, (self.facts.title, self.version)))

    @property
    def version(self) -> str:
        """The version in the tag of the scheduler's image; empty if none is known."""
        return next((workload.version for workload in self.workloads if workload.version), "")

    @property
    def allocates(self) -> bool | None:
        """True if the scheduler allocates the claims of pods; None for an unknown scheduler."""
        if self.profile is not None and not self.profile.allocates:
            return False
        if self.facts is None:
            return True if self.is_kube_scheduler else None
        return self.facts.allocates_in(self.version)


def identify(state: ClusterState, name: str) -> PodScheduler:
    """Return the scheduler of a name, as far as the input shows it, without its messages about a
    pod.
    """
    if name == DEFAULT_SCHEDULER:
        return PodScheduler(name, None, (), None, (), False, "", False)
    survey = survey_of(state)
    workloads = tuple(one for one in survey.workloads if one.answers_to(name))
    profile = next((one for one in survey.profiles if one.name == name), None)
    facts = next((one.facts for one in workloads if one.facts is not None), None)
    facts = facts or scheduler_named(name)
    if facts is None and profile is not None:
        facts = schedulers()[KUBE_SCHEDULER]
    if facts is None:
        workloads = tuple(_namesakes(state, name))
    near = "" if facts is not None or workloads else _nearest(name, survey)
    absent = not workloads and _shows_all_pods(state)
    return PodScheduler(name, facts, workloads, profile, (), absent, near, near in survey.names)


def scheduler_of(state: ClusterState, pod: Raw, key: Key) -> PodScheduler:
    """Return the scheduler that a pod names, with its own words about the pod."""
    view = Pod(pod, key)
    scheduler = identify(state, view.scheduler_name)
    if scheduler.is_default:
        return scheduler
    words = tuple(_words(state, view, scheduler.name, scheduler.facts))
    return replace(scheduler, words=words, nearest="" if words else scheduler.nearest)


def as_default(state: ClusterState, name: str) -> ClusterState:
    """Return the cluster in which the pods of another scheduler name the default one, so that
    kube-scheduler queues them.
    """
    with_pods = [kind for kind in state.kinds if kind == "Pod" or kind not in API_GROUPS]
    kinds = {kind: _drop_name(state.objects(kind), name) for kind in with_pods}
    return state.with_kinds(
        {kind: objects for kind, objects in kinds.items() if objects is not None}
    )


def _drop_name(objects: Mapping[Key, Raw], name: str) -> dict[Key, Raw] | None:
    """Return the objects with a scheduler's name removed from their pod specs; None if no object
    has the name.
    """
    changed: dict[Key, Raw] = {}
    for key, value in objects.items():
        for path, spec in pod_templates(value):
            if spec.get("schedulerName") == name:
                changed[key] = remove_at(changed.get(key, value), (*path, "schedulerName"))
    return {**objects, **changed} if changed else None


def _nearest(name: str, survey: Survey) -> str:
    """Return the known name that is nearest to a misspelt one; names of schedulers that run come
    first.
    """
    if name == KUBE_SCHEDULER:
        return DEFAULT_SCHEDULER  # a pod may name the program instead of its profile
    every = (known for facts in schedulers().values() for known in facts.names)
    return nearest(name, survey.names) or nearest(name, every) or ""


def _shows_all_pods(state: ClusterState) -> bool:
    """Return True if pods of all namespaces are in the input.

    This is so for a live cluster in which the user can read all pods, and for a dump with pods of
    kube-system, since every cluster has such pods.
    """
    if state.read_at is not None:
        return not any(unread.kind == "Pod" for unread in state.rights.unread)
    return any(key[0] == _SYSTEM for kind in ("Pod", "Deployment") for key in state.objects(kind))


# -- what runs --


@derive_from(*_WORKLOADS, "Pod", "ConfigMap")
def survey_of(state: ClusterState) -> Survey:
    """Return the schedulers of a cluster."""
    profiles = tuple(_profiles(state.objects("ConfigMap")))
    return Survey(tuple(_workloads(state, profiles)), profiles)


def _workloads(state: ClusterState, profiles: Iterable[Profile]) -> Iterator[SchedulerWorkload]:
    """Yield the workloads and pods that run a known scheduler, or are given a scheduler's name."""
    by_map: dict[str, list[str]] = {}
    for profile in profiles:
        by_map.setdefault(profile.config_map, []).append(profile.name)
    for kind in _WORKLOADS:
        for key, value in state.objects(kind).items():
            workload = Workload(value, key)
            if workload.replicas != 0:
                ready = _is_available(kind, workload)
                yield from _workload(kind, key, workload.template_pod, by_map, ready=ready)
    for key, pod in state.pods.items():
        if not pod.has_ended:
            yield from _workload("Pod", key, pod, by_map, ready=pod.phase != "Pending")


def _is_available(kind: str, workload: Workload) -> bool:
    """Return True if a workload has an available pod, or if no controller has reported on it."""
    field = "numberAvailable" if kind == "DaemonSet" else "availableReplicas"
    return not workload.status or bool(workload.status.get(field))


def _workload(
    kind: str, key: Key, pod: Pod, by_map: Mapping[str, list[str]], *, ready: bool
) -> Iterator[SchedulerWorkload]:
    """Yield a workload for each container of its ``pod`` that runs a scheduler."""
    for container in map(Container, pod.main_containers):
        words, facts = container.command_line, _facts_of(container)
        names = tuple(_options(words, "--scheduler-name"))
        if facts is None and not names:
            continue
        names = (*names, *_profile_names(pod, key[0], by_map))
        if facts is not None and not names:
            names = facts.names if facts is not schedulers()[KUBE_SCHEDULER] else ()
        version = (facts.version_of(container.image) if facts is not None else "") or ""
        hints = () if names else (*_workload_names(kind, key[1]), *_argument_names(words))
        yield SchedulerWorkload("/".join((kind, *key)), facts, version, names, hints, ready)


def _namesakes(state: ClusterState, name: str) -> Iterator[SchedulerWorkload]:
    """Yield the workloads and pods that have the name of an unknown scheduler."""
    for kind in (*_WORKLOADS, "Pod"):
        for key, value in state.objects(kind).items():
            if name in _workload_names(kind, key[1]) and Workload(value).replicas != 0:
                yield SchedulerWorkload("/".join((kind, *key)), None, "", (name,), (), ready=True)


def _workload_names(kind: str, name: str) -> Iterator[str]:
    """Yield the scheduler names that a workload's own name may contain; the name of a pod has up to
    two suffixes.
    """
    for _ in range(3 if kind == "Pod" else 1):
        if name and name != KUBE_SCHEDULER:
            yield name
        name = name.rpartition("-")[0]


def _argument_names(words: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a command line in which people write a kube-scheduler's name."""
    yield from _options(words, "--leader-elect-resource-name")
    for path in _options(words, "--config"):
        yield from (part.partition(".")[0] for part in path.split("/") if part)


def _options(words: Sequence[str], option: str) -> Iterator[str]:
    """Yield the values of an option in a command line."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option and equals:
            yield value
        elif name == option and index + 1 < len(words):
            yield words[index + 1]


def _profile_names(pod: Pod, namespace: str, by_map: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the names of the profiles in the ConfigMaps that a pod mounts."""
    for name in pod.config_map_names:
        yield from by_map.get(f"ConfigMap/{namespace}/{name}", ())


# -- profiles --


def config_maps(state: ClusterState) -> tuple[Key, ...]:
    """Return the ConfigMaps that are mounted by workloads that run kube-scheduler or are given its
    configuration.
    """
    keys: dict[Key, None] = {}
    for kind in (*_WORKLOADS, "Pod"):
        for key, value in state.objects(kind).items():
            pod = Pod(value) if kind == "Pod" else Workload(value).template_pod
            if any(map(_runs_kube_scheduler, map(Container, pod.main_containers))):
                names = filter(is_safe_name, pod.config_map_names)
                keys |= dict.fromkeys((key[0], name) for name in names)
    return tuple(keys)


def _runs_kube_scheduler(container: Container) -> bool:
    return _facts_of(container) is schedulers()[KUBE_SCHEDULER]


def _facts_of(container: Container) -> SchedulerFacts | None:
    """Return the scheduler that a container runs, judging by its image and its command."""
    facts = scheduler_of_image(container.image)
    program = next(iter(container.command), "").rpartition("/")[2]
    if facts is None and program == KUBE_SCHEDULER:
        return schedulers()[KUBE_SCHEDULER]
    return facts


def _profiles(config_maps: Mapping[Key, Raw]) -> Iterator[Profile]:
    """Yield the profiles of the kube-scheduler configurations in ConfigMaps."""
    for key, value in config_maps.items():
        target = "/".join(("ConfigMap", *key))
        for text in ConfigMap(value).texts.values():
            if SCHEDULER_CONFIGURATION in text[:_MAX_CONFIGURATION]:
                yield from _profiles_in(target, text[:_MAX_CONFIGURATION])


def _profiles_in(target: str, text: str) -> Iterator[Profile]:
    for document in read_text(target, text):
        value = document.value if isinstance(document, Document) else None
        if not isinstance(value, dict) or value.get("kind") != SCHEDULER_CONFIGURATION:
            continue
        for profile in SchedulerConfiguration(value).profiles:
            yield Profile(
                target,
                profile.scheduler_name,
                profile.enabled,
                profile.disabled,
                _allocates(profile),
            )


def _allocates(profile: SchedulerProfile) -> bool:
    """Return True unless a profile disables plugin DynamicResources at an extension point that it
    needs (kubernetes pkg/scheduler/framework/runtime/framework.go, expandMultiPointPlugins).
    """
    for point in _POINTS:
        enabled, disabled = profile.list_enabled(point), profile.list_disabled(point)
        if _PLUGIN not in enabled and {_PLUGIN, "*"} & set(disabled):
            points = _POINTS[1:] if point == "multiPoint" else ()
            elsewhere = [_PLUGIN in profile.list_enabled(other) for other in points]
            if not elsewhere or not all(elsewhere):
                return False
    return True


# -- its own words --


def group_name(pod: Pod, facts: SchedulerFacts | None) -> str:
    """Return the name of the object that a scheduler uses for a pod's group; empty if there is
    none.
    """
    return _metadata_value(pod, facts.group.keys) if facts is not None and facts.group else ""


def queue_name(pod: Pod, facts: SchedulerFacts | None) -> str:
    """Return the queue that a pod names; empty if it names none."""
    return _metadata_value(pod, facts.queue_keys) if facts is not None else ""


def _metadata_value(pod: Pod, keys: Iterable[str]) -> str:
    maps = (pod.labels, pod.annotations)
    names = (str(values[key]) for key in keys for values in maps if values.get(key))
    return next(names, "")


def _words(
    state: ClusterState, pod: Pod, name: str, facts: SchedulerFacts | None
) -> Iterator[Utterance]:
    """Yield the messages that a scheduler has written about a pod and its group."""
    types = facts.condition_types if facts is not None else ("PodScheduled",)
    messages = set()
    for condition in pod.condition_entries:
        is_gated = condition.reason == "SchedulingGated"  # only the API server writes this reason
        if condition.type in types and condition.status != "True" and not is_gated:
            messages.add(condition.message)
            yield _utterance(f"condition {condition.type}", condition, condition.reason)
    reporters = {name, *(facts.reporters if facts is not None else ())}
    events = [e for e in _events(state, pod, reporters) if e.message not in messages]
    newest = {event.message: event for event in sorted(events, key=lambda event: event.time)}
    yield from list(newest.values())[-_MAX_EVENTS:][::-1]
    yield from _group_words(state, pod, facts)


def _utterance(origin: str, condition: Condition, reason: str) -> Utterance:
    return Utterance(origin, reason, condition.message, condition.last_transition)


def _events(state: ClusterState, pod: Pod, reporters: set[str]) -> Iterator[Utterance]:
    """Yield the events about a pod that these reporters wrote."""
    for event in state.events_of(pod.key):
        is_about_pod = event.regarding.uid in ("", pod.uid) and event.regarding.kind in ("", "Pod")
        if is_about_pod and event.reporters & reporters:
            yield Utterance(_EVENT, event.reason, event.message, event.last_seen)


def _group_words(
    state: ClusterState, pod: Pod, facts: SchedulerFacts | None
) -> Iterator[Utterance]:
    """Yield the newest condition, or the phase, of the object of a pod's group."""
    name = group_name(pod, facts)
    if facts is None or facts.group is None or not name:
        return
    group = SchedulerGroup(state.get(facts.group.resource, (pod.key[0], name)))
    origin = f"PodGroup {pod.key[0]}/{name}"
    condition = group.last_condition(facts.group.conditions or "")
    if condition.message:
        yield _utterance(origin, condition, condition.type)
    elif group.phase:
        yield Utterance(origin, _PHASE, group.phase, "")
