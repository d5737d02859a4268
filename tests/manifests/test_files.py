"""Manifests come from files, folders, archives, standard input."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dractl.errors import InputError
from dractl.manifests import archived, load, load_readable
from dractl.manifests.content import read_file

CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s}\n"
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def names(inputs) -> list[str | None]:
    return [document.name for document in inputs.documents]


def tar_of(members: dict[str, str], mode: str = "w", **options) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, **options) as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zip_of(members: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def test_folder_is_walked_in_order_for_relevant_manifests(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", CLAIM % "b")
    write(tmp_path, "a/z.yml", CLAIM % "az")
    write(
        tmp_path,
        "a/b/c.json",
        '{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "abc"}}',
    )
    write(tmp_path, "other.yaml", OTHER)
    write(tmp_path, "notes.txt", CLAIM % "notes")
    write(tmp_path, ".git/x.yaml", CLAIM % "git")
    inputs = load([str(tmp_path)])
    assert names(inputs) == ["b", "az", "abc"]
    assert inputs.documents[1].file == f"{tmp_path}/a/z.yml"
    assert inputs.files == 4
    assert (inputs.broken, inputs.skipped) == ((), ())
    assert names(load([str(tmp_path)], relevant_only=False)) == ["b", "other", "az", "abc"]


def test_a_broken_document_in_a_folder_is_reported_only_where_it_matters(tmp_path: Path) -> None:
    write(tmp_path, "dra.yaml", CLAIM % "a: b: c")
    write(tmp_path, "values.yaml", "a: b: c\n")
    write(
        tmp_path, "patch.yaml", "- op: replace\n  path: /spec/resourceClaims\n"
    )  # a kustomize patch: no object
    (broken,) = load([str(tmp_path)]).broken
    assert (broken.file, broken.position.line) == (f"{tmp_path}/dra.yaml", 3)


@pytest.mark.parametrize("name", ["x.yaml", "x.tmpl", "noextension"])
def test_a_named_file_is_read_whatever_it_is_called_or_says(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, OTHER)
    assert names(load([str(path)])) == ["other"]


def test_named_file_without_an_object_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path, "x.yaml", f"- a\n---\n{CLAIM % 'b'}---\ntext\n")
    inputs = load([str(path)])
    assert names(inputs) == ["b"]
    assert [(broken.index, broken.position.line) for broken in inputs.broken] == [(0, 1), (2, 7)]
    assert inputs.broken[0].message == "the document is a list, not a Kubernetes object"


def test_excluded_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.yaml", "test/b.yaml", "x/test/c.yaml", "x/keep.yaml", "x/gen/d.yaml"):
        write(tmp_path, name, CLAIM % Path(name).stem)
    assert names(load([str(tmp_path)], exclude=["test/", "/x/gen/*", "a.*", "!keep.yaml"])) == [
        "keep"
    ]
    monkeypatch.chdir(tmp_path)
    assert names(load(["x"], exclude=["x/gen"])) == ["keep", "c"]
    assert names(load(["x/gen/d.yaml"], exclude=["x/gen"])) == ["d"]  # named


def test_each_file_once_and_no_loops(tmp_path: Path) -> None:
    path = write(tmp_path, "a/one.yaml", CLAIM % "one")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "c.yaml").symlink_to(path)
    (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    inputs = load([str(tmp_path), str(path), str(tmp_path / "a")])
    assert names(inputs) == ["one"]
    assert {Path(skipped.file).name for skipped in inputs.skipped} == {"self.yaml", "gone.yaml"}


def test_folder_goes_by_its_own_name_before_a_link(tmp_path: Path) -> None:
    (tmp_path / "site" / "examples").mkdir(parents=True)
    path = write(tmp_path / "site" / "examples", "a.yaml", CLAIM % "one")
    (tmp_path / "examples").symlink_to(tmp_path / "site" / "examples", target_is_directory=True)
    (document,) = load([str(tmp_path)]).documents
    assert document.file == str(path)


def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", CLAIM % "one")
    os.link(path, tmp_path / "b.yaml")
    assert [Path(document.file).name for document in load([str(tmp_path)]).documents] == [
        "a.yaml",
        "b.yaml",
    ]


def test_irregular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (skipped,) = load([str(tmp_path)]).skipped
    assert skipped.why == "not a regular file"


def test_unreadable_file_below_a_folder_is_an_error_or_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.yaml", "b.yaml"):
        write(tmp_path, name, CLAIM % name[0])

    really = os.open

    def deny_open(path: str, *arguments: Any, **more: Any) -> int:
        if path.endswith("a.yaml"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(path, *arguments, **more)

    monkeypatch.setattr(os, "open", deny_open)
    with pytest.raises(InputError, match=r"a\.yaml: cannot be read: Permission denied"):
        load([str(tmp_path)])
    inputs = load_readable([str(tmp_path), str(tmp_path / "gone.yaml")])
    assert [document.name for document in inputs.documents] == ["b"]
    assert [Path(item.file).name for item in inputs.unread] == ["a.yaml", "gone.yaml"]


@pytest.mark.parametrize(
    ("name", "message"), [("gone.yaml", "no such file or directory"), ("a\0b", "cannot be read")]
)
def test_unreadable_named_path_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load([f"{tmp_path}/{name}"])
    assert message in error.value.message
    assert error.value.place == f"{tmp_path}/{name}"


MEMBERS = {
    "./must-gather/b.yaml": CLAIM % "b",
    "must-gather/a.json": '{"kind": "DeviceClass"}',
    "x/notes.txt": "x",
    "o.yml": OTHER,
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.tar", tar_of(MEMBERS)),
        ("x.tar.gz", tar_of(MEMBERS, "w:gz")),
        ("x.tgz", gzip.compress(tar_of(MEMBERS, format=tarfile.USTAR_FORMAT))),
        ("x.tar.bz2", bz2.compress(tar_of(MEMBERS))),
        ("x.tar.xz", lzma.compress(tar_of(MEMBERS))),
        ("x.zip", zip_of(MEMBERS)),
        ("whatever", gzip.compress(tar_of(MEMBERS))),
    ],
)
def test_archives(tmp_path: Path, name: str, data: bytes) -> None:
    path = write(tmp_path, name, data)
    inputs = load([str(path)])
    assert [document.file for document in inputs.documents] == [
        f"{path}/must-gather/b.yaml",
        f"{path}/must-gather/a.json",
    ]
    assert inputs.files == 3
    assert names(load(["-"], stdin=data, stdin_name="<stdin>")) == ["b", None]
    assert load(["-"], stdin=data).documents[0].file == "<stdin>/must-gather/b.yaml"
    assert [inner.name for inner in tmp_path.iterdir()] == [name]  # nothing was unpacked


def test_one_compressed_file(tmp_path: Path) -> None:
    path = write(tmp_path, "claims.yaml.gz", gzip.compress((CLAIM % "a").encode()))
    (document,) = load([str(path)]).documents
    assert (document.file, document.name) == (str(path), "a")


def test_members_reaching_outside_stay_names(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("../../evil.yaml", "/etc/evil.yaml", "a\x1b[2Jb.yaml"):
            info = tarfile.TarInfo(name)
            info.size = len(CLAIM % "evil")
            archive.addfile(info, io.BytesIO((CLAIM % "evil").encode()))
        link = tarfile.TarInfo("link.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        device = tarfile.TarInfo("zero.yaml")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 5
        archive.addfile(device)
    path = write(tmp_path, "x.tar", out.getvalue())
    shown = [document.file.removeprefix(f"{path}/") for document in load([str(path)]).documents]
    assert shown == ["../../evil.yaml", "/etc/evil.yaml", "a?[2Jb.yaml"]
    assert [inner.name for inner in tmp_path.iterdir()] == ["x.tar"]


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(tar_of(MEMBERS))[:-200],
        tar_of({"a.yaml": "x" * 5000})[:2000],
        zip_of(MEMBERS)[:60],
        b"BZh9" + b"\0" * 100,
        b"\x1f\x8bgarbage",
        lzma.compress(b"abc")[:-8],
        # Method 93 is zstd, which zipfile reads from Python 3.14 on; these bytes are none.
        zip_of({"a.yaml": "x"}, zipfile.ZIP_STORED).replace(b"\x14\0\0\0\0\0", b"\x3f\0\0\0\x5d\0"),
    ],
    ids=["gzip", "tar", "zip", "bzip2", "no-gzip", "xz", "zip-zstd"],
)
def test_damaged_archives(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, "x", data)
    with pytest.raises(InputError) as error:
        load([str(path)])
    assert error.value.message.startswith("not a complete ")


def test_bombs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived, "MAX_FILE", 2**20)
    monkeypatch.setattr(archived, "MAX_ARCHIVE", 2**21)
    large = "#" * (2**20 + 1)
    packed = write(tmp_path, "x.zip", zip_of({"a.yaml": large, "b.yaml": CLAIM % "b"}))
    inputs = load([str(packed)])
    assert names(inputs) == ["b"]
    assert [(skipped.file, skipped.why) for skipped in inputs.skipped] == [
        (f"{packed}/a.yaml", "larger than 1 MiB")
    ]
    many = write(tmp_path, "y.tar", tar_of({f"{number}.yaml": large[:-2] for number in range(3)}))
    monkeypatch.setattr(archived, "MAX_FILE", 2**22)
    with pytest.raises(InputError, match="expands to more than 2 MiB"):
        load([str(many)])
    with pytest.raises(InputError, match="larger than 2 MiB"):
        load([str(write(tmp_path, "z.gz", gzip.compress(b"\0" * 2**22)))])


def test_member_may_have_exactly_the_size_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CLAIM % "a"
    monkeypatch.setattr(archived, "MAX_FILE", len(text))
    packed = write(tmp_path, "x.zip", zip_of({"a.yaml": text, "b.yaml": f"{text}#"}))
    inputs = load([str(packed)])
    assert (names(inputs), [skipped.file for skipped in inputs.skipped]) == (
        ["a"],
        [f"{packed}/b.yaml"],
    )


def test_a_tar_from_before_posix(tmp_path: Path) -> None:
    """Seventh Edition tar(5): no magic behind the checksum, which counts its own place as blanks."""
    data = bytearray(tar_of({"a.yaml": CLAIM % "a"}, format=tarfile.USTAR_FORMAT))
    data[257:512] = bytes(255)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path = write(tmp_path, "x.tar.gz", gzip.compress(bytes(data)))
    assert [document.file for document in load([str(path)]).documents] == [f"{path}/a.yaml"]
    data[300] = 1  # another checksum
    (broken,) = load([str(write(tmp_path, "y.gz", gzip.compress(bytes(data))))]).broken
    assert broken.message.startswith("control characters are not allowed")


def test_an_encrypted_member_is_skipped(tmp_path: Path) -> None:
    data = bytearray(zip_of({"a.yaml": CLAIM % "a"}))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    (skipped,) = load([str(write(tmp_path, "x.zip", bytes(data)))]).skipped
    assert skipped.why == "encrypted"


def test_cluster_dumps_are_folders_of_lists(tmp_path: Path) -> None:
    write(
        tmp_path,
        "ml/pods.json",
        '{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "p"}, "spec": {}}]}',
    )
    write(
        tmp_path,
        "nodes.json",
        '{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n"}}]}',
    )
    inputs = load([str(tmp_path)], relevant_only=False)
    assert [
        (document.kind, document.api_version, document.name) for document in inputs.documents
    ] == [("Node", "v1", "n"), ("Pod", "v1", "p")]


def test_namespaces_matter_since_their_labels_allow_admin_access(tmp_path: Path) -> None:
    write(tmp_path, "ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n")
    write(tmp_path, "cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Namespace}\n")
    assert names(load([str(tmp_path)])) == ["ns"]


@pytest.mark.parametrize(
    "pack", [lambda files: tar_of(files), lambda files: zip_of(files)], ids=["tar", "zip"]
)
def test_members_of_an_archive_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Any
) -> None:
    monkeypatch.setattr(archived, "MAX_MEMBERS", 3)
    assert (
        len(
            load(
                [str(write(tmp_path, "a", pack({f"{n}.yaml": CLAIM % n for n in range(3)})))]
            ).documents
        )
        == 3
    )
    with pytest.raises(InputError, match="more than 3 members"):
        load([str(write(tmp_path, "b", pack({f"{n}.txt": "" for n in range(4)})))])


def test_a_pipe_beside_a_kustomization_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_file(str(write(tmp_path, "a", "x"))) == b"x"
    assert read_file(str(tmp_path / "pipe")) is None


@pytest.mark.parametrize(
    "document",
    [
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s}}\n",
        '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "%s"}}\n',
    ],
    ids=["flow style", "JSON"],
)
def test_large_file_of_documents_with_braces(tmp_path: Path, document: str) -> None:
    """What begins with a brace and is not JSON is YAML (k8s.io/apimachinery pkg/util/yaml
    YAMLOrJSONDecoder), whatever the size of the file.
    """
    wanted = [f"claim-{number}-{'x' * 40}" for number in range(12_000)]
    path = write(tmp_path, "claims.yaml", "---\n".join(document % name for name in wanted))
    assert path.stat().st_size > 1024 * 1024
    assert names(load([str(path)])) == wanted


def test_named_files_that_belong_to_manifests_count_as_read(tmp_path: Path) -> None:
    """Values and kustomizations have nothing to report, but what they change is looked at."""
    parts = [
        write(tmp_path, "chart/values.yaml", "replicas: 1\n"),
        write(tmp_path, "kustomization.yaml", "resources: [other.yaml]\n"),
    ]
    write(tmp_path, "chart/Chart.yaml", "name: chart\n")
    other = write(tmp_path, "other.yaml", OTHER)
    inputs = load_readable([str(path) for path in (*parts, other)])
    assert set(inputs.digests) == {str(path) for path in parts}
