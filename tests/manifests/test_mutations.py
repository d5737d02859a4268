"""Documents and archives with random damage: something clear comes out, never an exception that nobody expects."""

from __future__ import annotations

import bz2
import contextlib
import lzma
import random
from typing import TYPE_CHECKING

import pytest

from dractl.errors import InputError
from dractl.manifests import load
from tests.manifests.test_files import MEMBERS, tar_of, zip_of
from tests.manifests.test_locate import CLAIM

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = '{"kind": "List", "items": [{"kind": "K", "a": "x\\u00e9\\ud83d\\ude00", "b": [1, 2.5, null, true]}]}'
PIECES = [
    *(
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"- ",
        b"\n",
        b"\t",
        b"|\n",
        b">-\n",
        b"&a ",
        b"*a",
        b"<<: ",
        b"#",
        b"%",
    ),
    *(
        b"\0",
        b"\xff",
        b"---\n",
        b"\\u",
        b"\\ud800",
        b"{{",
        b"\r",
        b"\xe2\x80\xa8",
        b"!!int ",
        b"!!binary ",
        b"0x",
    ),
    *(b".inf", b"1e999", b",", b"? ", b"\xef\xbb\xbf"),
]
ARCHIVES = [
    tar_of(MEMBERS),
    tar_of(MEMBERS, "w:gz"),
    zip_of(MEMBERS),
    bz2.compress(tar_of(MEMBERS)),
    lzma.compress(tar_of(MEMBERS)),
]


def damaged(data: bytes, pieces: list[bytes], chance: random.Random) -> bytes:
    text = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(text) + 1)
        if chance.random() < 0.6:
            text[place:place] = chance.choice(pieces)
        else:
            del text[place : place + chance.randint(1, 5)]
    return bytes(text)


def paths(value: object, prefix: tuple = ()) -> Iterator[tuple]:
    yield prefix
    items = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
    for step, child in items:
        yield from paths(child, (*prefix, step))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", [CLAIM, JSON], ids=["yaml", "json"])
def test_documents(text: str, seed: int, composer: str) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        inputs = load(["-"], stdin=damaged(text.encode(), PIECES, chance))
        assert all(broken.position.line >= 1 and broken.message for broken in inputs.broken)
        for document in inputs.documents:
            assert all(fault.message for fault in document.faults)
            for path in paths(document.value):
                for asked in (path, (*path, "absent"), (*path, 7)):
                    places = (
                        document.locate(asked),
                        document.locate(asked, key=True),
                        document.locate(asked, offset=3),
                    )
                    assert all(place.line >= 1 and place.column >= 1 for place in places)


@pytest.mark.parametrize("seed", range(4))
def test_archives(seed: int) -> None:
    chance = random.Random(seed)
    noise = [bytes(chance.randrange(256) for _ in range(size)) for size in (1, 2, 8, 40)]
    for _ in range(150):
        with contextlib.suppress(InputError):
            load(["-"], stdin=damaged(chance.choice(ARCHIVES), noise, chance))
