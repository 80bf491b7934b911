"""Hashes of passwords, as in htpasswd and shadow files. The name of the algorithm stays.

They can be attacked without asking anybody, so they are secrets too.
"""

from __future__ import annotations

from tokcap.filters.kind import Kind, kind
from tokcap.filters.secret_judges import concrete, mixed
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

ALPHABET = rb"[./A-Za-z0-9]"
BASE64 = rb"[\w./+=-]"


def hashed(landmarks: bytes, pattern: bytes, *, any_case: bool = False) -> Kind:
    """Return the kind for a hash. `@` is a character of crypt(3), and `~` one of base64."""
    pattern = pattern.replace(b"@", ALPHABET).replace(b"~", BASE64)
    return kind("password hash", landmarks, pattern, any_case=any_case)


def line_of_a_password_file(match: re.Match[bytes]) -> bool:
    """Return whether a line is from a file of passwords. A short hash must look like one."""
    return mixed(match) if match["short"] is not None else concrete(match)


HASH_KINDS = (
    hashed(b"$1$ $apr1$", rb"\$(?:1|apr1)\$(?P<secret>@{1,8}\$@{22})(?!@)"),
    hashed(b"$2a$ $2b$ $2x$ $2y$", rb"\$2[abxy]\$\d\d\$(?P<secret>@{53})(?!@)"),
    hashed(b"$5$ $6$", rb"\$[56]\$(?:rounds=\d{1,9}\$)?(?P<secret>[^\s$:\"'\\]{1,16}\$@{43,86})(?!@)"),
    hashed(b"$y$ $gy$ $7$", rb"\$(?:g?y\$@{1,32}\$|7\$)(?P<secret>@{1,86}\$@{43})(?!@)"),
    hashed(
        b"$argon2 $scrypt$ $pbkdf2",
        rb"\$(?:argon2|scrypt|pbkdf2)[\w-]{0,12}(?:\$[\w=,]{1,64}){0,2}\$(?P<secret>~{4,128}\$~{16,256})",
    ),
    # Django and Werkzeug.
    hashed(
        b"pbkdf2_sha pbkdf2:sha scrypt:",
        rb"(?:pbkdf2_sha\d{1,3}\$\d{1,9}|pbkdf2:sha\d{1,3}:\d{1,9}|scrypt:\d{1,9}:\d{1,4}:\d{1,4})"
        rb"\$(?P<secret>[^\s$\"'\\]{1,64}\$~{32,256})",
    ),
    # phpass and Drupal.
    hashed(b"$P$ $H$ $S$", rb"\$[PHS]\$@(?P<secret>@{30,51})(?!@)"),
    # LDAP.
    hashed(
        b"{sha {ssha {md5} {smd5} {pbkdf2",
        rb"\{(?:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[\w-]{0,8})\}(?P<secret>[\w./+$-]{20,256}={0,2})",
        any_case=True,
    ),
    hashed(b"{crypt}", rb"\{crypt\}(?P<secret>@{13})(?!@)", any_case=True),
    # PostgreSQL, MySQL, and dumps of Windows.
    hashed(b"SCRAM-SHA-", rb"SCRAM-SHA-\d{1,3}\$\d{1,9}:(?P<secret>~{8,128}\$~{16,128}:~{16,128})"),
    hashed(
        b"mysql_native_password",
        rb"mysql_native_password['\"`]?[ ]AS[ ]['\"]\*(?P<secret>[0-9A-F]{40})",
        any_case=True,
    ),
    hashed(
        b":aad3b435b51404ee", rb":aad3b435b51404ee[0-9a-f]{16}:(?P<secret>[0-9a-f]{32})(?!\w)", any_case=True
    ),
    # `user:hash` of crypt(3), `user:realm:hash`, and `host:port:database:user:password` for PostgreSQL.
    kind(
        "password",
        b"",
        rb"""[^\s:/"'=]{1,64}:
        (?: (?P<short>(?=[./A-Za-z0-9]{13}(?::\d{0,6}:|[\r\n]|\Z))(?=[^\r\n]{13}))
          | [^\s:]{1,64}:(?=[0-9a-f]{32}(?:[\r\n]|\Z))
          | (?:543\d|6432|6543|26257|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?=[^\s:]{1,256}(?:[\r\n]|\Z)) )
        (?P<secret>[^\s:]{2,256})""",
        line_of_a_password_file,
    ),
)
