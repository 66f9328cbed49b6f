"""Finds credentials in texts and replaces them, so that none is ever stored.

Only formats that their providers document and that nothing else has: prefixes with a fixed alphabet and length, key
blocks and addresses with a password. What merely looks random, such as a hash, an id or an encoded picture, stays, and
so do examples of documentation that are no keys (`ghp_xxxx`). Not here: which texts are read (`ledger/event`).
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

import polars as pl

FORMATS: Final[Mapping[str, str]] = {
    "private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[A-Za-z])*"
    r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"|-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nr]|\s)*[A-Za-z0-9+/=]{40,})+",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b",
    "GitLab token": r"\bgl(?:pat|dt|rt|ft|oas|soat|cbt|ptt|agent|imt)-[A-Za-z0-9_-]{20,300}\b"
    r"(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9}\b)?",
    "AWS secret": r"(?i:\baws|\bamazon|secret.?access.?key|\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b)(?s:.{0,80}?)"
    r"[^A-Za-z0-9/+][A-Za-z0-9/+]{40}(?:[^A-Za-z0-9/+=]|$)"
    r"|(?:^|[^A-Za-z0-9/+])[A-Za-z0-9/+]{40}[^A-Za-z0-9/+=](?s:.{0,80}?)\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    "AWS key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "Google token": r"\b(?:ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28})",
    "AWS session": r"(?i:aws_?session_?token)[\x22']?\s*[:=]\s*[\x22']?[A-Za-z0-9/+=]{100,}",
    "Azure key": r"\bAccountKey=[A-Za-z0-9+/]{86}==",
    "Azure signature": r"[?&]sig=[A-Za-z0-9%/+]{43,80}(?:%3D|=)",
    "Anthropic key": r"\bsk-ant-[a-z0-9]{3,8}-[A-Za-z0-9_-]{80,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}",
    "model service key": r"\b(?:sk-or-v1-[a-f0-9]{64}|gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{80}|pplx-[A-Za-z0-9]{48}"
    r"|r8_[A-Za-z0-9]{37}|tvly-(?:dev-|prod-)?[A-Za-z0-9]{32})\b",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{34}\b",
    "Slack token": r"\b(?:xox[abeoprs]-(?:[A-Za-z0-9]+-)+[A-Za-z0-9]{10,}"
    r"|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{32,})\b",
    "Slack address": r"https://hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}",
    "Discord address": r"https://discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}",
    "Stripe key": r"\b(?:[rs]k_(?:live|test)_[A-Za-z0-9]{24,250}|whsec_[A-Za-z0-9+/]{32,})\b",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    "Telegram token": r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "Discord token": r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
    "DigitalOcean token": r"\bdo[oprt]_v1_[a-f0-9]{64}\b",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
    "service token": r"\b(?:lin_api_[A-Za-z0-9]{40}|ntn_[0-9]{11}[A-Za-z0-9]{35}|dapi[a-f0-9]{32}"
    r"|hv[sb]\.[A-Za-z0-9_-]{90,300}|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"
    r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|NRAK-[A-Z0-9]{27}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|sbp_[a-f0-9]{40}"
    r"|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9._-]{32,64}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,32}|nf[pcoub]_[A-Za-z0-9]{36}"
    r"|sntryu_[a-f0-9]{64}|sntrys_eyJ[A-Za-z0-9+/=_]{80,}|AT[AC]TT3[A-Za-z0-9_=-]{150,}"
    r"|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|figd_[A-Za-z0-9_-]{40,}|rubygems_[a-f0-9]{48}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}|AGE-SECRET-KEY-1[0-9A-Z]{58}|ops_eyJ[A-Za-z0-9+/]{250,}"
    r"|tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{10,20}-[A-Za-z0-9]{20,40}|ph[xs]_[A-Za-z0-9]{40,60}"
    r"|fm[12]_[A-Za-z0-9+/=_-]{80,}|sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})|EAAA[A-Za-z0-9_-]{60}"
    r"|SK[a-f0-9]{32})\b",
    "package registry token": r"\b(?i:_authToken)\s*=\s*[\x22']?[A-Za-z0-9._~+/-]{16,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
    "token": r"(?i:authorization)[\x22']?\s*[:=]\s*[\x22']?(?i:bearer|basic|token)\s+[A-Za-z0-9._~+/-]{16,}=*",
    "password": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\x22'<>]{0,64}:[^\s/?#\x22'<>]{1,128}@[A-Za-z0-9\[]",
}
"""Pattern of each kind of credential, in the syntax that Python and Polars share."""

ANY: Final = "|".join(f"(?:{pattern})" for pattern in FORMATS.values())
"""Any of them."""
MARK: Final = r"\[(redacted [A-Za-z ]+)\]"
"""What stands where a credential was."""
_ANY: Final = re.compile(ANY)
_EACH: Final = {kind: re.compile(pattern) for kind, pattern in FORMATS.items()}
_HINT: Final = re.compile(
    r"PRIVATE KEY|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|AKIA|ASIA|ABIA|ACCA|(?i:secret|aws|amazon)|AIza|ya29\.|GOCSPX"
    r"|AccountKey=|sk-|hf_|xox[abeoprs]-|xapp-|hooks\.slack|[rs]k_|whsec_|npm_|pypi-|SG\.|:AA|[MNO][A-Za-z0-9_-]{23,25}\.|_v1_"
    r"|shp[acps]|eyJ|://|(?i:session_?token|authorization)|[?&]sig=|gsk_|xai-|pplx-|r8_|tvly-|lin_api_|ntn_|dapi|hv[sb]\.|dp\."
    r"|PMAK|NRAK|glsa_|sbp_|pscale_|dckr_|nf[pcoub]_|sntryu_|AT[AC]TT3|pat[A-Za-z0-9]{14}\.|figd_|rubygems_|atlasv1"
    r"|AGE-SECRET|tskey-|ph[xs]_|fm[12]_|sq0|EAAA|SK[a-f0-9]{32}|(?i:_authtoken)"
)
"""Found in every text that may hold one; faster than the formats."""
_REPEATED: Final = re.compile(r"(?i)(.)\1{7}|x{6}|example|placeholder|your")
"""What shows that a value is an example of documentation."""
_PLACEHOLDER: Final = re.compile(r"(?i)^(?:\W*(?:user(?:name)?|pass(?:word)?|pw|secret|token|\*+|\.+|x+|<[^>]*>))+\W*$")

_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""Nothing marks such a key but its length, so that it counts only near what names the service or its owner's key id."""
_FEWEST_TURNS: Final = 12
"""Least changes between capitals, small letters and others in it; a random one has some 25, a path or a sum fewer."""
_TURN: Final = re.compile(r"[A-Z](?![A-Z])|[a-z](?![a-z])|[0-9/+](?![0-9/+])")
"""The last character before such a change."""

_PORT: Final = re.compile(r"[0-9]{1,5}[)\],;|]")
"""A port, after which an address ends and the next text begins."""


def redacted(text: str) -> str:
    """Return a text with each credential replaced by its kind in brackets; the text itself if there is none.

    Examples:
        >>> redacted("Push with ghp_" + 9 * "a1B2" + ".")
        'Push with [redacted GitHub token].'
    """
    if not _HINT.search(text) or not _ANY.search(text):
        return text
    for kind, pattern in _EACH.items():
        text = pattern.sub(partial(_replaced, kind=kind), text)
    return text


def refuse(name: str, value: str) -> None:
    """Raise ValueError for an id that is a credential: redacted, it would be the id of something else."""
    if (shown := redacted(value)) != value:
        raise ValueError(f"{redacted(name)} holds a credential ({shown[:60]}); give an id without one")


def held(texts: pl.Series) -> pl.Series:
    """Return whether each text holds a credential. Cost: linear; about 1 s for a million short texts."""
    likely = texts.fill_null("").str.contains(ANY)
    return pl.Series(
        [found and redacted(text) != text for found, text in zip(likely, texts, strict=True)], dtype=pl.Boolean
    )


def _replaced(match: re.Match[str], kind: str) -> str:
    """Return what stands for a match: an address keeps its scheme and host, an example stays."""
    found = match[0]
    if kind == "AWS secret":
        return _AWS_SECRET.sub(lambda one: f"[redacted {kind}]" if _is_random(one[0]) else one[0], found)
    if kind == "token" and not any(map(str.isdigit, found)):
        return found
    if kind != "password":
        return found if kind != "private key" and _REPEATED.search(found) else f"[redacted {kind}]"
    scheme, _, rest = found.partition("://")
    user, _, secret = rest[:-2].partition(":")
    example = _PLACEHOLDER.match(secret) or _REPEATED.search(secret) or secret.startswith(("$", "{", "%"))
    if example or _PORT.match(secret):
        return found
    return f"{scheme}://{user}:[redacted password]@{found[-1]}"


def _is_random(value: str) -> bool:
    """Return whether capitals, small letters and digits all stand in a value, and change as often as by chance."""
    kinds = all(any(map(test, value)) for test in (str.isupper, str.islower, str.isdecimal))
    return kinds and len(_TURN.findall(value)) >= _FEWEST_TURNS and not _REPEATED.search(value)
