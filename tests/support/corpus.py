"""Seeds for mutation: case files, terminal captures, modules of Python, and difficult inputs."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from tests.support.program import ROOT

SOURCE_BYTES = 3000


def case_inputs(shape: str = "*") -> list[bytes]:
    """Return the inputs of the case files of a shape."""
    found = []
    for path in sorted((ROOT / "tests" / "cases").glob(f"{shape}/*.case")):
        match = re.search(rb"--- input\n(.*?)\n--- output\n", path.read_bytes(), re.DOTALL)
        assert match, path
        # The beginning of a long input is enough.
        found.append(match[1][:SOURCE_BYTES])
    return found


def sources(number: int = 12) -> list[bytes]:
    """Return the beginnings of some modules of the standard library."""
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return [path.read_bytes()[:SOURCE_BYTES] for path in library[:: max(len(library) // number, 1)]]


TRICKY_TEXT = (
    *tuple(
        text.encode("utf-8", "surrogatepass")
        for text in (
            "",
            " ",
            "\n\n\n",
            "a\r\nb\rc\n",
            "it's I'LL we'Ve 'ſ 'T’s",
            "<|endoftext|><|fim_prefix|>",
            "漢字かな 👩\u200d👩\u200d👧\u200d👦 é ǅ ʰ ² Ⅷ ٣",
            "\u0378\ufdd0\uffff\U0010ffff\U000e0fff",
            "\x00\x01\x1b\x7f\x85\xa0\u2028\u3000\u200d\ufeff",
            "a" * 300,
            " " * 300 + "x",
            "=-" * 150,
            "0123456789" * 30,
            "AbCdEf" * 40 + "\n" * 40,
            "//\n/\n///\r\n/",
        )
    ),
    b"\xff\xfe\xc2\xe2\x82\xf0\x9f\x98",
    b"caf\xe9\n",
    b"\xed\xa0\x80",
    b"\xc2\x85\xe1\x9a\x80\xe2\x81\x9f",
)

TRICKY_JSON = (
    b"{}",
    b"[]",
    b"0",
    b"-0.0e+1",
    b"[1E400,1.10,12345678901234567890123]",
    rb'["\ud800","\u0000","\/","\ud83d\ude00"]',
    b'{"a":1,"a":{"":[]},"[TRUNCATED]":true}',
    b'\xef\xbb\xbf{"a":[1,2,{"b":null}]}\n',
    b'[{"id":1,"name":"a"},{"id":2,"name":"b, c"}]',
    b'{"items":[1,2,3],"next":null}',
    b'{"a":1}\n{"a":2}\n\n[3]\n"four"\n5\n',
    b'{"a":1}{"b":2} [3]',
    b"[" * 60 + b"]" * 60,
    b'{"a":' * 40 + b"1" + b"}" * 40,
    b"1 2",
    b'"a"\n"b"',
    b"true",
    b"[NaN,Infinity]",
    b"01",
    b"[1,]",
    b'"\\u12"',
    b'["a\x01b"]',
    b"\xa0[1]",
    b"[1]\x0b",
)

TRICKY_TABLES = (
    b"id,name\n1,a\n2,b\n",
    b'id,name,note\r\n1,"a, b","line\r\nbreak"\r\n2,,\r\n',
    b'a\tb\n1\t"x"\n2\t""""\n',
    b'"id","na""me"\n"1","2"\n3,4\n',
    b"a,b\n1,2\n3,4,5\n",
    b"\xef\xbb\xbfid,name\n1,caf\xe9\n",
    b"a,b\r1,2\r3,4\r",
    b"a,b\n\n1,2\n\n",
)
