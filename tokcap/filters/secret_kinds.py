"""The kinds of secrets that are masked: one table with a row for each."""

from __future__ import annotations

import re

from tokcap.filters.cookies import COOKIE, COOKIE_REST, COOKIES, cookie_mask, is_cookie
from tokcap.filters.kind import Kind, kind
from tokcap.filters.password_commands import COMMAND_KINDS
from tokcap.filters.password_hashes import HASH_KINDS
from tokcap.filters.secret_judges import (
    argument,
    at_line_start,
    concrete,
    connection,
    defined,
    doubtful,
    element,
    in_query,
    literal,
    mixed,
    netrc,
    passphrase,
    random,
    short_name,
    told,
    variable,
    written_out,
)
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
    WORDS,
)
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.filters.kind import Judge

# A name and what may follow it. Most words that look like a name at first are parts of others.
NAME = re.compile(rb"""(?:%b|token)[\s\\"'\]=:,>]""" % SECRET_NAME, re.VERBOSE | re.IGNORECASE)


def named(pattern: bytes, judge: Judge) -> Kind:
    """Return a kind of secret that is recognized by its name."""
    return kind("password", SECRET_WORDS, pattern, judge, any_case=True, gate=NAME)


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
        rb"authorization%b%b(?![ ]\w{1,32}=)" % (IS, VALUE), random, any_case=True),
    kind("bearer token", b"bearer", rb"bearer[ \t](?P<secret>[\w.~+/-]{16,}+={0,2})", random, any_case=True),
    # Up to the last `@` before the host: a password may contain one.
    kind("url credentials", b"://", rb"""://[^\s/:@"'`<>\\]{0,128}:(?P<secret>[^\s/"'`<>\\]{1,256})@(?=[\w\[.%-])""",
        concrete),
    kind("url credentials", b"://", rb"://(?P<secret>[\w.-]{20,256})@(?=[\w\[])", mixed),
    kind("url signature", b"sig= x-amz-signature= x-goog-signature=",
        rb"(?<=[?&])(?:sig|x-[a-z]{3,4}-signature)=(?P<secret>[\w%+/=-]{32,}+)", any_case=True),
    kind("cookie", b"cookie", rb"(?<=set-)cookie%b" % (IS + COOKIE), is_cookie,
        any_case=True, mask=cookie_mask),
    kind("cookie", b"cookie", rb"""(?<![\w-])cookie%b["']?%b""" % (IS, COOKIES), is_cookie,
        any_case=True, rest=COOKIE_REST, mask=cookie_mask),
    *COMMAND_KINDS,
    *HASH_KINDS,
    named(rb"(?:%b|token)=(?P<secret>%b%b)" % (SECRET_NAME, BARE_FIRST, REST_OF_WORD), variable),
    named(rb"(?:%b|token)(?:=|:[ ])%b" % (SECRET_NAME, WORDS), passphrase),
    named(rb"""%b=(?P<secret>[^\s;"'(){}$\\][^;\r\n"'(){}$\\]{1,255})(?=;)""" % SECRET_NAME, connection),
    named(SECRET_NAME + IS + VALUE, literal),
    kind("token", b"token cred auth oauth_signature key privatekey presharedkey",
        DOUBTFUL_NAME + IS + VALUE, doubtful, any_case=True),
    kind("token", b"token auth key code jwt",
        rb"(?<=[?&])(?:token|auth|key|code|jwt)=(?P<secret>%b%b{2,255})" % (BARE_FIRST, BARE),
        in_query, any_case=True),
    kind("password", b"pass pw",
        rb"(?:pass|pw)(?:=|:[ ]{1,4})%b" % VALUE, short_name),
    named(rb"(?:%b|token)[ ]%b" % (SECRET_NAME, VALUE), argument),
    # Attributes, XML, SQL, and lines of configuration files.
    named(rb"""%b["'][ ]value=(?=["'])%b""" % (SECRET_NAME, VALUE), written_out),
    named(rb"""%b["']?>(?P<secret>[^<>\r\n]{1,256})(?=</)""" % SECRET_NAME, element),
    named(rb"""%b["'],[ ]?(?=["'])%b""" % (SECRET_NAME, VALUE), defined),
    kind("password", b"password identified",
        rb"(?:identified(?:[ ]with[ ]\S{1,40})?[ ]by|password)[ ](?=')%b" % VALUE, literal, any_case=True),
    kind("password", b"PASSWORD", rb"PASSWORD\((?=')%b" % VALUE, written_out),
    kind("password", b"password secret",
        rb"(?:password|secret)[ ][05789][ ](?P<secret>[^\s$]\S{3,255})", told, any_case=True),
    kind("password", b"password",
        rb"password[ \t](?P<secret>%b%b)(?![ \t]{0,8}[^\s])" % (BARE_FIRST, REST_OF_WORD), netrc),
    kind("password", b"requirepass masterauth rootpw wpa-psk psk",
        rb"(?:requirepass|masterauth|rootpw(?:[ ]--\w{1,16}){0,3}|wpa-psk|psk(?=[ ]\"))[ \t]{1,8}%b" % VALUE,
        at_line_start, any_case=True),
    kind("password", b"wireless-security. wifi-sec. key",
        rb"""(?:(?:wireless-security|wifi-sec)\.(?:psk|wep-key\d|leap-password):
        |key[ ]content[ ]{1,16}:)[ ]{0,64}
        (?P<secret>[^\s"<-][^\r\n"]{2,254}[^\s"\\])""", concrete, any_case=True),
    # As in the QR code of a network.
    kind("password", b"WIFI:", rb"WIFI:(?:[STHR]:[^;\r\n]{0,64};){0,4}P:(?P<secret>[^;\r\n\"]{1,128})(?<!\\)",
        concrete),
    # Sentences, as database servers and installers print them.
    kind("password", b"password passphrase",
        rb"(?:password[ ]is[ ]generated[ ]for[ ]\S{1,64}:|pass(?:word|phrase)[ ]is:?)[ ]"
        rb"[\"']?(?P<secret>[^\s\"']{6,255})",
        told, any_case=True),
    kind("digest response", b"response=", rb'response="?(?P<secret>[0-9a-f]{32,128})(?!\w)'),
    kind("request signature", b"signature=",
        rb"(?<=[ ,])signature=\"?(?P<secret>[\w%+/=-]{32,}+)", any_case=True),
    # In the address of a database, as drivers for Go write it.
    kind("url credentials", b"@tcp( @unix(",
        rb"""(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s"'`/:<>]{1,128})\Z""", concrete, behind=True),
)  # fmt: skip
