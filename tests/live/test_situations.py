"""The fix that explain prints, pasted on a control plane that has the situation: the pod that waited gets a node.

Situations are the recorded ones, loaded with their status, and the stories of ``invented.py``, played. They are many:
``pytest -m live tests/live/test_situations.py -k 33-nodename`` runs one of them.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pytest

from tests.live.invented import EVERY
from tests.live.plane import Plane, oracle
from tests.live.situations import NOTHING_TO_APPLY, after, oncall, play, scheduling
from tests.live.stories import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.live.situations import Situation
    from tests.live.stories import Story

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

NOT_LOADED = {
    "35-driver-not-registered-on-kubelet": "the pod is scheduled already: its kubelet is the matter",
    "47-admission-policy-rejects-claims": "the dump lacks the admission policy that refuses the claim",
    "246-gke-node-without-plugin-label": "the plane has no driver, which would publish devices on the labelled nodes",
    "248-admin-access-old-label": "a server takes no template with adminAccess in a namespace without the label",
    "252-raycluster-worker": "KubeRay, which makes the deleted workers anew, is not on a plane",
    "279-csi-volume-limit": "the dump lacks the CSINode that has the limit",
    "340-gang-one-worker-too-many": "PodGroups are an API that a plane does not serve (test_gangs.py has it)",
    "342-podgroup-missing": "PodGroups are an API that a plane does not serve",
    "415-dump-lacks-claims-of-other-namespaces": "what the dump lacks keeps the pod from its node",
    "84-scheduler-does-not-run": "the scheduler of the plane runs",
    "freed-but-not-tried-again": "the scheduler of the plane does not hang: it places the pod at once",
    "match-list-attribute": "its gate differs between server and scheduler; a plane has one set of gates",
}


@pytest.fixture(scope="module")
def plane() -> Iterator[Callable[[Mapping[str, bool]], Plane]]:
    """Control planes by their feature gates, one at a time."""
    module = oracle()
    if module is None:
        pytest.skip("no conformance data, or the cluster program is not built")
    running: list[tuple[Mapping[str, bool], Plane]] = []

    def with_gates(gates: Mapping[str, bool]) -> Plane:
        if running and dict(running[0][0]) != dict(gates):
            running.pop()[1].__exit__()
        if not running:
            running.append((gates, Plane(module, gates).__enter__()))
        return running[0][1]

    yield with_gates
    for _, last in running:
        last.__exit__()


@pytest.mark.parametrize("situation", [*oncall(), *scheduling()], ids=lambda s: s.name)
def test_the_fixes_of_a_recorded_situation(plane: Any, situation: Situation) -> None:
    """Each as ``--patch N`` prints it, on the situation as it was; ``-rP`` shows what came of them."""
    if situation.name in NOT_LOADED:
        pytest.skip(NOT_LOADED[situation.name])
    outcomes = []
    for outcome in play(plane(situation.gates), situation):
        print(
            situation.name, outcome.state, outcome.title, outcome.detail, outcome.unsaid, sep=" | "
        )
        outcomes.append(outcome)
    for outcome in outcomes:
        assert outcome.state in {"scheduled", *NOTHING_TO_APPLY}, (
            f"{outcome.script}{outcome.detail}"
        )
        assert outcome.unsaid == (), f"{outcome.script}ends pods that it does not name"


@pytest.mark.parametrize("story", EVERY, ids=lambda s: s.name)
def test_a_story(plane: Any, story: Story) -> None:
    running = plane(story.gates)
    tell(running, story)
    namespace, kind, name = story.subject.split("/")
    name = find_waiting_pod(running, namespace, name)
    done = running.dractl("explain", f"{kind}/{name}", "-n", namespace, "-o", "json")
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    answer = answer.get("subjects", [answer])[0]
    first = [reason["message"] for reason in answer["reasons"][: max(2, len(story.says))]]
    assert missing_ideas(story.says, [answer["headline"], first, answer["notes"]]) == []
    fixes = [[fix["title"], fix["effect"]] for fix in answer["fixes"][:2]]
    assert missing_ideas(story.does or (), [fixes, answer.get("next")]) == []
    if story.applies:
        outcome = after(running, kind, namespace, name, answer["fixes"][0])
        assert outcome.state == "scheduled", f"{outcome.script}{outcome.detail}"


def find_waiting_pod(plane: Plane, namespace: str, pattern: str) -> str:
    """The name of a pod that waits, where the story names only its beginning."""
    if "*" not in pattern:
        return pattern
    pods = [p for p in plane.pods() if p["metadata"]["namespace"] == namespace]
    found = [
        p
        for p in pods
        if fnmatch(p["metadata"]["name"], pattern) and "deletionTimestamp" not in p["metadata"]
    ]
    name: str = min(found, key=lambda p: "nodeName" in p["spec"])["metadata"]["name"]
    return name


def missing_ideas(ideas: Any, spoken: Any) -> list[Any]:
    """The ideas of which no wording occurs; digits must stand alone."""
    text = words(spoken).lower()

    def contains_wording(wording: str) -> bool:
        return (
            bool(re.search(rf"(?<![\w.]){wording}(?![\w.]*\w)", text))
            if wording.isdigit()
            else wording in text
        )

    return [idea for idea in ideas if not any(map(contains_wording, idea))]


def words(value: Any) -> str:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return " | ".join(map(words, value))
    return "" if value is None else str(value)
