"""Erasures and Dagster's history in a real PostgreSQL server."""

import pytest
import sqlalchemy as sa
import yaml
from commands import call, text

from memory_pipeline import MemoryClient

SAID = "Dan fears the gyroscope in the northern hangar."


@pytest.mark.drill
def test_an_erasure_masks_what_runs_quote_there(postgres, tmp_path):
    server = postgres.address().replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TABLE event_logs (id serial PRIMARY KEY, event text, body jsonb)"))
        for quoted in (f'{{"error": "bad memory: {SAID}"}}', '{"error": "another"}', None):
            connection.execute(sa.text("INSERT INTO event_logs (event) VALUES (:said)"), {"said": quoted})
    home = tmp_path / "data"
    with MemoryClient(home, profile_id="ana") as client:
        client.remember(SAID, memory_id="m1")
    (home / "dagster").mkdir()
    told = {"storage": {"postgres": {"postgres_url": {"env": "HISTORY_URL"}}}}
    (home / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(told), "utf-8")
    unset = call("erase", "m1", "--yes", home=home)
    assert (unset.returncode, "HISTORY_URL" in unset.stderr, "Traceback" in unset.stderr) == (1, True, False)
    gone = call("erase", "m1", "--yes", home=home, HISTORY_URL="postgresql+psycopg://x:hidden@127.0.0.1:1/none")
    assert (gone.returncode, "nothing was erased" in gone.stderr, "hidden" in gone.stderr) == (1, True, False)
    with MemoryClient(home, profile_id="ana") as client:
        assert client.get("m1").content == SAID
    text("erase", "m1", "--yes", home=home, HISTORY_URL=server)
    with engine.connect() as connection:
        kept = connection.execute(sa.text("SELECT event FROM event_logs ORDER BY id")).scalars().all()
    assert "gyroscope" not in kept[0]
    assert kept[0].startswith('{"error": "bad memory: ')
    assert kept[1:] == ['{"error": "another"}', None]
