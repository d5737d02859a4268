"""Drivers that speak none of the API versions that a release serves, so that their slices and
claims stop working.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from dractl.cluster import ClusterState
from dractl.facts.drivers import names
from dractl.facts.helpers import Speech, first_speaker, speech_of
from dractl.facts.images import runs, versions_that_run
from dractl.model.releases import served_versions
from dractl.objects import Raw, slice_of
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import RuntimeConfig, list_ended_versions, versions_after
from dractl.views import View

DRIVER_API = "driver-api"
_KIND = "ResourceSlice"
_GROUP = "resource.k8s.io/"


class Speaker(Struct, frozen=True):
    """A driver that runs, with the API versions that it speaks."""

    name: str
    """The name of the driver."""
    speaks: tuple[str, ...]
    """The apiVersions."""
    evidence: str
    """The evidence of these versions, as a phrase."""
    objects: tuple[str, ...]
    """The workloads that run the driver, and the driver's slices."""
    source: str | None = None
    """The source of the fact about the image; None if the slices show the version."""
    read: str | None = None
    """The date of that fact."""
    speech: Speech | None = None
    """The fact about the image; None if the slices show the version."""


class Drivers(Struct, frozen=True):
    """The drivers of an input."""

    speakers: tuple[Speaker, ...]
    """The drivers whose versions of the API are known."""
    silent: Mapping[str, str]
    """The reasons why the versions of other drivers are unknown, by name of the driver."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all drivers of the input."""
        return frozenset((*(one.name for one in self.speakers), *self.silent))


def find_drivers(state: ClusterState, others: Iterable[Raw], release: str) -> Drivers:
    """Return the drivers that run or have slices, and the versions of the API that they speak.

    The tag of the driver's image determines the versions, or else the managed fields of its slices.
    With the helper library of 0.34 or later, a driver writes v1 if the release serves it. So a
    driver that writes an older version to such a release speaks only that version.
    """
    objects = [value for kind in state.kinds for value in state.objects(kind).values()]
    objects += others
    tags = versions_that_run(objects)
    slices: dict[str, list[Raw]] = {}
    for value in state.objects(_KIND).values():
        slices.setdefault(slice_of(value).driver, []).append(value)
    speakers, silent = [], {}
    for name in dict.fromkeys((*tags, *slices)):
        speaker = _by_image(name, tags.get(name, "")) or _by_fields(
            name, slices.get(name, ()), release
        )
        workloads = tuple(dict.fromkeys(runs(name, objects)))
        if speaker is None:
            silent[name] = _silence(name, tags.get(name), has_workloads=bool(workloads))
            continue
        slice_names = tuple(f"{_KIND}/{View(value).name}" for value in slices.get(name, ()))
        speakers.append(
            Speaker(
                name,
                speaker.speaks,
                speaker.evidence,
                (*workloads, *slice_names),
                speaker.source,
                speaker.read,
                speaker.speech,
            )
        )
    return Drivers(tuple(speakers), silent)


def _silence(name: str, tag: str | None, *, has_workloads: bool) -> str:
    """Return why the versions of the API that a driver speaks are unknown."""
    if name not in names():
        return "dractl does not know its images"
    if tag:
        return f"the version {tag} of its image is not known"
    return "its image has no version" if has_workloads else "no pod of it is in the input"


def _by_image(name: str, tag: str) -> Speaker | None:
    speech = speech_of(name, tag) if tag else None
    if speech is None:
        return None
    return Speaker(
        name, speech.speaks, f"{name} {tag}", (), speech.source, speech.read, speech=speech
    )


def _by_fields(name: str, slices: Iterable[Raw], release: str) -> Speaker | None:
    if _GROUP + "v1" not in served_versions(_KIND, release):
        return None
    api_versions = {
        manager.api_version
        for value in slices
        for manager in View(value).field_managers
        if manager.api_version.startswith(_GROUP)
    }
    if not api_versions or _GROUP + "v1" in api_versions:
        return None
    versions = tuple(sorted(api_versions))
    return Speaker(name, versions, f"{name}, by the managed fields of its slices,", ())


def differences(
    drivers: Iterable[Speaker], before: str, after: str, config: RuntimeConfig
) -> Iterator[Finding]:
    """Yield a break for each driver that speaks with the API server of ``before``, but not with the
    API server of ``after``.
    """
    served = versions_after(_KIND, before, after, config)
    for driver in drivers:
        for spoken, verb, effect in _uses(driver):
            known_before = not set(spoken).isdisjoint(served_versions(_KIND, before))
            if known_before and served.isdisjoint(spoken):
                yield _break(driver, spoken, f"{verb} {', '.join(spoken)}", effect, after)
                break


def _uses(driver: Speaker) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the apiVersions that a driver needs, each with the verb for its use, and with the
    consequence if it is not served.
    """
    yield driver.speaks, "speaks", "it publishes no slices, and its claims are not prepared"
    if driver.speech is not None and driver.speech.claim_versions:
        yield (
            driver.speech.claim_versions,
            "gets claims to unprepare in",
            "its claims are not unprepared, and pods that have them stay Terminating",
        )


def _break(
    driver: Speaker, versions: tuple[str, ...], use: str, effect: str, after: str
) -> Finding:
    spoken = [one for one in versions if one in served_versions(_KIND, after)]
    ending = (
        "serves only if --runtime-config of kube-apiserver names it"
        if spoken
        else "no longer serves"
    )
    return Finding(
        DRIVER_API,
        "breaks",
        f"{driver.evidence} {use} alone, which {after} {ending}: {effect}",
        driver.objects,
        None,
        _fix(driver, after, spoken),
        driver.source,
        driver.read,
    )


def _fix(driver: Speaker, after: str, spoken: list[str]) -> str:
    served = frozenset(served_versions(_KIND, after, by_default=True))
    first = first_speaker(driver.name, served) if driver.speech is not None else None
    later = f"upgrade the driver {driver.name} to "
    later += f"{first} or later" if first else f"a version that speaks {', '.join(sorted(served))}"
    flag = f", or keep --runtime-config={spoken[0]}=true for a while" if spoken else ""
    return later + flag


def list_unknown(drivers: Drivers, path: Iterable[str], config: RuntimeConfig) -> Iterator[str]:
    """Yield the drivers whose API versions are unknown, if a release on the path stops serving a
    version.
    """
    ended = list_ended_versions(_KIND, path, config)
    if ended:
        for name, why in drivers.silent.items():
            yield f"whether {name} speaks another version than {', '.join(ended)}: {why}"
