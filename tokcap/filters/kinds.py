"""The kinds of secrets that are masked: a row for each, in three tables.

Some passwords only their place tells: an option on the command line of a program. Hashes of passwords can be
attacked without asking anybody, so they are secrets too; the name of their algorithm stays.
"""

from __future__ import annotations

import re

from tokcap.filters.judges import (
    COOKIE,
    COOKIE_REST,
    COOKIES,
    DEFINE,
    ELEMENT,
    IN_CONNECTION,
    NO_SECRETS,
    YAML_LINE,
    after,
    argument,
    closes_text,
    concrete,
    cookie_mask,
    doubtful,
    in_query,
    is_cookie,
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
from tokcap.filters.patterns import (
    ARGUMENT,
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
    Kind,
    kind,
)
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.filters.patterns import Judge

PORTS = re.compile(rb"[\d.:/-]*\d(?:/(?:tcp|udp))?\Z")


def option_value(match: re.Match[bytes]) -> bool:
    """Return whether the word after an option is a password: no placeholder, and not the end of a text."""
    return concrete(match) and not closes_text(match)


def option(
    landmarks: bytes,
    program: bytes,
    flag: bytes,
    value: bytes = ARGUMENT,
    judge: Judge = option_value,
) -> Kind:
    """Return the kind for an option of a program. `flag` includes what separates it from its value."""
    pattern = rb"(?<![\w.-])(?:%b)(?:(?![ ]%b)[^\r\n|;]){0,256}[ ]%b%b" % (program, flag, flag, value)
    return kind("password", landmarks, pattern, judge)


def not_a_port(match: re.Match[bytes]) -> bool:
    """Return whether `-p` gives a password, and not a port as in `docker run --name mysql -p3306:3306`."""
    return option_value(match) and not (b":" in match["secret"] and PORTS.match(match["secret"]))


def in_batch(match: re.Match[bytes]) -> bool:
    """Return whether `htpasswd` has the option `-b`: the last word is the password."""
    return option_value(match) and b"b" in b"".join(
        re.findall(rb" -(\w+)", match.string[match.start() : match.start("secret")])
    )


def user_argument(match: re.Match[bytes]) -> bool:
    return written_out(match) and not closes_text(match)


def is_word(match: re.Match[bytes]) -> bool:
    return option_value(match) and match["secret"].lower() not in NO_SECRETS


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
    kind("password", b"login", LOGIN + rb"(?:(?![ ]-p[ ])[^\r\n|;]){0,256}[ ]-p[ ]" + ARGUMENT, option_value),
    kind("password", b"pass:", PASS + ARGUMENT, option_value),
    kind("password", b"wpa_passphrase", rb"wpa_passphrase[ ]%b[ ]%b" % (NETWORK, ARGUMENT), option_value),
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
    option(b"http", rb"https?", rb"(?:-a|--auth)[ =]%b:" % USER).replace(landmarks=(b"http -", b"https -")),
    kind(
        "cookie",
        b"curl",
        rb"""curl(?:(?![ ](?:-b|--cookie)[ =])[^\r\n|;]){0,256}[ ](?:-b|--cookie)[ =]["']?%b""" % COOKIES,
        is_cookie,
        rest=COOKIE_REST,
        mask=cookie_mask,
    ),
    # A password that is piped into the program that asks for it.
    kind("password", b"echo", rb"echo[ ]%b%bsudo[ ](?:-\w{1,8}[ ]){0,4}-S" % (ARGUMENT, PIPED), option_value),
    kind("password", b"echo", rb"echo[ ]%b:%b%b(?:sudo[ ])?chpasswd" % (USER, ARGUMENT, PIPED), option_value),
)


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
    kind("service token", b"gsk_ r8_ figd_ rubygems_ pscale_ sbp_ sb_secret_ fo1_ fm1r_ fm2_",
        rb"(?<![A-Za-z0-9])(?:gsk|r8|figd|rubygems|pscale_[a-z]{2,5}|sbp|sb_secret|fo1|fm1r|fm2)_"
        rb"(?P<secret>[\w+/=-]{20,}+)", random),
    kind("service token", b"xai- NRAK- NRJS- NRII- NRBR- NRAA- PMAK- pul- sq0",
        rb"(?<![A-Za-z0-9])(?:xai|NR[A-Z]{2}|PMAK|pul|sq0[a-z]{3})-(?P<secret>[\w-]{18,}+)", random),
    kind("service token", b"dp.",
        rb"(?<![\w.])dp\.[a-z]{2,5}\.(?:[\w-]{1,32}\.)?(?P<secret>[A-Za-z0-9]{40,}+)"),
    kind("service token", b"dapi key-",
        rb"(?<![\w-])(?:dapi|key-)(?P<secret>[0-9a-f]{32}(?:-\d)?)(?!\w)", random),
    kind("service token", b".atlasv1.", rb"\.atlasv1\.(?P<secret>[\w-]{60,}+)"),
    kind("service token", b"EAAA", rb"(?<![\w+/-])EAAA(?P<secret>[\w-]{60})(?![\w+/=-])", mixed),
    kind("discord hook", b"/api/webhooks/", rb"/api/webhooks/\d{10,24}/(?P<secret>[\w-]{40,}+)"),
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
    named(rb"""%b=(?P<secret>[^\s;"'(){}$\\][^;\r\n"'(){}$\\]{1,255})(?=;)""" % SECRET_NAME,
        after(IN_CONNECTION, written_out)),
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
    named(rb"""%b["']?>(?P<secret>[^<>\r\n]{1,256})(?=</)""" % SECRET_NAME, after(ELEMENT, literal)),
    named(rb"""%b["'],[ ]?(?=["'])%b""" % (SECRET_NAME, VALUE), after(DEFINE, written_out)),
    kind("password", b"password identified",
        rb"(?:identified(?:[ ]with[ ]\S{1,40})?[ ]by|password)[ ](?=')%b" % VALUE, literal, any_case=True),
    kind("password", b"PASSWORD", rb"PASSWORD\((?=')%b" % VALUE, written_out),
    kind("password", b"password secret",
        rb"(?:password|secret)[ ][05789][ ](?P<secret>[^\s$]\S{3,255})", told, any_case=True),
    kind("password", b"password",
        rb"password[ \t](?P<secret>%b%b)(?![ \t]{0,8}[^\s])" % (BARE_FIRST, REST_OF_WORD), netrc),
    kind("password", b"requirepass masterauth rootpw wpa-psk psk",
        rb"(?:requirepass|masterauth|rootpw(?:[ ]--\w{1,16}){0,3}|wpa-psk|psk(?=[ ]\"))[ \t]{1,8}%b" % VALUE,
        after(YAML_LINE, written_out), any_case=True),
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
