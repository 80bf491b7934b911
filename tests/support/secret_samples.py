"""Secrets that nobody has. They are put together here, so that no scanner takes this file for a leak."""

WORD = "A1b2" * 9
GITHUB = "ghp_" + WORD
AWS_SECRET = "aB3/" * 10
JWT = ".".join(("eyJ" + "hbGc1" * 4, "eyJ" + "zdWI1" * 4, "S1g-" * 8))
BODY = "\n".join(["MII" + "x9Z/" * 15 + "a", "Q2+b" * 16, "c3d="])


def pem(label: str, body: str = BODY) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


TOKENS = {
    "github token": [
        *(f"gh{letter}_{WORD}" for letter in "pousr"),
        "github_pat_" + "A1b2" * 20,
    ],
    "gitlab token": ["glpat-" + "A1b2-" * 4],
    "aws access key": ["AKIA" + "A1B2" * 4, "ASIA" + "A1B2" * 4],
    "google key": ["AIza" + "A1b2-" * 7, "GOCSPX-" + "A1b2" * 7, "ya29." + "A1b2" * 20],
    "slack token": ["xoxb-" + "1234567890-" * 2 + "A1b2" * 6, "xoxp-" + "1234-" * 5, "xapp-1-" + "A1b2" * 8],
    "stripe key": ["sk_live_" + "A1b2" * 6, "rk_live_" + "A1b2" * 6],
    "npm token": ["npm_" + WORD],
    "pypi token": ["pypi-" + "AgEI" + "A1b2-_" * 10],
    "model api key": ["sk-" + "A1b2" * 12, "sk-proj-" + "A1b2" * 12, "sk-ant-api03-" + "A1b2_-" * 12],
    "hugging face token": ["hf_" + "A1b2" * 8 + "zz"],
    "telegram token": ["123456789:" + "AA" + "B1c" * 11],
    "sendgrid key": ["SG." + "A1" * 11 + "." + "A1b" * 14 + "c"],
    "twilio key": ["SK" + "0123abcd" * 4],
    "service token": [
        *("dop_v1_" + "a1b2" * 16, "hvs." + "A1b2" * 8),
        *(f"{begin}{'A1b2' * 13}" for begin in ("gsk_", "xai-", "r8_", "figd_", "pscale_tkn_", "sb_secret_")),
        *(f"{begin}{'a1b2' * 12}" for begin in ("rubygems_", "pul-", "sbp_", "NRAK-", "dp.pt.", "sq0csp-")),
        *("dapi" + "a1b2" * 8, "key-" + "a1b2" * 8, "PMAK-" + "a1b2" * 6 + "-" + "a1b2" * 8),
        *("A1b2C3d4E5f6G7.atlasv1." + "A1b2" * 16, "fm2_" + "A1b2" * 20, "EAAA" + "A1b2" * 15),
    ],
    "discord hook": ["https://discord.com/api/webhooks/123456789012345678/" + "A1b2" * 17],
    "jwt": [JWT],
    "private key": ["LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVkt" + "A1b2" * 20],
}
