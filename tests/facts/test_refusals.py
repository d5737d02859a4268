"""The facts about refusals: their patterns, and which entry explains words."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dractl.facts import pack
from dractl.facts.check import check
from dractl.facts.pack import Damaged, Pack
from dractl.facts.refusals import (
    FOLDER,
    KUBELET,
    OTHERS,
    RefusalFact,
    clean_words,
    compile_pattern,
    match_words,
    refusal_file,
    refusals,
)
from tools.refusals import explain_format, fill_format, list_formats

TOOL = Path(__file__).parent.parent.parent / "tools" / "refusals.py"
NVIDIA = "gpu.nvidia.com"
BUSY = 'error waiting for GPU "0000:11:00.0" to be free: timed out waiting for gpu to be free'


def explain_words(words: str, driver: str = NVIDIA, *types: str) -> str | None:
    match = match_words(words, refusals(driver), types)
    return match.fact.id if match is not None else None


def test_words_are_explained_without_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compile_pattern.cache_clear()
    assert explain_words(BUSY) == "vfio-busy"
    compile_pattern.cache_clear()


def test_the_innermost_error_decides() -> None:
    outer = "unable to create CDI spec file for claim: failed to write spec: "
    assert explain_words(outer + "write /run/cdi/s.tmp: no space left on device") == "disk-full"
    assert explain_words(outer + "invalid CDI Spec: invalid spec, no devices") == "cdi-no-devices"
    assert explain_words(outer) == "cdi-unwritten"


def test_unknown_driver_has_the_words_of_shared_libraries() -> None:
    assert explain_words("prepare failed: checkpoint is corrupted", "acc.example.com") == (
        "checkpoint-corrupt"
    )
    assert explain_words("the flux capacitor is empty", "acc.example.com") is None


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        # k8snetworkplumbingwg/dra-driver-ovsdpdk pkg/devicestate/devicestate.go
        ("multiple pods found for claim ml/c not supported", "pods-of-claim"),
        # johnahull/dra-driver-nvme@47d96a0 state.go
        ("NVMe device not found: nvme0", "not-allocatable"),
        ("failed to read IOMMU group for 0000:01:00.0: readlink", "vfio"),
        # Project-HAMi/ascend-dra-driver@dc1db52 api validate.go
        ("unknown NPU sharing strategy: Half", "sharing"),
        # johnahull/dra-driver-nvme@47d96a0 api.go, state.go
        ('invalid mode "raw": must be "block" or "vfio"', "invalid-config"),
        ("claim 0-1 is already being prepared", "serialized"),
        # kubernetes-sigs/dra-example-driver, profiles/vfio
        ("no IOMMU group for 0000:01:00.0: readlink", "vfio"),
        # RBLN-SW/rbln-k8s-dra-driver@dd9af1b state.go
        (
            'stat device "/dev/rbln0": stat /dev/rbln0: no such file or directory',
            "device-file-absent",
        ),
        # gclawes/dra-driver-rockchip@3aac1c8
        ("device npu-0 node /dev/dri/renderD129 is not available", "device-file-absent"),
        # ibm-aiu/dra-driver-spyre@ea0e624 senlib_config_generator.go
        ("error opening file: open /etc/senlib.json: no such file or directory", "file-absent"),
        # k8snetworkplumbingwg/dra-driver-ovsdpdk@fa2d316 pkg/socketfs
        ("resolve user: lookup user: unknown user qemu", "account-absent"),
        ("apply permissions: setfacl binary not found", "program-absent"),
        # ibm-aiu/dra-driver-spyre@ea0e624 state.go
        ("requested devices are not the same type: a, b, please use pre-defined class", None),
    ],
)
def test_drivers_without_entries_share_those_of_others(words: str, entry: str | None) -> None:
    assert explain_words(words, "acc.example.com") == entry


def test_words_of_one_driver_are_not_taken_for_those_of_another() -> None:
    words = "feature tso not supported by interface"
    assert explain_words(words, "dra.net") == "ethtool-feature"
    assert explain_words(words, NVIDIA) is None


def test_delegating_driver_is_distinguished_from_the_preparing_one() -> None:
    words = "prepare gpu.nvidia.com via gRPC: requested device is not allocatable: gpu-0"
    match = match_words(words, refusals("composite.dra.example.io"))
    assert match is not None
    assert (match.fact.id, match.groups) == ("other-driver", {"other": "gpu.nvidia.com"})


def test_partitions_in_use_keep_the_mode_of_an_amd_gpu() -> None:
    words = 'GPU 0 is already in compute mode "cpx", cannot switch to "spx" while allocations exist'
    assert explain_words(words, "gpu.amd.com") == "partition-mode"
    assert explain_words("kmm driver reload in progress, memory", "gpu.amd.com") == "driver-reload"


def test_an_entry_can_be_about_one_type_of_device() -> None:
    words = (
        "NodePrepareResources: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )
    assert explain_words(words, NVIDIA, "vfio") == "vfio-deadline"
    assert explain_words(words, NVIDIA, "gpu") is None


def test_fork_has_the_words_of_its_original_driver() -> None:
    assert explain_words(BUSY, "compute-domain.nvidia.com") == "vfio-busy"


@pytest.mark.parametrize(
    "words",
    [
        f"\x1b[31m{BUSY}\x1b[0m",
        "<pre>" + BUSY.replace('"', "&quot;") + "</pre>",
        BUSY.replace(" to be", "\x07 to be"),
        "x" * 900 + BUSY[:60],
    ],
    ids=["colours", "markup", "control characters", "cut"],
)
def test_words_are_recognized_inside_wrapping_messages(words: str) -> None:
    assert explain_words(words) == "vfio-busy"


def test_a_translated_message_is_not_explained() -> None:
    assert explain_words("Gerät oder Ressource belegt") is None
    assert explain_words("") is None


def test_angle_bracket_outside_markup_stays() -> None:
    assert clean_words("want < 3, got <nil>") == "want < 3, got <nil>"
    assert clean_words("wanted a<b") == "wanted a<b"


def test_only_sick_hardware_is_to_be_reset_or_replaced() -> None:
    for name in pack.current().entries(FOLDER):
        file = refusal_file(name)
        assert file is not None
        for fact in file.refusals:
            texts = [step.do for advice in fact.advices for step in advice.steps]
            advises = any("replace" in text or "reset or" in text for text in texts)
            assert not advises or fact.blames == "hardware", (name, fact.id)
            corrects = any("correct the parameters" in text for text in texts)
            assert not corrects or fact.blames in ("parameters", "claim"), (name, fact.id)


def test_every_entry_has_meaning_steps_and_source() -> None:
    for name in pack.current().entries(FOLDER):
        file = refusal_file(name)
        assert file is not None
        assert file.source
        for fact in file.refusals:
            assert fact.meaning, (name, fact.id)
            assert fact.steps, (name, fact.id)
            assert fact.source, (name, fact.id)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": ["(?P<a>"]}, "no pattern"),
        ({"words": ["(?<=a)b"]}, "no pattern"),
        ({"meaning": ["of {nobody}"]}, "nothing gives {nobody} a value"),
        ({"steps": [{"do": "see {node.name}"}]}, "not a name alone"),
    ],
)
def test_a_pack_with_a_wrong_refusal_is_not_used(change: dict[str, object], message: str) -> None:
    entry = {
        "id": "a",
        "words": ["a"],
        "blames": "node",
        "meaning": ["m"],
        "steps": [{"do": "d"}],
        "source": "s",
        **change,
    }
    file = {"of": NVIDIA, "source": "s", "read": "2026-11-27", "refusals": [entry]}
    built_in = pack.built_in()
    extra = {f"{FOLDER}/{NVIDIA}.json": json.dumps(file).encode()}
    with pytest.raises(Damaged, match=message):
        check(Pack(folder=built_in.folder, origin="test", head=built_in.head, extra=extra))


def test_the_kubelet_has_words_of_its_own() -> None:
    facts: tuple[RefusalFact, ...] = refusals(KUBELET)
    words = "old ResourceClaim with same name c and different UID 0-1 still exists"
    match = match_words(words, facts)
    assert match is not None
    assert match.fact.id == "old-claim"
    assert match.groups == {"named": "c", "claim_uid": "0-1"}


FORMATS = sorted((Path(__file__).parent.parent / "data" / "refusals").glob("*.json"))


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_each_format_of_a_driver_hits_its_entry_or_is_quoted(path: Path) -> None:
    """The formats are those of the driver's source code that can reach a pod's event."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    formats = {text: entry for _, text, entry in recorded["formats"]}
    explained_formats = {text: explain_format(recorded["driver"], text) for text in formats}
    assert explained_formats == formats


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_quoted_formats_only_wrap_another_error(path: Path) -> None:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    quoted = [text for _, text, entry in recorded["formats"] if entry is None]
    assert len(quoted) <= max(3, len(recorded["formats"]) // 5)


def test_every_driver_of_the_pack_with_entries_is_read_from_its_source() -> None:
    files = set(pack.current().entries(FOLDER)) - {*OTHERS, "net.example.com"}
    assert files == {path.stem for path in FORMATS}


def test_a_format_is_filled_with_neutral_values() -> None:
    assert fill_format("claim %s has %d of %q: %w (100%%)") == 'claim 0a1b has 7 of "0a1b":  (100%)'


CODE = """package driver

import "example.com/driver/pkg/store"

var ErrHidden = errors.New("hidden in a variable")

func (d *driver) PrepareResourceClaims(ctx context.Context) error {
	if err := d.state.Prepare(ctx); err != nil {
		return fmt.Errorf("error preparing devices for claim %v: %w", uid, err)
	}
	return store.Save()
}

func (s *State) Prepare(ctx context.Context) error {
	return errors.Join(ErrHidden, fmt.Errorf("the flux " +
		"capacitor %q is empty", name))
}

func (d *driver) Discover() error {
	return fmt.Errorf("never said of a pod")
}
"""
STORE = """package store

func Save() error {
	return status.Errorf(codes.Internal, `requested GPU is not allocatable: %v`, name)
}

func Load() error { return errors.New("not called") }
"""


def test_tool_lists_formats_of_functions_called_by_prepare(tmp_path: Path) -> None:
    for name, text in (("pkg/driver/driver.go", CODE), ("pkg/store/store.go", STORE)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pkg/store/store_test.go").write_text(CODE, encoding="utf-8")
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "code")):
        subprocess.run(["git", "-C", tmp_path, *names, *arguments], check=True, capture_output=True)
    formats = {error.format: error.line for error in list_formats(str(tmp_path))}
    assert formats == {
        "hidden in a variable": 5,
        "error preparing devices for claim %v: %w": 9,
        "the flux capacitor %q is empty": 15,
        "requested GPU is not allocatable: %v": 4,
    }
    done = subprocess.run(
        [sys.executable, TOOL, "missing", "acc.example.com", tmp_path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "pkg/driver/driver.go:15: 'the flux capacitor %q is empty'" in done.stdout
    assert "allocatable" not in done.stdout
    reading, writing = os.pipe()
    os.close(reading)  # as of a reader that has ended: `tools/refusals.py list ... | head`
    with os.fdopen(writing, "w") as pipe:
        listed = subprocess.run(
            [sys.executable, TOOL, "list", "acc.example.com", tmp_path],
            check=False,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (listed.returncode, listed.stderr) == (0, "")
