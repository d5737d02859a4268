"""Which files are templates of manifests and not manifests."""

from __future__ import annotations

import pytest

from dractl.manifests.templates import holds_template


@pytest.mark.parametrize(
    "text",
    [
        "name: {{ .Release.Name }}\n",
        "{{- if .Values.gpu }}\nkind: Pod\n{{- end }}\n",
        "args: |\n  a\nname: {{ x }}\n",  # behind the block
        "run: |\n  a\n\n  b\n{{ x }}\n",
        "- |\n  a\n- {{ x }}\n",  # as deep as the block's own line
        "a: |\n  b\na-long-name-behind-the-block: {{ x }}\n",
    ],
)
def test_a_template(text: str) -> None:
    assert holds_template(text)


@pytest.mark.parametrize(
    "text",
    [
        "name: a\n",
        "a-name-longer-than-its-block: |\n  {{ x }}\n",
        "# {{ a comment }}\nname: a\n",
        'name: "{{ in quotes }}"\n',
        "name: '{{ in quotes }}'\n",
        "run: |\n  echo {{ of a workflow }}\n  {{ and again }}\nname: a\n",
        "run: >-\n    {{ deeper }}\n\n    {{ behind an empty line }}\n",
    ],
)
def test_no_template(text: str) -> None:
    assert not holds_template(text)
