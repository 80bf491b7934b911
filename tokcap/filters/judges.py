"""Judge whether what a pattern matched is a secret, and not a placeholder, a piece of code or prose.

A judge may look at the line around a match, but not far: only a part of a long line is known.
"""

from __future__ import annotations

import re

from tokcap.filters.patterns import MASK
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.filters.patterns import Judge

# How far to look at the text before a word, and what that text may be.
BEFORE_BYTES = 96
LINE_START = rb"(?:\A|[\r\n\0])"
ENVIRONMENT = re.compile(
    rb"""(?:\A|[\r\n\0"'])(?:(?:export|set|ENV|ARG|declare\ -x)[ ])?[A-Z0-9_]*\Z""", re.VERBOSE
)
VARIABLE = re.compile(rb"""(?:\A|[\s\0"'=])[A-Z0-9_]*\Z""")
DECLARATION = re.compile(rb"(?:\A|[^\w])(?:setx|ENV|ARG|config(?:ure)? set)[ ][\w./:-]*\Z")
# `-p` is followed by a password itself: `mysql -psecret shop`.
OPTION = re.compile(rb"(?:\A|[^\w\]-])-(?:-|(?!p(?!roxy|rivate)[\w.-]*\Z))[\w.-]*\Z")
NETRC = re.compile(rb"(?:(?:\A|[\r\n])(?:[ \t]*|d-i[ ]\S+[ ])|login[ \t]\S+[ \t])\Z")
IN_QUERY = re.compile(rb"[?&][\w.-]*\Z")
IN_ADDRESS = re.compile(rb"://[\w.-]*\Z")
IN_CONNECTION = re.compile(rb";[ ]?[\w ]*\Z")
DEFINE = re.compile(rb"""define\(\s*["']\w*\Z""", re.IGNORECASE)
PRIVATE = re.compile(rb"(?:private[_-]?|preshared)\Z", re.IGNORECASE)
ELEMENT = re.compile(rb"""(?:<[\w:.-]*|(?:key|name)=["'][\w.-]*)\Z""")
HEADER = re.compile(rb"""(?:\A|[\s"'])x-[\w-]*\Z""", re.IGNORECASE)
# A line of YAML, and one of an INI or properties file: code is indented, or has other words before a name.
YAML_LINE = re.compile(LINE_START + rb"[ \t]*(?:-[ ])?[\w.-]*\Z")
INI_LINE = re.compile(LINE_START + rb"(?!self\.|this\.)[\w.-]*\Z")
LINE_REST = re.compile(rb"[ \t]{0,8}(?:[ \t][#]|[\r\n\0]|\Z)")
# Before the last of several names that are assigned to: `user, password = account`.
TARGETS = re.compile(rb"\w,[ ][\w.]*\Z")
# Other words before a setting, as in a log; but no keyword that begins a definition in a program.
IN_LOG = re.compile(
    rb"[^\s(,{\[][ \t](?<!let[ ])(?<!var[ ])(?<!val[ ])(?<!mut[ ])(?<!const[ ])"
    rb"(?<!final[ ])(?<!static[ ])[\w.-]*\Z"
)
# The next of several settings in a line: `password=x dbname=y`, `password=x,ssl=true`.
NEXT_SETTING = re.compile(rb"[ ,][\w.]{1,64}=")
CODE_AFTER = re.compile(rb"\)|,(?:\s|\Z)|;[ \t]*(?:[\r\n]|\Z)")


def preceded(match: re.Match[bytes], pattern: re.Pattern[bytes]) -> bool:
    before = match.string[max(match.start() - BEFORE_BYTES, 0) : match.start()]
    return pattern.search(before) is not None


def between(match: re.Match[bytes]) -> bytes:
    """Return the name of a secret and what separates it from its value."""
    return match.string[match.start() : match.start("secret")]


# Placeholders for a secret: `$PASSWORD`, `${{ x }}`, `%s`, `{name}`, `<token>`, `***`, `xxxx`.
PLACEHOLDER = re.compile(
    rb"[$<{]|%[sdr({]|%\w+%|\#\{|!(?:vault|Ref|Sub|GetAtt|secret)\b|(?:\*+|[xX]{3,}|\.+|\xe2\x80\xa2.*|~)\Z"
    rb"|\[REDACTED\]|-----BEGIN",
    re.VERBOSE | re.DOTALL,
)
NO_SECRETS = frozenset(
    b"""none null nil undefined true false yes no on off any str string bytes int bool boolean text char
    varchar secretstr optional option options required missing invalid incorrect wrong empty expired set unset
    enabled disabled prompt hidden default changed rejected accepted denied failed is are was to or and for
    with from in the a an of via must can cannot instead when if flag argument value parameter not""".split()
)
# Words of messages about a secret. A line with one of them is prose, without one it may be a passphrase.
PROSE = NO_SECRETS | frozenset(
    b"""this that your you it has have been be will field too short long weak only should does do did than
    least most characters character length match matches mismatch updated successfully success successful
    authentication authenticated attempt attempts again try error failure please enter use using reset sent
    removed protected loaded read by as at used unchanged valid unknown needed""".split()
)
# What follows the end of a quoted text: `"Enter password:", "Name:"`, `"password=" + word`.
AFTER_TEXT = re.compile(rb"\s*[,\]})+:;]")
IDENTIFIER = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*[:?!]?\Z")
# The words in `dbPassword`, `DB_PASSWORD` and `db_password`.
PARTS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SECRET_PARTS = frozenset(
    b"""pass passwd password passwords passphrase pwd pw secret secrets token tokens key keys cred creds
    credential credentials auth psk""".split()
)
# Where a path such as `self.password` or `args.pw` begins in a program.
ROOTS = frozenset(
    b"""self this args opts options settings config conf cfg env os sys process req request ctx context params
    form data user account client app module props state obj""".split()
)
TYPE_NAME = re.compile(
    rb"(?:[A-Z][a-z]+)+(?:Str|String|Field|Input|Array|Bytes|Type|Props|Schema|Provider|Manager|Handler|Service"
    rb"|Config|Options|Reader|Encoder|Request|Response|Buffer)\Z"
)
COMMANDS = frozenset(
    b"""ansible ansible-playbook aws bash bundle bun cargo composer curl deno docker docker-compose dotnet
    env exec flask gcloud git go gradle helm java kubectl make mariadb mvn mysql mysqldump nix node npm npx
    pg_dump pg_restore php pip pnpm podman poetry psql pytest python python3 rails rake rspec rsync ruby sh
    ssh sudo terraform time tokcap tox uv vagrant wget yarn zsh""".split()
)


def concrete(match: re.Match[bytes]) -> bool:
    """Return whether a value is not a placeholder."""
    return not PLACEHOLDER.match(match["secret"])


def closes_text(match: re.Match[bytes]) -> bool:
    """Return whether the quote before a value may end a text instead: `["mysql -p", "x"]`."""
    start = match.start("secret")
    return match.string[start - 1 : start] in (b'"', b"'") and bool(AFTER_TEXT.match(match["secret"]))


def is_directory(match: re.Match[bytes]) -> bool:
    """Return whether `PWD` is the working directory."""
    return match["secret"][:1] in (b"/", b"~") and between(match)[:3].lower() == b"pwd"


def written_out(match: re.Match[bytes]) -> bool:
    """Return whether a value is neither a placeholder nor a word that stands for the absence of a secret."""
    secret, text, end = match["secret"], match.string, match.end("secret")
    # A mask after the value: it is the visible start of a token that was masked earlier.
    return (
        concrete(match)
        and not is_directory(match)
        and secret.lower().rstrip(b":?!.") not in NO_SECRETS
        and not text.startswith(MASK, end)
    )


def literal(match: re.Match[bytes]) -> bool:
    """Return whether a value is written out, and is not a variable, a type, a call or a word of prose."""
    secret, text = match["secret"], match.string
    start, end = match.span("secret")
    if not concrete(match) or is_directory(match) or secret.lower().rstrip(b":?!.") in NO_SECRETS:
        return False
    if b"@" in secret and preceded(match, IN_ADDRESS):
        # `https://access-token:x@host`: only the part before the host is a secret.
        return False
    if text[start - 1 : start] in (b'"', b"'", b">"):
        # After a name in quotes, a quote opens a value; otherwise it may close a text.
        name_in_quotes = re.search(rb"[\"']", text[match.start() : start - 1])
        # One character is a key of the keyboard: `accesskey="h"`.
        return len(secret.strip()) > 1 and (bool(name_in_quotes) or not AFTER_TEXT.match(secret))
    if not written_out(match):
        return False
    if not IDENTIFIER.match(secret):
        return True
    if text[end : end + 1] in (b"(", b"[") or re.match(rb"<[A-Z]", text[end : end + 2]):
        return False
    if is_given_as_text(match):
        return True
    return not is_reference(match) and (has_digit(secret) or not is_in_prose(match))


def is_in_prose(match: re.Match[bytes]) -> bool:
    """Return whether words follow: `password: authentication failed`. `PASSWORD=correct make` is not."""
    text, end = match.string, match.end("secret")
    follows = text[end + 1 : end + 2].isalpha() or text.startswith(MASK, end + 1)
    return text[end : end + 1] == b" " and follows and not between(match).endswith(b"=")


def has_digit(secret: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in secret)


def is_given_as_text(match: re.Match[bytes]) -> bool:
    """Return whether a value cannot be code: in an environment, a command, a query, a connection string."""
    name, end = between(match), match.end("secret")
    if preceded(match, OPTION):
        return not is_metavariable(match["secret"])
    if preceded(match, IN_QUERY) or preceded(match, IN_CONNECTION):
        return True
    if not name.endswith(b"="):
        return False
    if NEXT_SETTING.match(match.string, end):
        return True
    if preceded(match, IN_LOG) and match.string[end : end + 1] in (b"", b" ", b"\t", b"\r", b"\n"):
        return True
    return name.isupper() and preceded(match, VARIABLE) and not CODE_AFTER.match(match.string, end, end + 8)


def is_metavariable(secret: bytes) -> bool:
    """Return whether a value is the `PASSWORD` of a help text."""
    return secret.isupper() and secret.replace(b"_", b"").isalpha()


def is_reference(match: re.Match[bytes]) -> bool:
    """Return whether an identifier is a variable, an attribute or a type: `password=args.password`."""
    secret, text, end = match["secret"], match.string, match.end("secret")
    parts = [part.lower() for part in PARTS.findall(secret)]
    names_secret = not SECRET_PARTS.isdisjoint(parts)
    is_path = not secret.isalnum() and re.search(rb"\.|->|::", secret) is not None
    if preceded(match, OPTION) or TYPE_NAME.match(secret):
        return True
    if between(match).endswith(b" = ") and (preceded(match, TARGETS) or text.startswith(b" = ", end)):
        return True
    is_rooted = is_path and parts[:1] != [] and parts[0] in ROOTS
    if has_digit(secret) and not (is_rooted or (is_path and names_secret)):
        return False
    if not (is_path or names_secret):
        return False
    if len(parts) == 1 and between(match).endswith(b": ") and LINE_REST.match(text, end, end + 10):
        return not secret.islower()
    if CODE_AFTER.match(text, end, end + 8) or between(match).lower().split() == [secret.lower(), b"="]:
        return True
    line = YAML_LINE if text[match.start() : match.start("secret")].rstrip().endswith(b":") else INI_LINE
    if preceded(match, line) and LINE_REST.match(text, end, end + 10):
        return is_rooted or (is_path and names_secret and not has_digit(secret))
    return True


def random(match: re.Match[bytes]) -> bool:
    """Return whether a value looks generated: long, without blanks, with letters and digits."""
    secret = match["secret"]
    if len(secret) < 16 or secret[:1] in b"/.~" or any(byte in b" \t(" for byte in secret):
        return False
    return has_digit(secret) and re.search(rb"[A-Za-z]", secret) is not None and literal(match)


def mixed(match: re.Match[bytes]) -> bool:
    """Return whether a word has lower case, upper case and digits, so that it is probably not a name."""
    secret = match["secret"]
    return all(re.search(kind, secret) for kind in (rb"[a-z]", rb"[A-Z]", rb"\d"))


def generated(secret: bytes) -> bool:
    """Return whether a short word has several digits among letters, as tokens have and names do not."""
    digits = sum(48 <= byte <= 57 for byte in secret)
    return (
        len(secret) >= 8
        and digits >= 3
        and re.search(rb"[A-Za-z]", secret) is not None
        and b" " not in secret
    )


def doubtful(match: re.Match[bytes]) -> bool:
    """Return whether the value of a doubtful name is a secret: its look or the place of the name says so."""
    name, secret = between(match), match["secret"]
    if name.lower().startswith(b"token") and not secret.isdigit() and not secret.startswith(b"["):
        if generated(secret) and secret[:1] not in b"/.~" and literal(match):
            return True
        upper_name = name.isupper() and preceded(match, re.compile(rb"[A-Z0-9]_\Z"))
        is_option = name.endswith(b"=") and preceded(match, OPTION)
        if (upper_name or is_option or preceded(match, HEADER)) and literal(match):
            return True
    if name.lower().startswith(b"auth"):
        return is_user_and_password(secret) or random(match)
    if name.startswith(b"KEY") and preceded(match, re.compile(rb"PUBLIC_\Z|CACHE_\Z|HOST_\Z")):
        return False
    if name.startswith(b"key") and not name.startswith(b"key-") and not preceded(match, PRIVATE):
        return False
    return random(match)


def is_user_and_password(secret: bytes) -> bool:
    """Return whether a value is `user:password` in base64."""
    import binascii

    try:
        decoded = binascii.a2b_base64(secret, strict_mode=True)
    except ValueError:
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode().isprintable()


def variable(match: re.Match[bytes]) -> bool:
    """Return whether a match is a `NAME=value` of an environment, whose value extends to the next blank."""
    return between(match).isupper() and preceded(match, ENVIRONMENT) and written_out(match)


def passphrase(match: re.Match[bytes]) -> bool:
    """Return whether words up to the end of a line are a secret, and not a command or a message."""
    _, second, *_ = words = match["secret"].lower().split()
    if between(match).endswith(b"="):
        return second not in COMMANDS and variable(match)
    return preceded(match, YAML_LINE) and PROSE.isdisjoint(words) and concrete(match)


def after(place: re.Pattern[bytes], judge: Judge) -> Judge:
    """Return a judge that also wants the text before a match to be of this kind."""
    return lambda match: preceded(match, place) and judge(match)


def argument(match: re.Match[bytes]) -> bool:
    """Return whether the word after an option is a value, and not the `PASSWORD` of a help text."""
    if preceded(match, DECLARATION):
        return written_out(match)
    return not is_metavariable(match["secret"]) and preceded(match, OPTION) and literal(match)


def netrc(match: re.Match[bytes]) -> bool:
    """Return whether a line of a netrc file has a password. A short line of prose may look like one."""
    secret = match["secret"].lower()
    is_prose = secret in PROSE or (secret.endswith((b".", b",", b":")) and not has_digit(secret))
    return preceded(match, NETRC) and not is_prose and written_out(match)


def told(match: re.Match[bytes]) -> bool:
    """Return whether a word in a sentence about a password is the password: it has more than letters."""
    return len(match["secret"]) >= 6 and not match["secret"].rstrip(b".!").isalpha() and concrete(match)


def in_query(match: re.Match[bytes]) -> bool:
    """Return whether a parameter of an address is a secret; `key` and `code` have other uses too."""
    name = between(match).lower()
    return random(match) if name in (b"key=", b"code=") else not match["secret"].isdigit() and literal(match)


def short_name(match: re.Match[bytes]) -> bool:
    """Return whether the value of `pass`, which also counts tests, is a password."""
    secret = match["secret"]
    before = match.string[max(match.start() - 1, 0) : match.start()]
    has_both = has_digit(secret) and re.search(rb"[A-Za-z]", secret) is not None
    return not before.isalnum() and before not in (b"_", b"-", b".") and has_both and literal(match)


COOKIE_NAME = rb"[\w.!#$%&*+^|~-]{1,128}"
# The cookie of a `Set-Cookie` header; attributes follow after `;`.
COOKIE = rb"""(?:\\{0,3}["'])?(?P<secret>%b=(?:"[^"\\\r\n]{1,512}"|[^\s;,"'\\]{1,2000}))""" % COOKIE_NAME
# All cookies of a `Cookie` header, up to a quote around the header.
COOKIES = rb"""(?P<secret>%b=[^\r\n"'\\]{1,2000})""" % COOKIE_NAME
COOKIE_REST = re.compile(rb"""[^\r\n"'\\]*+""")

# A cookie: blanks, its name, its value. Text without a name is not a cookie, but may be a part of one.
ONE_COOKIE = re.compile(rb"(\s*)([^;=\s]+=)?([^;]*[^;\s])")


def is_cookie(match: re.Match[bytes]) -> bool:
    """Return whether at least one cookie has a value that is not a placeholder."""
    return any(is_written_out(value) for _, _, value in ONE_COOKIE.findall(match["secret"]))


def is_written_out(value: bytes) -> bool:
    return not PLACEHOLDER.match(value.strip(b'"'))


def cookie_mask(match: re.Match[bytes]) -> bytes:
    def masked(one: re.Match[bytes]) -> bytes:
        blanks, name, value = one[1], one[2] or b"", one[3]
        if not is_written_out(value):
            return one[0]
        in_quotes = value.startswith(b'"') and value.endswith(b'"')
        return blanks + name + (b'"%b"' % MASK if in_quotes else MASK)

    return ONE_COOKIE.sub(masked, match["secret"])
