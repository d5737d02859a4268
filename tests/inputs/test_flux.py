"""The folders that objects of Flux name."""

from pathlib import Path

import pytest

from dractl.inputs.flux import find_kustomization_folder
from dractl.inputs.layering import Member
from dractl.inputs.trees import NotInRepository
from dractl.manifests import Document, read_text

TEXT = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: film, namespace: flux-system}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system}
"""


def kustomization(folder: Path, kind: str = "GitRepository") -> Member:
    """Return a Kustomization in ``clusters/prod`` with a source of a kind."""
    file = folder / "clusters" / "prod" / "apps.yaml"
    (document,) = read_text(str(file), TEXT.replace("GitRepository", kind))
    assert isinstance(document, Document)
    return Member(document.value, document)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that has the folder ``apps`` below ``clusters`` only."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "clusters" / "apps").mkdir(parents=True)
    return tmp_path


def test_path_starts_at_the_top_of_the_repository(repository: Path) -> None:
    """kustomize-controller docs/spec/v1/kustomizations.md: the path is one in the artifact of the
    source, and that of a GitRepository is the repository.
    """
    (repository / "apps").mkdir()
    assert find_kustomization_folder(kustomization(repository)) == str(repository / "apps")


def test_folder_below_the_top_is_not_the_path(repository: Path) -> None:
    with pytest.raises(NotInRepository, match="its path is not in this repository"):
        find_kustomization_folder(kustomization(repository))


@pytest.mark.parametrize("kind", ["OCIRepository", "Bucket"])
def test_artifact_can_be_made_of_any_folder(repository: Path, kind: str) -> None:
    nearest = str(repository / "clusters" / "apps")
    assert find_kustomization_folder(kustomization(repository, kind)) == nearest


def test_files_outside_of_a_repository_show_no_top(repository: Path) -> None:
    (repository / ".git").rmdir()
    nearest = str(repository / "clusters" / "apps")
    assert find_kustomization_folder(kustomization(repository)) == nearest
