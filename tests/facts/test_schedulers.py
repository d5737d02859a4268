"""Facts about other schedulers, and how their images and versions are read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dractl.facts import check, pack
from dractl.facts.pack import Damaged, Pack, head_of
from dractl.facts.schedulers import Limit, scheduler_named, scheduler_of_image, schedulers

DATA = Path(pack.__file__).parent / "data"


@pytest.mark.parametrize(
    ("image", "name", "version"),
    [
        ("ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.14.0", "kai", "0.14.0"),
        ("ghcr.io/nvidia/kai-scheduler/scheduler:v0.9.5-fips", "kai", "0.9.5"),
        ("docker.io/volcanosh/vc-scheduler:v1.12.0", "volcano", "1.12.0"),
        ("apache/yunikorn:scheduler-1.6.0", "yunikorn", "1.6.0"),
        ("apache/yunikorn:scheduler-amd64-latest", "yunikorn", ""),
        ("registry.example.com:5000/vc-scheduler", "volcano", ""),
        ("koordinator-sh/koord-scheduler:v1.8.0@sha256:0a1b", "koordinator", "1.8.0"),
        ("registry.k8s.io/kube-scheduler:v1.37.2", "kube-scheduler", "1.37.2"),
    ],
)
def test_an_image_names_its_scheduler_and_version(image: str, name: str, version: str) -> None:
    scheduler = scheduler_of_image(image)
    assert scheduler is schedulers()[name]
    assert scheduler.version_of(image) == version


@pytest.mark.parametrize(
    "image",
    ["apache/yunikorn:admission-1.6.0", "example.com/scheduler:1", "my-kube-scheduler:1.0", ""],
)
def test_other_images_are_of_no_scheduler(image: str) -> None:
    assert scheduler_of_image(image) is None


def test_each_name_is_of_one_scheduler() -> None:
    names = [name for scheduler in schedulers().values() for name in scheduler.names]
    assert len(names) == len(set(names))
    assert all(scheduler_named(name) is not None for name in names)
    assert scheduler_named("default-scheduler") is None


@pytest.mark.parametrize(
    ("since", "until", "version", "concerned"),
    [
        ("", "", "", True),
        ("", "0.14.0", "", False),
        ("0.13.0", "", "", True),
        ("", "0.14.0", "0.13.9", True),
        ("", "0.14.0", "0.14.0", False),
        ("0.9.5", "", "0.9.4", False),
        ("0.9.5", "", "0.10.0", True),
    ],
)
def test_a_limit_concerns_the_versions_between_its_bounds(
    since: str, until: str, version: str, concerned: bool
) -> None:
    limit = Limit(when="claims", text="x", source="y", since=since, until=until)
    assert limit.concerns(version) is concerned


def test_a_pack_without_kube_scheduler_is_damaged(tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy)
    file = copy / "schedulers.json"
    rows = json.loads(file.read_bytes())
    del rows["kube-scheduler"]
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(Damaged, match=r"schedulers\.json lacks kube-scheduler"):
        check.check(Pack(folder=copy, origin=str(copy), head=head_of(copy)))


def test_facts_about_schedulers_age() -> None:
    parts = dict(check.dates_of_parts(pack.current()))
    assert parts["scheduler Volcano"] == schedulers()["volcano"].read
