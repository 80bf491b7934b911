"""Mask the values of cookies. Their names stay, and so do the attributes of `Set-Cookie`."""

from __future__ import annotations

import re

from tokcap.filters.secret_judges import PLACEHOLDER
from tokcap.filters.secret_values import MASK

NAME = rb"[\w.!#$%&*+^|~-]{1,128}"
# The cookie of a `Set-Cookie` header; attributes follow after `;`.
COOKIE = rb"""(?:\\{0,3}["'])?(?P<secret>%b=(?:"[^"\\\r\n]{1,512}"|[^\s;,"'\\]{1,2000}))""" % NAME
# All cookies of a `Cookie` header, up to a quote around the header.
COOKIES = rb"""(?P<secret>%b=[^\r\n"'\\]{1,2000})""" % NAME
COOKIE_REST = re.compile(rb"""[^\r\n"'\\]*+""")

# A cookie: blanks, its name, its value. Text without a name is not a cookie, but may be a part of one.
ONE = re.compile(rb"(\s*)([^;=\s]+=)?([^;]*[^;\s])")


def is_cookie(match: re.Match[bytes]) -> bool:
    """Return whether at least one cookie has a value that is not a placeholder."""
    return any(is_written_out(value) for _, _, value in ONE.findall(match["secret"]))


def is_written_out(value: bytes) -> bool:
    return not PLACEHOLDER.match(value.strip(b'"'))


def cookie_mask(match: re.Match[bytes]) -> bytes:
    def masked(one: re.Match[bytes]) -> bytes:
        blanks, name, value = one[1], one[2] or b"", one[3]
        if not is_written_out(value):
            return one[0]
        in_quotes = value.startswith(b'"') and value.endswith(b'"')
        return blanks + name + (b'"%b"' % MASK if in_quotes else MASK)

    return ONE.sub(masked, match["secret"])
