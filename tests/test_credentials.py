"""Credentials are replaced before anything is written, and nothing that only looks like one is."""

import json
import random
import re
import string

import polars as pl
import pytest
from commands import as_json, call

from memory_pipeline import MemoryClient
from memory_pipeline.text import credentials

CHANCE = random.Random(11)


def made(alphabet, length):
    """A value that no provider gave: random letters, cut so that no scanner takes this file for a leak."""
    return "".join(CHANCE.choice(alphabet) for _ in range(length))


WORDS, UPPER, HEX, URL = (
    string.ascii_letters + string.digits, string.ascii_uppercase + "234567", "0123456789abcdef",
    string.ascii_letters + string.digits + "_-",
)  # fmt: skip
SECRETS = {
    "GitHub token": ["gh" + "p_" + made(WORDS, 36), "github" + "_pat_" + made(WORDS, 22) + "_" + made(WORDS, 59)],
    "GitLab token": ["gl" + "pat-" + made(WORDS, 20)],
    "AWS key": ["AK" + "IA" + made(UPPER, 16)],
    "AWS secret": [
        "aws_secret_access_key = " + made(WORDS, 40),
        "the AWS secret " + made(WORDS + "/+", 40),
        "AK" + "IA" + made(UPPER, 16) + "\n" + made(WORDS + "/+", 40),
        made(WORDS + "/+", 40) + " with AS" + "IA" + made(UPPER, 16),
    ],
    "Google key": ["AI" + "za" + made(WORDS, 35)],
    "Azure key": ["Account" + "Key=" + made(WORDS, 86) + "=="],
    "Anthropic key": ["sk-" + "ant-api03-" + made(WORDS, 93)],
    "OpenAI key": ["sk-" + "proj-" + made(WORDS, 40) + "T3Blbk" + "FJ" + made(WORDS, 40)],
    "Hugging Face token": ["hf" + "_" + made(string.ascii_letters, 34)],
    "Slack token": ["xo" + "xb-" + made(string.digits, 11) + "-" + made(string.digits, 12) + "-" + made(WORDS, 24)],
    "Stripe key": ["sk" + "_live_" + made(WORDS, 24)],
    "npm token": ["np" + "m_" + made(WORDS, 36)],
    "PyPI token": ["pypi-" + "AgE" + made(WORDS, 70)],
    "JSON web token": ["ey" + "J" + made(WORDS, 20) + ".ey" + "J" + made(WORDS, 40) + "." + made(WORDS, 43)],
    "private key": ["-----BEGIN RSA PRIVATE" + " KEY-----\n" + made(WORDS, 64) + "\n-----END RSA PRIVATE KEY-----"],
    "model service key": [
        "sk-" + "or-v1-" + made(HEX, 64),
        "gs" + "k_" + made(WORDS, 52),
        "r8" + "_" + made(WORDS, 37),
    ],
    "service token": [
        "lin" + "_api_" + made(WORDS, 40),
        "da" + "pi" + made(HEX, 32),
        "hv" + "s." + made(WORDS, 95),
        "dckr" + "_pat_" + made(WORDS, 27),
        "ntn" + "_" + made(string.digits, 11) + made(WORDS, 35),
        "NR" + "AK-" + made(string.ascii_uppercase + string.digits, 27),
        "sb" + "p_" + made(HEX, 40),
        "ts" + "key-auth-" + made(WORDS, 12) + "-" + made(WORDS, 32),
        "ph" + "x_" + made(WORDS, 43),
        "fm" + "2_" + made(WORDS, 100),
        "sq0" + "atp-" + made(WORDS, 22),
        "S" + "K" + made(HEX, 32),
    ],
    "package registry token": ["_auth" + "Token=" + made(WORDS, 36)],
    "token": ["Author" + "ization: Bearer 7" + made(WORDS, 30)],
    "password": [
        f"{scheme}://{user}:{password}@db.internal:5432/tides"
        for scheme, user, password in (
            ("postgresql", "harbour", made(WORDS, 16)),
            ("redis", "", made(WORDS, 16)),
            ("amqp", "harbour", made(WORDS, 8) + "@" + made(WORDS, 8)),
            ("mysql", "harbour", made(WORDS, 8) + ":" + made(WORDS, 8)),
        )
    ],
}
CASES = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]
KEPT = ("Authorization", "internal", "postgresql", "harbour", "session", "PRIVATE")
HARMLESS = [
    "The commit is " + made(HEX, 40) + " on main.",
    "On AWS runs commit " + made(HEX, 40) + " of main.",
    "aws s3 cp Users/jo/Project1/src/main/javaa/App7Main here",
    "The bucket at Amazon is called " + made(WORDS, 39) + ".",
    "Run 6ce8df42-4a8b-406a-b099-d05236045649 failed.",
    "sha256:" + made(HEX, 64),
    "data:image/png;base64," + made(WORDS + "+/", 400),
    "Set GITHUB_TOKEN to ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx first.",
    "Connect to postgresql://user:password@localhost/db.",
    "Use https://user:$TOKEN@example.org and {PASSWORD}.",
    "The meeting is at 12:30, see https://example.org:8080/a@b.",
    "Mail ana@example.org or call 0151:2200.",
    "sk-learn and ya29 are words, AKIA is a prefix.",
    "eyJ is how base64 of JSON begins.",
    "Authorization: basic understanding-of-the-house is enough; Authorization: Bearer <token>.",
    "[Plans](http://harbour:8080)[Ida](mailto:ida@harbour.example)",
    "It begins with -----BEGIN RSA PRIVATE" + " KEY----- and is in the safe.",
    "-----BEGIN PUBLIC KEY----- " + made(WORDS, 64) + " -----END PUBLIC KEY-----",
]


@pytest.mark.parametrize(("kind", "secret"), CASES)
def test_a_credential_is_replaced_by_its_kind_and_the_rest_stays(kind, secret):
    shown = credentials.redacted(f"Always use {secret}, said Ida.")
    assert f"[redacted {kind}]" in shown
    assert shown.startswith("Always use ")
    assert shown.endswith(", said Ida.")
    assert credentials.redacted(shown) == shown
    assert credentials.held(pl.Series([f"Use {secret}", "Use tea"])).to_list() == [True, False]


def test_nothing_of_a_credential_is_left():
    for secret in (secret for _, secret in CASES):
        shown = credentials.redacted(f"Always use {secret}, said Ida.")
        assert not [part for part in re.findall(r"[A-Za-z0-9]{7,}", secret) if part in shown and part not in KEPT]


def test_a_private_key_that_was_cut_off_is_replaced():
    cut = "-----BEGIN OPENSSH PRIVATE" + " KEY-----\n" + "\n".join(made(WORDS, 64) for _ in range(3))
    assert credentials.redacted(f"It is {cut}\nfor now") == "It is [redacted private key]\nfor now"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_stays(text):
    assert credentials.redacted(text) == text
    assert not credentials.held(pl.Series([text]))[0]


def files_with(home, secret):
    return [path.name for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.usefixtures("unpublished")
def test_none_reaches_a_file_of_the_store(tmp_path):
    secret = SECRETS["GitHub token"][0]
    with MemoryClient(tmp_path) as client:
        beside = {"metadata": {"a": [secret], secret: "b"}, "tags": [secret], "speaker": secret, "project": secret}
        first = client.remember(f"Always use the token {secret} for pushes.", **beside)
        for name in ("memory_id", "session_id", "agent_id", "user_id", "event_id"):
            with pytest.raises(ValueError, match=rf"{name}.*credential.*\[redacted GitHub token\].*without one"):
                client.remember("The tide table hangs by the door.", **{name: secret})
        with pytest.raises(ValueError, match="session_id"):
            client.recall("tide", session_id=secret)
        client.update(first, content=f"Use {secret} only here.")
        client.recall(f"which token is {secret}?")
        client.consolidate()
        assert "[redacted GitHub token]" in client.get(first).content
        assert client.core_memory() == ()
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps({"event_type": "memory.stored", "payload": {"content": secret, "oops": secret}}) + "\n")
    assert call("import", "jsonl", bad, home=tmp_path).returncode == 1
    bad.unlink()
    assert files_with(tmp_path, secret) == []
    letters = as_json("dead-letters", "list", home=tmp_path)
    assert secret not in json.dumps(letters)


@pytest.mark.usefixtures("unpublished")
def test_a_store_that_is_to_keep_them_keeps_them_and_doctor_finds_them(tmp_path):
    secret = SECRETS["Slack token"][0]
    (tmp_path / "memory_pipeline.toml").write_text("redact_credentials = false\n")
    with MemoryClient(tmp_path) as client:
        kept = client.remember(f"The bot uses {secret}.")
        assert secret in client.get(kept).content
    found = {row["subject"]: row for row in json.loads(call("doctor", "--json", home=tmp_path).stdout)}
    assert not found["credentials"]["well"]
    assert f"memory-pipeline erase {kept}" in found["credentials"]["detail"]
    assert secret not in found["credentials"]["detail"]


@pytest.mark.parametrize(
    "secret", ["gl" + "pat-AbCdEfGhIjKlMnOpQrSt", "gh" + "p_1234567890abcdefghijklmnopqrstuvwxyzAB"]
)
def test_a_token_with_a_run_of_letters_in_order_is_no_example(secret):
    assert secret not in credentials.redacted(f"Push with {secret}.")
