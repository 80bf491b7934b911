"""Passwords on command lines, where only the program tells that an option or a word is one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokcap.filters.cookies import COOKIE_REST, COOKIES, cookie_mask, is_cookie
from tokcap.filters.kind import Kind, kind
from tokcap.filters.secret_judges import NO_SECRETS, closes_text, concrete, written_out
from tokcap.filters.secret_values import ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Callable

PORTS = re.compile(rb"[\d.:/-]*\d(?:/(?:tcp|udp))?\Z")


def argument(match: re.Match[bytes]) -> bool:
    """Return whether the word after an option is a password: no placeholder, and not the end of a text."""
    return concrete(match) and not closes_text(match)


def option(
    landmarks: bytes,
    program: bytes,
    flag: bytes,
    value: bytes = ARGUMENT,
    judge: Callable[[re.Match[bytes]], bool] = argument,
) -> Kind:
    """Return the kind for an option of a program. `flag` includes what separates it from its value."""
    pattern = rb"(?<![\w.-])(?:%b)(?:(?![ ]%b)[^\r\n|;]){0,256}[ ]%b%b" % (program, flag, flag, value)
    return kind("password", landmarks, pattern, judge)


def not_a_port(match: re.Match[bytes]) -> bool:
    """Return whether `-p` gives a password, and not a port as in `docker run --name mysql -p3306:3306`."""
    return argument(match) and not (b":" in match["secret"] and PORTS.match(match["secret"]))


def in_batch(match: re.Match[bytes]) -> bool:
    """Return whether `htpasswd` has the option `-b`: the last word is the password."""
    return argument(match) and b"b" in b"".join(
        re.findall(rb" -(\w+)", match.string[match.start() : match.start("secret")])
    )


def user_argument(match: re.Match[bytes]) -> bool:
    return written_out(match) and not closes_text(match)


def is_word(match: re.Match[bytes]) -> bool:
    return argument(match) and match["secret"].lower() not in NO_SECRETS


# The user before the password.
USER = rb"""["']?[^\s:"',%%/]{1,64}"""
PASS = rb"pass:(?:(?<=-passin[ ]pass:)|(?<=-passout[ ]pass:)|(?<=-pass[ ]pass:))"
NETWORK = rb"""(?:"[^"\r\n]{1,64}"|'[^'\r\n]{1,64}'|[^\s=]{1,64})"""
PIPED = rb"[\"']?[ ]{0,2}\|[ ]{0,2}"
LOGIN = rb"login(?:(?<=docker[ ]login)|(?<=podman[ ]login)|(?<=oc[ ]login)|(?<=az[ ]login)|(?<=cf[ ]login))"

COMMAND_KINDS = (
    option(
        b"mysql mariadb mycli",
        rb"mysql[\w-]{0,16}|mariadb[\w-]{0,16}|mycli",
        rb"-p(?=[^\s-])",
        judge=not_a_port,
    ),
    option(b"sshpass", rb"sshpass", rb"-p[ ]{0,4}(?=[^\s-])"),
    option(b"7z", rb"7z[arz]?", rb"-p(?=[^\s-])"),
    option(b"mongo", rb"mongo[\w-]{0,16}", rb"-p[ ]"),
    option(b"redis-cli", rb"redis-cli", rb"-a[ ]"),
    option(b"ldap", rb"ldap[a-z]{3,12}", rb"-w[ ]"),
    option(b"sqlcmd ipmitool unzip", rb"sqlcmd|ipmitool|unzip", rb"-P[ ]?(?=[^\s-])"),
    option(b"rdesktop", rb"rdesktop", rb"-p[ ]"),
    option(b"xfreerdp", rb"xfreerdp3?", rb"/p:"),
    option(b"openssl", rb"openssl", rb"-k[ ]"),
    option(b"smbclient rpcclient", rb"smbclient|rpcclient", rb"-U[ ]?%b%%" % USER),
    option(b"security", rb"security[ ](?:add|find|set)-[a-z]{1,16}-password", rb"-w[ ]"),
    option(b"lftp", rb"lftp", rb"-u[ ]%b," % USER),
    option(b"nmcli", rb"nmcli", rb"(?:password|(?:[\w-]{1,32}\.)?psk)[ ]", judge=is_word),
    kind("password", b"login", LOGIN + rb"(?:(?![ ]-p[ ])[^\r\n|;]){0,256}[ ]-p[ ]" + ARGUMENT, argument),
    kind("password", b"pass:", PASS + ARGUMENT, argument),
    kind("password", b"wpa_passphrase", rb"wpa_passphrase[ ]%b[ ]%b" % (NETWORK, ARGUMENT), argument),
    kind(
        "password",
        b"htpasswd",
        rb"htpasswd(?:[ ]-\w{1,8}(?:[ ]\d{1,2})?){1,4}(?:[ ][^\s-]\S{0,128}){1,2}[ ]%b"
        rb"(?=[ \t]{0,8}(?:[\r\n;|&]|\Z))" % ARGUMENT,
        in_batch,
    ),
    kind(
        "password",
        b"sqlplus jdbc:oracle:thin:",
        rb"(?:sqlplus(?:[ ]-\w{1,4}){0,3}[ ]|jdbc:oracle:thin:)[\w.-]{1,64}/(?P<secret>[^\s@/\"']{1,128})@",
        concrete,
    ),
    # In other programs `-u` is only a user name.
    option(b"curl", rb"curl", rb"(?:-[uU][ ]?|--(?:proxy-)?user[ =])%b:" % USER, judge=user_argument),
    option(
        b"curl",
        rb"curl",
        rb"""(?:-[uU][ ]?|--(?:proxy-)?user[ =])(?=["'])%b:""" % USER,
        rb"""(?P<secret>[^"'\r\n\\]{1,256})(?=["'])""",
    ),
    option(b"http", rb"https?", rb"(?:-a|--auth)[ =]%b:" % USER).but(landmarks=(b"http -", b"https -")),
    kind(
        "cookie",
        b"curl",
        rb"""curl(?:(?![ ](?:-b|--cookie)[ =])[^\r\n|;]){0,256}[ ](?:-b|--cookie)[ =]["']?%b""" % COOKIES,
        is_cookie,
        rest=COOKIE_REST,
        mask=cookie_mask,
    ),
    # A password that is piped into the program that asks for it.
    kind("password", b"echo", rb"echo[ ]%b%bsudo[ ](?:-\w{1,8}[ ]){0,4}-S" % (ARGUMENT, PIPED), argument),
    kind("password", b"echo", rb"echo[ ]%b:%b%b(?:sudo[ ])?chpasswd" % (USER, ARGUMENT, PIPED), argument),
)
