"""The kinds of secrets that are masked: one table with a row for each."""

from __future__ import annotations

import re

from tokcap.filters.secret_values import (
    BARE,
    BARE_FIRST,
    DOUBTFUL_NAME,
    IS,
    REST_OF_WORD,
    SCHEME,
    SECRET_NAME,
    SECRET_WORDS,
    VALUE,
    always,
    argument,
    concrete,
    literal,
    mixed,
    netrc,
    random,
    variable,
)
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Judge: TypeAlias = Callable[[re.Match[bytes]], bool]


class Kind(Record):
    """A kind of secret. Each match begins with one of its landmarks, which are quick to find."""

    name: str
    landmarks: tuple[bytes, ...]
    # Matches at a landmark. The group `secret` is masked.
    pattern: re.Pattern[bytes]
    # Returns whether a match is a secret.
    judge: Judge


def kind(
    name: str, landmarks: bytes, pattern: bytes, judge: Judge = always, *, any_case: bool = False
) -> Kind:
    flags = re.VERBOSE | re.IGNORECASE if any_case else re.VERBOSE
    return Kind(name, tuple(landmarks.split()), re.compile(pattern, flags), judge)


# If several kinds match the same bytes, the first one names them.
KINDS = (
    # A key block in base64, as in a Kubernetes secret; certificates begin differently.
    kind("private key", b"LS0tLS1CRUdJTi", rb"""LS0tLS1CRUdJTi
        (?=BQUklWQVRF|BSU0EgUFJJV|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBU|BEU0EgUFJJV|BQR1AgUFJJ)
        (?P<secret>[A-Za-z0-9+/]++={0,2})"""),
    kind("private key", b"AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1(?P<secret>[A-Z0-9]{40,}+)"),
    kind("github token", b"ghp_ gho_ ghu_ ghs_ ghr_", rb"(?<![A-Za-z0-9])gh[pousr]_(?P<secret>\w{36,}+)"),
    kind("github token", b"github_pat_", rb"github_pat_(?P<secret>\w{30,}+)"),
    kind("gitlab token", b"glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        rb"gl[a-z]++-(?P<secret>[\w.-]{20,}+)", random),
    kind("aws access key", b"AKIA ASIA",
        rb"(?<![A-Za-z0-9+/])A[KS]IA(?P<secret>[A-Z0-9]{16})(?![A-Za-z0-9+/])"),
    kind("google key", b"AIza", rb"(?<![\w-])AIza(?P<secret>[\w-]{35})(?![\w-])"),
    kind("google key", b"ya29. GOCSPX-", rb"(?:ya29\.|GOCSPX-)(?P<secret>[\w-]{20,}+)"),
    kind("azure key", b"accountkey= sharedaccesskey=",
        rb"\w{10,15}=(?P<secret>[\w+/-]{20,}+={0,2})", any_case=True),
    kind("slack token", b"xox xapp-",
        rb"(?<![\w-])(?:xox[a-z]|xapp)-(?P<secret>[A-Za-z0-9-]{10,}+)", concrete),
    kind("slack hook", b"hooks.slack.com/", rb"hooks\.slack\.com/\w{1,20}/(?P<secret>[\w/-]{20,}+)"),
    kind("stripe key", b"sk_live_ rk_live_ sk_test_ rk_test_",
        rb"(?<![A-Za-z0-9])[sr]k_(?:live|test)_(?P<secret>[A-Za-z0-9]{10,}+)"),
    kind("stripe key", b"whsec_", rb"whsec_(?P<secret>[A-Za-z0-9+/]{20,}+={0,2})"),
    kind("npm token", b"npm_", rb"(?<!\w)npm_(?P<secret>[A-Za-z0-9]{36,}+)"),
    kind("pypi token", b"pypi-Ag", rb"pypi-(?P<secret>Ag[\w-]{40,}+)"),
    kind("model api key", b"sk-", rb"(?<![\w-])sk-(?P<secret>[\w-]{20,}+)", mixed),
    kind("hugging face token", b"hf_", rb"(?<!\w)hf_(?P<secret>[A-Za-z0-9]{30,}+)", mixed),
    kind("telegram token", b":AA", rb"(?<=\d{8}):(?P<secret>AA[\w-]{33})(?![\w-])"),
    kind("sendgrid key", b"SG.", rb"(?<!\w)SG\.(?P<secret>[\w-]{22}\.[\w-]{43})(?![\w-])"),
    kind("twilio key", b"SK", rb"(?<!\w)SK(?P<secret>[0-9a-f]{32})(?!\w)"),
    kind("service token", b"dop_v1_ hvs. shpat_ lin_api_ glsa_ dckr_pat_ ATATT3 ntn_ sntrys_",
        rb"(?<![A-Za-z0-9])(?:[a-z]{3,6}_(?:v1_|api_|pat_)?|hvs\.|ATATT3)(?P<secret>[\w=-]{20,}+)", random),
    # The last part makes it valid, but the other parts identify its owner.
    kind("jwt", b"eyJ", rb"(?<![\w-])eyJ(?P<secret>[\w-]{8,2000}+\.eyJ[\w-]{4,}+(?:\.[\w-]*+){0,3})"),
    kind("authorization header", b"authorization",
        rb"authorization%b%b(?P<secret>%b%b{2,255})" % (IS, SCHEME, BARE_FIRST, BARE),
        concrete, any_case=True),
    kind("authorization header", b"authorization",
        rb"authorization%b%b" % (IS, VALUE), random, any_case=True),
    kind("bearer token", b"bearer", rb"bearer[ \t](?P<secret>[\w.~+/-]{16,}+={0,2})", random, any_case=True),
    # Up to the last `@` before the host: a password may contain one.
    kind("url credentials", b"://", rb"""://[^\s/:@"'`<>\\]{0,128}:(?P<secret>[^\s/"'`<>\\]{1,256})@(?=[\w\[.%-])""",
        concrete),
    kind("url credentials", b"://", rb"://(?P<secret>[\w.-]{20,256})@(?=[\w\[])", mixed),
    kind("url signature", b"sig= x-amz-signature= x-goog-signature=",
        rb"(?<=[?&])(?:sig|x-[a-z]{3,4}-signature)=(?P<secret>[\w%+/=-]{32,}+)", any_case=True),
    # In other programs `-u` is only a user name.
    kind("password", b"curl",
        rb"""curl(?:(?![ ]-(?:u|-user)[ =])[^\r\n|;]){0,256}
        [ ]-(?:u|-user)[ =]["']?[^\s:"']{1,64}:%b""" % VALUE, literal),
    kind("password", SECRET_WORDS,
        rb"(?:%b|token)=(?P<secret>%b%b)" % (SECRET_NAME, BARE_FIRST, REST_OF_WORD), variable, any_case=True),
    kind("password", SECRET_WORDS,
        SECRET_NAME + IS + VALUE, literal, any_case=True),
    kind("token", b"token cred auth key",
        DOUBTFUL_NAME + IS + VALUE, random, any_case=True),
    kind("password", SECRET_WORDS,
        rb"(?:%b|token)[ ]%b" % (SECRET_NAME, VALUE), argument, any_case=True),
    # XML, SQL, and lines of a netrc file.
    kind("password", SECRET_WORDS,
        rb"%b>(?P<secret>[^<>\r\n]{1,256})(?=</)" % SECRET_NAME, literal, any_case=True),
    kind("password", b"password identified",
        rb"(?:identified[ ]by|password)[ ](?=')%b" % VALUE, literal, any_case=True),
    kind("password", b"password",
        rb"password[ \t](?P<secret>%b%b)(?![ \t]{0,8}[^\s])" % (BARE_FIRST, REST_OF_WORD), netrc),
)  # fmt: skip
