"""Tokens: kept as hashes, compared without telling anything by the time it takes, worthless once revoked."""

import hashlib
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from commands import as_json, refused, text

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role


def test_a_token_is_known_by_its_hash_alone(tmp_path):
    token, grant = auth_tokens.create(tmp_path, Role.AGENT, profile_id="ana", name="laptop")
    assert token.startswith("mpt_")
    assert len(token) == 47
    assert (grant.role, grant.profile_id, grant.name) == (Role.AGENT, "ana", "laptop")
    assert grant.sha256 == hashlib.sha256(token.encode()).hexdigest()
    kept = (tmp_path / "tokens.json").read_text("utf-8")
    assert token not in kept
    assert token.removeprefix("mpt_")[:8] not in kept
    assert auth_tokens.identify(tmp_path, token) == grant
    assert auth_tokens.listing(tmp_path) == [grant]


def test_only_its_owner_can_read_the_file(tmp_path):
    auth_tokens.create(tmp_path, Role.ADMIN)
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*.aside"))


@pytest.mark.parametrize("wrong", ["", " ", "mpt_", "mpt_x", "x" * 47, "é", "\x00"])
def test_what_is_no_token_is_nobody(tmp_path, wrong):
    assert auth_tokens.identify(tmp_path, wrong) is None
    token, _ = auth_tokens.create(tmp_path, Role.ADMIN)
    assert auth_tokens.identify(tmp_path, wrong) is None
    assert auth_tokens.identify(tmp_path, token[:-1]) is None
    assert auth_tokens.identify(tmp_path, token.upper()) is None


def test_every_kept_hash_is_compared_in_constant_time(tmp_path, monkeypatch):
    made = [auth_tokens.create(tmp_path, Role.ADMIN)[0] for _ in range(3)]
    compared = []
    real = auth_tokens.hmac.compare_digest
    monkeypatch.setattr(auth_tokens.hmac, "compare_digest", lambda *pair: compared.append(pair) or real(*pair))
    for token in (*made, "mpt_wrong"):
        compared.clear()
        auth_tokens.identify(tmp_path, token)
        assert len(compared) == 3
        assert {len(value) for pair in compared for value in pair} == {64}


def test_a_revoked_token_is_nobody_and_others_stay(tmp_path):
    one, first = auth_tokens.create(tmp_path, Role.ADMIN)
    other, second = auth_tokens.create(tmp_path, Role.AGENT, profile_id="ana")
    assert auth_tokens.revoke(tmp_path, first.token_id) == first
    assert auth_tokens.identify(tmp_path, one) is None
    assert auth_tokens.identify(tmp_path, other) == second
    with pytest.raises(ValueError, match=f"token '{first.token_id}' is unknown"):
        auth_tokens.revoke(tmp_path, first.token_id)


def test_an_agent_has_a_profile_and_an_admin_none(tmp_path):
    with pytest.raises(ValueError, match="add --profile NAME"):
        auth_tokens.create(tmp_path, Role.AGENT)
    with pytest.raises(ValueError, match="drop --profile"):
        auth_tokens.create(tmp_path, Role.ADMIN, profile_id="ana")
    _, agent = auth_tokens.create(tmp_path, Role.AGENT, profile_id="ana")
    _, admin = auth_tokens.create(tmp_path, Role.ADMIN)
    assert [agent.allows("ana"), agent.allows("bo"), agent.allows("")] == [True, False, False]
    assert admin.allows("bo")
    _, reader = auth_tokens.create(tmp_path, Role.AGENT, profile_id="ana", reads=["team"])
    assert auth_tokens.listing(tmp_path)[-1] == reader
    assert [reader.recalls("team"), reader.allows("team"), reader.recalls("bo")] == [True, False, False]
    with pytest.raises(ValueError, match="drop --reads"):
        auth_tokens.create(tmp_path, Role.ADMIN, reads=["team"])


def test_tokens_made_at_once_are_all_kept(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: auth_tokens.create(tmp_path, Role.ADMIN)[0], range(24)))
    assert len({auth_tokens.identify(tmp_path, token).token_id for token in made}) == 24


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b"[{}]", b"[3]", b'[{"role": "king"}]', b"\xff", pytest.param(b"[" * 100_000, id="deep")]
)
@pytest.mark.usefixtures("uncollected")
def test_a_damaged_file_lets_nobody_in_and_says_so(tmp_path, damage):
    (tmp_path / "tokens.json").write_bytes(damage)
    if damage == b"{}":
        assert auth_tokens.identify(tmp_path, "mpt_x") is None
        return
    with pytest.raises(LakeError, match=r"tokens\.json: is not a list of tokens"):
        auth_tokens.identify(tmp_path, "mpt_x")


def test_a_folder_in_the_place_of_the_file_lets_nobody_in_and_says_so(tmp_path):
    (tmp_path / "tokens.json").mkdir()
    with pytest.raises(LakeError, match=r"tokens\.json: is not a list of tokens"):
        auth_tokens.identify(tmp_path, "mpt_x")


def test_the_commands(tmp_path):
    made = as_json("token", "create", "--role", "agent", "-p", "ana", "--name", "laptop", home=tmp_path)
    assert set(made) == {"token", "token_id", "name", "role", "profile_id", "reads", "created_at"}
    assert auth_tokens.identify(tmp_path, made["token"]).profile_id == "ana"
    listed = as_json("token", "list", home=tmp_path)
    assert listed == [{name: value for name, value in made.items() if name != "token"}]
    shown = text("token", "list", home=tmp_path)
    assert "profile ana" in shown
    assert made["token"] not in shown
    assert made["token_id"] in text("token", "revoke", made["token_id"], home=tmp_path)
    assert "no tokens yet" in text("token", "list", home=tmp_path)
    assert json.loads((tmp_path / "tokens.json").read_text("utf-8")) == []


def test_what_the_commands_refuse(tmp_path):
    assert "add --profile NAME" in refused("token", "create", "--role", "agent", home=tmp_path)
    assert "drop --profile" in refused("token", "create", "--role", "admin", "-p", "x", home=tmp_path)
    assert "token 'x' is unknown" in refused("token", "revoke", "x", home=tmp_path)
    assert "'admin', 'agent'" in refused("token", "create", "--role", "king", home=tmp_path, status=2)
    if os.geteuid():
        (tmp_path / "shut").mkdir(mode=0o500)
        assert "writable" in refused("token", "create", "--role", "admin", home=tmp_path / "shut" / "data")
