"""The pages of the documentation site link to each other, and promise nothing that does not exist
yet.
"""

from __future__ import annotations

import json
import posixpath
import re
import struct
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from dractl.cli.subcommands import SUBCOMMANDS
from dractl.explain.reasons.registry import REASONS
from dractl.lint import registry
from tools import check_links, make_site, server_messages, site_images, site_search

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@cache
def pages() -> dict[str, str]:
    return make_site.pages()


def test_every_link_of_a_page_leads_to_a_page_or_a_picture() -> None:
    dead = []
    for name, text in pages().items():
        for link in make_site.LINK.finditer(CODE.sub("", text)):
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(name), link["path"]))
            if goal not in pages() and not (ROOT / "docs" / goal).is_file():
                dead.append(f"{name}: {link[0]}")
    assert not dead


@pytest.mark.parametrize(
    ("path", "text", "moved"),
    [
        ("CHANGELOG.md", "see [upgrade.md](docs/upgrade.md).", "see [upgrade.md](upgrade.md)."),
        ("CHANGELOG.md", "[x](docs/site/in-ci.md#gitlab)", "[x](in-ci.md#gitlab)"),
        ("docs/site/index.md", "[x](../install.md#a-container)", "[x](install.md#a-container)"),
        ("docs/site/index.md", "![x](../pictures/node.svg)", "![x](pictures/node.svg)"),
        ("docs/extending.md", "[CONTRIBUTING.md](../CONTRIBUTING.md)", "CONTRIBUTING.md"),
        ("docs/extending.md", "[rules](rules.md), [k8s](https://k8s.io/)", None),
        ("docs/extending.md", "`[x](../README.md)`", None),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(
    path: str, text: str, moved: str | None
) -> None:
    assert make_site.move_links(text, path) == (text if moved is None else moved)


def test_links_of_the_built_site_are_checked(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "index.html").write_text(
        "<h1 id=top>Rules</h1><a href='../#first'>up</a><a href='#top'>top</a>"
    )
    (tmp_path / "index.html").write_text(
        "<p id=first><a href='rules/'>rules</a> <a href='/rules/#top'>top</a> "
        "<a href='rules/#bottom'>bottom</a> <a href='gone/'>gone</a> "
        "<a href='https://kubernetes.io/'>k8s</a><img src='https://example.com/x.png'>"
        "<img src='gone.png'>"
    )
    assert list(check_links.broken_links(tmp_path)) == [
        "index.html: loads https://example.com/x.png from another site",
        "index.html: gone.png is no file of the site",
        "index.html: rules/#bottom: rules/index.html has no such anchor",
        "index.html: gone/ is no file of the site",
    ]
    assert check_links.main([str(tmp_path)]) == 1
    assert check_links.main([str(tmp_path / "rules" / "none")]) == 3


INSTALLS = re.compile(
    r"""\b(?:pipx?|uv\ tool|uv\ pip|krew|brew)\ install(?:\ -\S+)*
    \ ['"]?(?:dractl|dra)\b(?![./])""",
    re.VERBOSE,
)
CAVEAT = re.compile(r"not\s+released\s+yet|once\s+released", re.IGNORECASE)


def tracked() -> list[str]:
    """Return the texts of the repository that tell people how to install dractl."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.*")]
    return sorted(str(file.relative_to(ROOT)) for file in files)


@pytest.mark.parametrize(
    "name", [name for name in tracked() if INSTALLS.search((ROOT / name).read_text("utf-8"))]
)
def test_page_installing_dractl_by_name_notes_the_missing_release(name: str) -> None:
    assert CAVEAT.search((ROOT / name).read_text("utf-8"))


def test_no_message_or_help_installs_dractl_by_name() -> None:
    sources = (ROOT / "dractl").rglob("*.py")
    assert [str(path) for path in sources if INSTALLS.search(path.read_text("utf-8"))] == []


def test_pages_of_messages_name_existing_reasons() -> None:
    cells = re.findall(r"^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) \|", message_page(), re.MULTILINE)
    codes = {code for cell in cells for code in re.findall(r"`([^`]+)`", cell)}
    assert codes
    assert codes <= REASONS.keys()


def message_page() -> str:
    name = "cannot-allocate-all-claims.md"
    return (ROOT / "docs" / "site" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_every_command_has_a_page_with_its_help(command: str) -> None:
    assert f"Usage: dractl {command}" in pages()[f"commands/{command}.md"]
    assert f"(commands/{command}.md)" in pages()["commands.md"]


def test_page_of_a_rule_quotes_the_api_server() -> None:
    headings = re.findall(r"^### (.*)$", pages()["rules/DRA405.md"], re.MULTILINE)
    # kubernetes v1.37.1 pkg/apis/core/validation/validation.go validatePodResourceClaim
    wanted = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    assert any(wanted in heading for heading in headings)


def test_recorded_messages_belong_to_rules() -> None:
    recorded = json.loads(server_messages.RECORDED.read_text("utf-8"))
    assert recorded.keys() <= registry.rules().keys()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            'The Pod "a" is invalid: spec.resourceClaims[0].name: Invalid value: "A": wrong',
            "name: Invalid value: : wrong",
        ),
        ('strict decoding error: unknown field "spec.x"', "strict decoding error: unknown field "),
    ],
)
def test_form_of_a_message_has_no_values(text: str, form: str) -> None:
    assert server_messages.form(text) == form


def test_search_worker_separates_the_ids_of_nodes(tmp_path: Path) -> None:
    worker = tmp_path / "assets" / "javascripts" / "workers" / "search.1.min.js"
    worker.parent.mkdir(parents=True)
    worker.write_text("function(){e=e+s+o.id}return e}")
    site_search.on_post_build({"site_dir": tmp_path})
    assert worker.read_text() == 'function(){e=e+s+o.id+","}return e}'
    with pytest.raises(ValueError, match="still needs this hook"):
        site_search.on_post_build({"site_dir": tmp_path})


def test_a_picture_has_the_size_of_its_file() -> None:
    """The size of the PNG is in its IHDR chunk, that of the SVG in its viewBox."""
    alignment = (ROOT / "docs" / "pictures" / "alignment.svg").read_text("utf-8")
    assert 'viewBox="0 0 1072 192"' in alignment
    config = {"docs_dir": ROOT / "docs"}
    page = SimpleNamespace(url="rules/DRA701/")
    text = '<img alt="a" src="../../pictures/alignment.svg" /><img src="https://x.example/y.png">'
    assert site_images.on_page_content(text, page=page, config=config) == (
        '<img width="1072" height="192" alt="a" src="../../pictures/alignment.svg" />'
        '<img src="https://x.example/y.png">'
    )
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
    assert site_images.read_size(png) == (640, 480)
    with pytest.raises(ValueError, match="neither"):
        site_images.read_size(b"<svg>")


def test_a_name_in_angle_brackets_is_text() -> None:
    """A browser shows nothing of an element that it does not know, such as <node>."""
    assert "| &lt;node>-&lt;logical id> |" in pages()["drivers/ascend.project-hami.io.md"]
    assert "<placeholder>" in make_site.outside_code("`<placeholder>`", make_site.show_tags)
    generated = (text for name, text in pages().items() if "/" in name)
    assert not [text for text in generated if "<" in CODE.sub("", text)]


def test_a_column_without_a_value_is_left_out() -> None:
    rows = [("a", "", "x|y"), ("b", "", "")]
    lines = ["## H", "", "| name | on |", "|---|---|", "| a | x\\|y |", "| b |  |", ""]
    assert make_site.table("H", ("name", "since", "on"), rows) == lines
    assert make_site.table("H", ("name", "since", "on"), []) == []


def test_an_output_with_comments_is_not_coloured_as_commands() -> None:
    session = "```console\n$ cat a\nb: 1\n# in\n```\n"
    other = "```console\n$ cat b\n```\n\n# Heading\n"
    assert make_site.plain_outputs(session + other) == session.replace("console", "text") + other
    assert "```text\n$ cat deploy/clusterrole.yaml" in pages()["rights.md"]


def test_commands_of_a_reason_can_be_pasted() -> None:
    text = "kubectl version; the gates of kube-apiserver"
    assert make_site.literal(text) == "```sh\nkubectl version  # the gates of kube-apiserver\n```"
    text = "kubectl get pods (status); kubectl get nodes, then kubectl get pvc"
    lines = ["kubectl get pods  # status", "kubectl get nodes", "kubectl get pvc"]
    assert make_site.literal(text) == "\n".join(["```sh", *lines, "```"])
    texts = [text for name, text in pages().items() if name.startswith("reasons/")]
    blocks = [
        block for text in texts for block in re.findall(r"```sh\n(.+?)\n```", text, re.DOTALL)
    ]
    assert len(blocks) > 50
    script = "".join(f"({block}\n)\n" for block in blocks).encode()
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_title_becomes_a_sentence() -> None:
    assert make_site.sentence("no pod uses the claim") == "No pod uses the claim."
    assert make_site.sentence("adminAccess needs a label") == "adminAccess needs a label."
    assert make_site.sentence("ResourceSlices name a node") == "ResourceSlices name a node."


def test_page_of_each_reason_has_an_output() -> None:
    heading = "## What dractl prints"
    assert not [code for code in REASONS if heading not in pages()[f"reasons/{code}.md"]]


def test_page_of_a_frequent_reason_names_it_below_its_output() -> None:
    for code in (
        "device-in-use",
        "constraint-conflict",
        "selector-error",
        "tainted",
        "class-missing",
    ):
        page = pages()[f"reasons/{code}.md"]
        output = page.partition("## What dractl prints\n\n```text\n")[2]
        assert "\n✗ " in output
        assert f"More about {code}: dractl rule {code}\n```" in output


def test_an_example_is_called_after_its_reason() -> None:
    """Names that are no reason's would be shown nowhere."""
    assert {file.stem for file in make_site.EXAMPLES.iterdir()} <= REASONS.keys()
    with pytest.raises(ValueError, match=r"\['pinned-node'.*, not other-node"):
        make_site.output_of_example(ROOT / "examples" / "pending" / "other-node.yaml")


def test_an_example_is_asked_with_the_words_in_its_comment() -> None:
    text = (make_site.EXAMPLES / "claim-missing.yaml").read_text(encoding="utf-8")
    assert "\n# dractl explain train-0 -n ml\n" in text
    output = make_site.output_of_example(make_site.EXAMPLES / "claim-missing.yaml")
    assert output.startswith("pod ml/train-0 ")  # and nothing about the claim that no pod uses


def test_page_of_a_reason_tells_what_happens_in_its_example() -> None:
    assert (
        "## What dractl prints\n\n"
        "Pod train-0 names claim shared-gpus; the claim of its namespace is called shared-gpu."
        " The objects are in `examples/reasons/claim-missing.yaml`.\n\n```text\npod ml/train-0 "
    ) in pages()["reasons/claim-missing.md"]
    assert make_site.situation("device-in-use") == []  # its output is of a recorded situation
    told = [make_site.situation(file.stem)[0] for file in make_site.EXAMPLES.iterdir()]
    assert not [text for text in told if ". The objects are in " not in text]
