"""Settings for S3 from where its own programs take them: variables, then the profile in the files of AWS.

Without credentials in either, obstore asks the container or the instance for those of its role.
"""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from configparser import RawConfigParser

    from tokcap.environment import Environment
    from tokcap.store.shared_url import SharedUrl

PREFIX = "AWS_"
# Settings of a profile, and what obstore calls them.
CREDENTIALS = {
    "aws_access_key_id": "aws_access_key_id",
    "aws_secret_access_key": "aws_secret_access_key",
    "aws_session_token": "aws_session_token",
}
PLACES = {"region": "aws_region", "endpoint_url": "aws_endpoint"}
# Variables that only tell where the files are, or that mean something else to obstore.
OTHERS = (
    "aws_profile",
    "aws_default_profile",
    "aws_config_file",
    "aws_shared_credentials_file",
    "aws_bucket",
)
NAMES = {"aws_endpoint_url": "aws_endpoint", "aws_endpoint_url_s3": "aws_endpoint"}


def settings_of(url: SharedUrl, env: Environment) -> dict[str, str]:
    """Return the settings of the client. Variables win over the profile, the URL over both."""
    found: dict[str, str] = {}
    for name in sorted(env.variables):
        key = name.lower()
        if name.startswith(PREFIX) and env.variables[name] and key not in OTHERS:
            # The variable for S3 alone comes later in the order, and wins.
            found[NAMES.get(key, key)] = env.variables[name]
    found = {**profile_settings(env, has_credentials="aws_access_key_id" in found), **found}
    if not ("aws_region" in found or "aws_default_region" in found):
        found["aws_region"] = "us-east-1"
    for name, setting in (("endpoint", "aws_endpoint"), ("region", "aws_region")):
        if name in url.parameters:
            found[setting] = url.parameters[name]
    return {name: value for name, value in found.items() if is_known(name)}


def is_known(name: str) -> bool:
    """Return whether obstore knows a setting: it refuses those that it does not know."""
    return name in KNOWN


KNOWN = frozenset(
    f"aws_{name}"
    for name in (
        *("access_key_id", "secret_access_key", "session_token", "region", "default_region", "endpoint"),
        *("allow_http", "checksum_algorithm", "conditional_put", "container_credentials_relative_uri"),
        *("container_credentials_full_uri", "container_authorization_token_file", "disable_tagging"),
        *(
            "imdsv1_fallback",
            "metadata_endpoint",
            "request_payer",
            "role_arn",
            "role_session_name",
            "s3_express",
        ),
        *("server_side_encryption", "skip_signature", "sse_bucket_key_enabled", "sse_customer_key_base64"),
        *("sse_kms_key_id", "unsigned_payload", "virtual_hosted_style_request", "web_identity_token_file"),
    )
)


def profile_settings(env: Environment, *, has_credentials: bool) -> dict[str, str]:
    """Return the settings of the chosen profile, without its credentials if there are others."""
    variables = env.variables
    profile = variables.get("AWS_PROFILE") or variables.get("AWS_DEFAULT_PROFILE") or "default"
    folder = os.path.join(env.home(), ".aws")
    credentials = variables.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.join(folder, "credentials")
    config = variables.get("AWS_CONFIG_FILE") or os.path.join(folder, "config")
    found: dict[str, str] = {}
    # In the one file sections are called `profile NAME`, in the other `NAME`. The file of credentials wins.
    for path, section in ((config, f"profile {profile}"), (config, profile), (credentials, profile)):
        wanted = PLACES if has_credentials else {**PLACES, **CREDENTIALS}
        sections = read_sections(path)
        if sections is not None and sections.has_section(section):
            found |= {
                wanted[name]: value.strip()
                for name, value in sections.items(section)
                if name in wanted and value
            }
    return found


def read_sections(path: str) -> RawConfigParser | None:
    """Return the sections of a file; None if there is none. What cannot be read has no settings."""
    if not os.path.isfile(path):
        return None
    from configparser import Error, RawConfigParser

    parser = RawConfigParser(strict=False, default_section="\0")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            parser.read_file(file)
    except (OSError, Error):
        return None
    return parser
