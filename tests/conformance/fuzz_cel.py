"""Compares dractl's CEL with upstream's on random selectors.

    python tests/conformance/fuzz_cel.py --release 1.37 --count 5000 --seed 1

Every case is made from its seed alone: from ``cel_grammar.toml`` (with right types or, sometimes, wrong ones), or by
changing tokens of the recorded selectors in ``$DRACTL_SHARED``. Upstream's program is ``cel-RELEASE`` in
``$DRACTL_ORACLE_DIR``, else in ``~/.cache/dractl-oracle``; it stays up and is asked line by line. A difference is made
smaller while it stays one, and printed once with what upstream and dractl say.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from replay_cel import answer

from dractl.cel.tokens import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from dractl.cel.tokens import Token

Case = dict[str, Any]

RELEASES = ("1.34", "1.35", "1.36", "1.37")
KINDS = ("admission", "errorType", "value", "maxCost", "outputType", "text", "error")
"""What can differ, the worst first: ``text`` is that of a compile error, ``error`` that of an evaluation."""
SLOW = 20  # seconds; neither side may take longer for one case
GATES: tuple[list[str] | None, ...] = (
    None,
    None,
    None,
    ["DRAConsumableCapacity"],
    ["DRAListTypeAttributes"],
    ["DRAConsumableCapacity", "DRAListTypeAttributes"],
    [],
)

GRAMMAR = tomllib.loads(Path(__file__).with_name("cel_grammar.toml").read_text("utf-8"))
LEAVES, MADE = (
    {kind: rules.split("\n")[:-1] for kind, rules in GRAMMAR[part].items()}
    for part in ("leaves", "made")
)
SHOWN: list[str] = GRAMMAR["shown"]["rules"].splitlines()
TYPES = tuple(MADE)
TEXTS: dict[str, list[str]] = GRAMMAR["texts"]
NAMES: list[str] = GRAMMAR["words"]["attributes"]
_MARK = re.compile(r"\$[a-z0-9_]+|#[a-z]+|%[vw]\b(?!')|&(?!&)[a-z0-9]+")
_QUANTITY = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")

# -- making cases -----------------------------------------------------------------------------------------------------


class Maker:
    """One random case."""

    def __init__(self, seed: int, recorded: Sequence[str], devices: dict[str, Case]) -> None:
        self.random = random.Random(f"cel/{seed}")
        self.seed = seed
        self.recorded = recorded
        self.devices = list(devices.values())
        self.scope: list[tuple[str, str]] = []
        self.wrong = self.random.choice((0.0, 0.0, 0.0, 0.0, 0.03, 0.1))
        self.budget = self.random.choice((3, 6, 12, 25))

    def case(self) -> Case:
        r = self.random
        often = (self.plain, self.made, self.expand_shown, self.mutate)
        text = r.choice((*often, *often, self.make_nested_loops, self.literal))()
        if r.random() < 0.05:
            text = self.add_spaces(text)
        devices = [
            json.loads(json.dumps(device))
            for device in r.sample(self.devices, min(3, len(self.devices)))
        ]
        devices.append(self.device())
        case: Case = {"id": str(self.seed), "expression": text, "devices": devices}
        features = r.choice(GATES)
        if features is not None:
            case["features"] = features
        return case

    # -- expressions --------------------------------------------------------------------------------------------------

    def plain(self) -> str:
        """A few conditions without wrong types, as somebody writes them."""
        self.wrong = 0.0
        conditions = [
            self.make("bool", self.random.choice((0, 1, 1, 2)))
            for _ in range(self.random.choice((1, 2, 3)))
        ]
        return self.random.choice((" && ", " && ", " || ")).join(conditions)

    def made(self) -> str:
        return self.make(
            self.random.choice(("bool",) * 300 + TYPES), self.random.choice((1, 2, 3, 3, 4))
        )

    def expand_shown(self) -> str:
        self.wrong = 0.0
        return self.expand(self.random.choice(SHOWN), self.random.choice((1, 1, 2, 3)))

    def make(self, kind: str, depth: int) -> str:
        r = self.random
        if r.random() < self.wrong:
            kind = r.choice(TYPES)
        known = [name for name, declared in self.scope if declared == kind]
        if known and r.random() < 0.5:
            return r.choice(known)
        self.budget -= 1
        rules = MADE if depth > 0 and self.budget > 0 else LEAVES
        return self.expand(r.choice(rules[kind]), depth - 1)

    def expand(self, template: str, depth: int) -> str:
        outer = list(self.scope)
        fresh: dict[str, str] = {}
        waiting: list[str] = []

        def fill_mark(match: re.Match[str]) -> str:
            mark, name = match[0][0], match[0][1:]
            if mark == "%":
                if name not in fresh:
                    fresh[name] = self.variable()
                    waiting.append(fresh[name])
                return fresh[name]
            if mark == "&":
                self.scope.append((waiting.pop(0), name))
                return ""
            if mark == "#":
                return self.text(name)
            return self.part(name, depth)

        text = _MARK.sub(fill_mark, template)
        self.scope = outer
        return text

    def variable(self) -> str:
        return str(
            self.random.choice(
                "xyzkvieab" if self.random.random() < 0.95 else GRAMMAR["words"]["odd"]
            )
        )

    def part(self, name: str, depth: int) -> str:
        r = self.random
        if name == "domain":
            return str(
                r.choice(
                    [
                        *(device["driver"] for device in self.devices),
                        "nope",
                        "resource.kubernetes.io",
                    ]
                )
            )
        if name == "name":
            return r.choice(NAMES) if r.random() < 0.5 else self.known(None)[1]
        if name == "word":
            return str(r.choice(GRAMMAR["words"]["odd"]))
        if name in ("quantity_text", "version_text"):
            return r.choice(TEXTS[name.removesuffix("_text")])
        if name == "capacity":
            domain, identifier = self.known("capacity")
            return self.reach("device.capacity", domain, identifier)
        if name.startswith("attr"):
            domain, identifier = self.known(name.removeprefix("attr").removeprefix("_"))
            return self.reach("device.attributes", domain, identifier)
        text = self.make(name, depth)
        bare = (
            " " not in text
            or text.endswith((")", "]"))
            or re.fullmatch(r"'[^']*'|\"[^\"]*\"", text)
        )
        return text if bare or r.random() < 0.25 else f"({text})"

    def known(self, kind: str | None) -> tuple[str, str]:
        """The domain and name of an attribute of a kind that one of the devices has, or of a capacity."""
        r = self.random
        wanted = {"semver": "version"}.get(kind or "", kind)
        found = []
        for device in self.devices:
            part = "capacity" if wanted == "capacity" else "attributes"
            for name, value in (device.get(part) or {}).items():
                if wanted in (None, "", "capacity") or wanted in value:
                    domain, slash, identifier = name.rpartition("/")
                    found.append((domain if slash else device["driver"], identifier))
        return r.choice(found) if found else ("gpu.example.com", "model")

    def reach(self, variable: str, domain: str, name: str) -> str:
        r = self.random
        first = r.choice((f'["{domain}"]', f'["{domain}"]', f"['{domain}']", "[device.driver]"))
        plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)
        second = r.choice((f".{name}", f".{name}", f'["{name}"]')) if plain else f'["{name}"]'
        return variable + first + second

    def text(self, pool: str) -> str:
        r = self.random
        text = r.choice(TEXTS[pool])
        if r.random() < 0.15 and text:
            at = r.randrange(len(text))
            text = (
                text[:at] + r.choice(("", "0", ".", "-", "a", " ", text[at] * 2)) + text[at + 1 :]
            )
        text = re.sub(r"(?<!\\)\\$", "", text)
        quote = r.choice(("'", '"', "'", '"', "'''", '"""'))
        return f"{quote}{text}{quote}" if quote[0] not in text or "\\" in text else f'"""{text} """'

    def make_nested_loops(self) -> str:
        """Loops in loops: what the estimate of the cost is about."""
        r = self.random
        loops = GRAMMAR["loops"]
        text = self.make("bool", 1)
        name = self.variable()
        for _ in range(r.choice((1, 2, 3, 4))):
            outer, inner = self.variable(), name
            over = r.choice(
                (
                    *loops["ranges"],
                    *(self.make(kind, 2) for kind in ("strings", "ints", "dynmap", "any")),
                )
            )
            macro = r.choice(loops["macros"])
            second = f"{self.variable()}, " if r.random() < 0.2 else ""
            text = f"{over.replace('{0}', outer)}.{macro}({inner}, {second}{text})"
            if macro in ("map", "filter"):
                text += r.choice(loops["ends"])
            if r.random() < 0.3:
                text = f"cel.bind({self.variable()}, {self.make(r.choice(TYPES), 1)}, {text})"
            name = outer
        return text

    def literal(self) -> str:
        """Spellings of literals."""
        r = self.random
        spellings = GRAMMAR["spellings"]
        if r.random() < 0.6:
            body = "".join(r.choice(spellings["pieces"]) for _ in range(r.randrange(4)))
            quote = r.choice(spellings["quotes"])
            return str(r.choice(spellings["texts"])).replace(
                "{0}", r.choice(spellings["prefixes"]) + quote + body + quote
            )
        digits = "".join(r.choice("0123456789.eExXuUfF+-_aA") for _ in range(r.randrange(1, 8)))
        double = f"{r.random()}e{r.randrange(-400, 400)}"
        number = r.choice(
            (
                digits,
                str(r.randrange(-(2**66), 2**66)),
                double,
                hex(r.randrange(2**70)),
                f"{r.randrange(99)}u",
            )
        )
        return str(r.choice(spellings["numbers"])).replace("{0}", number)

    def add_spaces(self, text: str) -> str:
        r = self.random
        known, strange = GRAMMAR["spellings"]["spaces"], GRAMMAR["spellings"]["strange"]
        return "".join(
            t.text + r.choice(known if r.random() < 0.98 else strange) for t in tokenize(text)
        )

    # -- changes ------------------------------------------------------------------------------------------------------

    def mutate(self) -> str:
        r = self.random
        text = r.choice(self.recorded)
        for _ in range(r.choice((0, 1, 1, 1, 2, 3))):
            text = self.changed(text)
        if r.random() < 0.2:
            joined = str(r.choice(GRAMMAR["changes"]["joins"]))
            text = joined.replace("{0}", text).replace("{1}", r.choice(self.recorded))
        return text

    def changed(self, text: str) -> str:
        r = self.random
        tokens = tokenize(text)
        if not tokens or len(text) > 3000:
            return text
        i = r.randrange(len(tokens))
        token = tokens[i]
        return text[: token.start] + self.replacement(token, tokens) + text[token.end :]

    def replacement(self, token: Token, tokens: Sequence[Token]) -> str:
        """Return a replacement for a token."""
        r = self.random
        text, changes = token.text, GRAMMAR["changes"]
        what = r.random()
        if what < 0.15:
            return ""
        if what < 0.25:
            near = GRAMMAR["near"].get(text)
            if near is None and token.kind == "name":
                near = (
                    text[:-1],
                    f"{text}s",
                    text.capitalize(),
                    r.choice(GRAMMAR["words"]["macros"]),
                )
            return str(r.choice(near or (text,)))
        if what < 0.35:
            return f"{text} {text}"
        if what < 0.75:
            others = tokens if what < 0.45 else tokenize(r.choice(self.recorded))
            alike = [t.text for t in others if t.kind == token.kind or r.random() < 0.05]
            return r.choice(alike or [""])
        if what < 0.85:
            return self.make(r.choice(TYPES), 1)
        if what < 0.9:
            return str(r.choice(changes["before"])) + text
        if what < 0.95 and token.kind in ("string", "number"):
            at = r.randrange(len(text))
            return text[:at] + str(r.choice(changes["characters"])) + text[at + 1 :]
        return f"dyn({text})"

    # -- devices ------------------------------------------------------------------------------------------------------

    def device(self) -> Case:
        r = self.random
        driver = r.choice([device["driver"] for device in self.devices] or ["gpu.example.com"])
        attributes: dict[str, Any] = {}
        for _ in range(r.randrange(6)):
            name = r.choice(NAMES) if r.random() < 0.6 else self.known(None)[1]
            domain = r.choice(("", "", "dra.net/", "other.example.com/", f"{driver}/"))
            attributes[domain + name] = r.choice(
                (
                    {"int": r.choice((0, 1, 2, -1, 7, 2**63 - 1, -(2**63)))},
                    {"bool": r.random() < 0.5},
                    {
                        "string": r.choice(
                            (
                                "",
                                "a",
                                "gpu",
                                "42",
                                "H100",
                                "10.0.0.1",
                                "日本",
                                "true",
                                "1.2.3",
                                "10Gi",
                            )
                        )
                    },
                    {"version": r.choice(("1.2.3", "1.0.0", "2.0.0-rc.1", "1.2.3+b", "550.54.15"))},
                )
            )
        if r.random() < 0.15:
            attributes[r.choice(NAMES)] = r.choice(
                (
                    {"ints": [1, 2]},
                    {"bools": [True]},
                    {"strings": ["a", "H100"]},
                    {"versions": ["1.0.0", "2.0.0"]},
                )
            )
        valid = [text for text in TEXTS["quantity"] if _QUANTITY.fullmatch(text)]
        capacity = {r.choice(NAMES): {"value": r.choice(valid)} for _ in range(r.randrange(3))}
        device: Case = {"driver": driver, "attributes": attributes, "capacity": capacity}
        if r.random() < 0.5:
            device["allowMultipleAllocations"] = r.random() < 0.5
        return device


# -- asking -----------------------------------------------------------------------------------------------------------


def oracle_program(release: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(
        os.environ.get("DRACTL_ORACLE_DIR") or Path(cache, "dractl-oracle"), f"cel-{release}"
    )


class Oracle:
    """Upstream's program, kept up."""

    def __init__(self, release: str) -> None:
        self.program = oracle_program(release)
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, case: Case) -> Case | None:
        """None where it does not answer in time, or cannot read the case."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(case).encode() + b"\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], SLOW)[0] or not (
            line := process.stdout.readline()
        ):
            process.kill()
            process.wait()
            self.process = None
            return None
        return dict(json.loads(line))

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class TooSlow(Exception):
    """dractl took too long."""


def _raise_too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow


def mine(case: Case, release: str) -> Case:
    signal.alarm(SLOW)
    try:
        return answer(case, release, {})
    except Exception as error:
        return {"compile": f"panic: {type(error).__name__}: {error}", "admission": "panic"}
    finally:
        signal.alarm(0)


def difference(want: Case, got: Case) -> tuple[str, str] | None:
    """The worst of what differs, one of KINDS, and how, without names and numbers: what has one cause is alike."""
    found: list[tuple[str, str]] = []
    for a, b in ((want, got), (_outcome_of_stored(want), _outcome_of_stored(got))):
        if str(a["compile"]).startswith("panic"):
            continue
        for name in ("admission", "errorType", "maxCost", "outputType"):
            if a.get(name) != b.get(name):
                how = "" if name == "maxCost" else f"{a.get(name)} but {b.get(name)}"
                found.append(
                    (
                        name,
                        how
                        if name != "admission"
                        else f"{how}: {_plain(a['compile'], b['compile'])}",
                    )
                )
        if a["compile"] != b["compile"]:
            found.append(("text", _plain(a["compile"], b["compile"])))
    results, answers = want.get("results") or [], got.get("results") or []
    if len(results) != len(answers) and not found:
        found.append(("admission", "only one says something of devices"))
    for result, other in zip(results, answers, strict=False):
        if str(result.get("error", "")).startswith("panic"):
            continue
        # of several attributes that cannot be read, upstream names a random one
        said = [
            str(r.get("value", _ATTRIBUTE.sub("attribute X:", r.get("error") or "")))
            for r in (result, other)
        ]
        if said[0] != said[1]:
            found.append(
                (
                    "error" if "value" not in result and "value" not in other else "value",
                    _plain(*said),
                )
            )
    return min(found, key=lambda f: KINDS.index(f[0]), default=None)


def _outcome_of_stored(out: Case) -> Case:
    return dict(out.get("stored") or {"compile": out["compile"]})


def _plain(a: str, b: str) -> str:
    """The first lines that differ, without what is quoted."""
    pairs = list(
        zip_longest(_MESSAGE.findall(a) or [a], _MESSAGE.findall(b) or [b], fillvalue="nothing")
    )
    return " BUT ".join(
        _QUOTED.sub("#", text)
        for text in next((p for p in pairs if p[0] != p[1]), ("places", "others"))
    )


_MESSAGE = re.compile(r"^(?:compilation failed: )?ERROR: <input>:-?\d+:-?\d+: (.*)$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^attribute [^ ]+:(?= unsupported)")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|[0-9]+|`[^`]*`|#, ")

# -- making smaller ---------------------------------------------------------------------------------------------------


def smaller(case: Case) -> Iterator[Case]:
    """The case with something left out."""
    if len(case["devices"]) > 1:
        for device in case["devices"]:
            yield {**case, "devices": [device]}
    if "features" in case:
        yield {key: value for key, value in case.items() if key != "features"}
    for i, device in enumerate(case["devices"]):
        for part in ("attributes", "capacity"):
            for name in device.get(part) or {}:
                less = {**device, part: {k: v for k, v in device[part].items() if k != name}}
                yield {**case, "devices": [*case["devices"][:i], less, *case["devices"][i + 1 :]]}
    text = case["expression"]
    tokens = tokenize(text)
    size = len(tokens)
    while size >= 1:
        for i in range(0, len(tokens) - size + 1, max(1, size // 2)):
            yield {**case, "expression": text[: tokens[i].start] + text[tokens[i + size - 1].end :]}
        size //= 2
    for token in tokens:
        simple = {"string": ("''", "'a'"), "number": ("1",), "name": ("x",)}.get(token.kind, ())
        for other in simple:
            if len(other) < len(token.text):
                yield {**case, "expression": text[: token.start] + other + text[token.end :]}
    squeezed = " ".join(text.split())
    if squeezed != text:
        yield {**case, "expression": squeezed}


def shrink(
    case: Case, release: str, kind: tuple[str, str], oracle: Oracle, rounds: int = 1500
) -> Case:
    """A smaller case with the same kind of difference."""
    improved = True
    while improved and rounds > 0:
        improved = False
        for candidate in smaller(case):
            rounds -= 1
            if rounds <= 0:
                break
            want = oracle.ask(candidate)
            if want is not None and difference(want, mine(candidate, release)) == kind:
                case, improved = candidate, True
                break
    return case


def is_unordered(case: Case, release: str, oracle: Oracle) -> bool:
    """Whether upstream says now this, now that: it walks maps in random order."""
    got = mine(case, release)
    kinds = {difference(want, got) for _ in range(16) if (want := oracle.ask(case)) is not None}
    return len(kinds) != 1 or None in kinds


def run(
    release: str, seeds: Sequence[int], *, kinds: Sequence[str], each: int, save: Path | None
) -> Counter[str]:
    """Compares the cases of some seeds; prints differences, returns counts."""
    data = Path(
        os.environ.get("DRACTL_SHARED") or Path(__file__).resolve().parents[3] / "shared",
        "conformance/cel",
    )
    devices = json.loads((data / "devices.json").read_text("utf-8"))
    devices = {
        name: device for name, device in devices.items() if name not in ("bad-version", "no-value")
    }
    recorded = [
        json.loads(line)["expression"]
        for line in (data / "cases.jsonl").read_text("utf-8").splitlines()
    ]
    signal.signal(signal.SIGALRM, _raise_too_slow)
    oracle = Oracle(release)
    counts: Counter[str] = Counter()
    shown: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        case = Maker(seed, recorded, devices).case()
        want = oracle.ask(case)
        if want is None:
            counts["unanswered"] += 1
            continue
        counts["cases"] += 1
        counts[want["admission"]] += 1
        counts["evaluations"] += len(want.get("results") or ())
        kind = difference(want, mine(case, release))
        if kind is None:
            continue
        if is_unordered(case, release, oracle):
            counts["another order"] += 1
            continue
        counts[f"DIFFERENT {kind[0]}"] += 1
        shown[kind] += 1
        if kind[0] not in kinds or shown[kind] > each:
            continue
        small = shrink(case, release, kind, oracle)
        if is_unordered(small, release, oracle):
            counts["another order"] += 1
            continue
        answers = [oracle.ask(small) or {}, mine(small, release)]
        print(f"{kind[0]} {seed}: {kind[1]}", small["expression"], sep="\n  ")
        if "results" in answers[0] or "results" in answers[1]:
            print(" ", json.dumps(small["devices"], ensure_ascii=False))
        for said in answers:
            print(
                " ",
                json.dumps({k: v for k, v in said.items() if k != "id"}, ensure_ascii=False),
                flush=True,
            )
        if save is not None:
            with save.open("a") as file:
                file.write(json.dumps({**small, "release": release, "kind": kind}) + "\n")
    oracle.close()
    for kind, count in shown.most_common():
        if kind[0] in kinds and count > each:
            print(f"{count} times {kind[0]}: {kind[1]}")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", required=True, choices=RELEASES)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help=f"what to print of {', '.join(KINDS)}"
    )
    parser.add_argument(
        "--each", type=int, default=2, help="how many to print of those that differ alike"
    )
    parser.add_argument("--save", type=Path, help="append the cases that differ to this file")
    arguments = parser.parse_args()
    if not oracle_program(arguments.release).exists():
        print(f"fuzz_cel: no {oracle_program(arguments.release)}", file=sys.stderr)
        return 3
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    counts = run(
        arguments.release,
        seeds,
        kinds=arguments.kinds.split(","),
        each=arguments.items_of,
        save=arguments.save,
    )
    print(arguments.release, dict(counts))
    return int(any(name.startswith("DIFFERENT") for name in counts))


if __name__ == "__main__":
    sys.exit(main())
