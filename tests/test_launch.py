"""Launching through the home's own Dagster instance: plans applied exactly, conflicts retried, refusals in one line."""

import json
import sqlite3
import threading
from functools import cache
from typing import get_args

import dagster as dg
import homes
import launches
import polars as pl
import pytest
import sampling
import sqlalchemy as sa

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets.resources import Preset, Run, Task
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation.plans import leaving_out, plan_document
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.runs import rebuild, undo
from memory_pipeline.service import actions, asset_check_gate, launch
from memory_pipeline.settings import preset_names

AS_OF = homes.NIGHT.isoformat()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home in which nothing has run yet."""
    home = tmp_path_factory.mktemp("filled")
    homes.filled(home, homes.events(memories=10)).close()
    return home


@pytest.fixture(scope="module")
def consolidated(filled, tmp_path_factory):
    """A home after a night."""
    home = tmp_path_factory.mktemp("night")
    with homes.copied(filled, home) as opened:
        homes.night(opened)
    return home


@pytest.fixture(scope="module")
def planned(filled):
    """The tables of a dry run."""
    return actions.dry_run(homes.settings(filled), as_of=homes.NIGHT)


@pytest.fixture
def lake(filled, tmp_path):
    with homes.copied(filled, tmp_path) as opened:
        yield opened


@pytest.fixture
def later(consolidated, tmp_path):
    with homes.copied(consolidated, tmp_path) as opened:
        yield opened


def launched(lake, job="full", **options):
    return launch.execute(homes.settings(lake.home), job, Run(**{"as_of": AS_OF} | options))


def refused(lake, job="full", **options):
    with pytest.raises(launch.RunFailed) as caught:
        launched(lake, job, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def written(planned, tmp_path):
    """A plan that a dry run wrote, as its file and its table."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_document.write(planned["consolidation_plan"], planned["profiles"])), "utf-8")
    return file, planned["consolidation_plan"]


# --- a plan and its application


def test_a_dry_run_leaves_no_trace_not_even_in_dagster(lake):
    before, files = launches.state(lake), sorted(lake.home.rglob("*"))
    assert actions.dry_run(homes.settings(lake.home), as_of=homes.NIGHT)["consolidation_plan"].height > 0
    assert launches.state(lake) == before
    assert sorted(lake.home.rglob("*")) == files


@pytest.mark.drill
def test_apply_commits_exactly_the_plan_whatever_was_told_since(lake, written):
    file, plan = written
    history = homes.events(memories=10)[0].model_copy(update={"event_id": "later", "memory_id": "later"})
    lake.ledger.append([history])
    run_id = launched(lake, "apply", as_of="", plan_file=str(file))
    committed = lake.ledger.decisions()
    assert committed.height == plan.height
    keys = ["profile_id", "ordinal"]
    assert committed.sort(keys).drop("seq", "status").equals(plan.sort(keys).drop("seq", "status"))
    assert lake.ledger.runs()["run_id"].unique().to_list() == [run_id]


@pytest.mark.drill
def test_rows_that_are_left_out_of_a_plan_are_not_decided_then_or_later(tmp_path):
    file = tmp_path / "plan.json"
    with homes.filled(tmp_path / "home", homes.events(memories=40)) as lake:
        planned = actions.dry_run(homes.settings(lake.home), as_of=homes.NIGHT)
        plan = planned["consolidation_plan"]
        file.write_text(json.dumps(plan_document.write(plan, planned["profiles"])), "utf-8")
        merge = plan.filter(action="summarise").row(0, named=True)
        left = leaving_out.left_out(plan, [merge["decision_id"]])
        launched(lake, "apply", as_of="", plan_file=str(file), without=[merge["decision_id"][:12]])
        in_force = undo.in_force(lake)
        assert set(left["decision_id"]).isdisjoint(in_force["decision_id"])
        kept = plan.filter(pl.col("action") != "compile")
        assert set(kept["decision_id"]) - set(in_force["decision_id"]) == set(left["decision_id"])
        memories = lake.read("memories", profiles=[merge["profile_id"]])
        assert merge["memory_id"] not in set(memories["memory_id"])
        assert rebuild.rebuild(lake, merge["profile_id"])["memories"].equals(memories)
        again = actions.dry_run(homes.settings(lake.home))["consolidation_plan"]
        assert merge["memory_id"] not in set(again["memory_id"])


def test_apply_is_refused_for_a_row_that_the_plan_does_not_have(lake, written):
    before = lake.ledger.position()
    said = refused(lake, "apply", as_of="", plan_file=str(written[0]), without=["nothing"])
    assert said.startswith("'nothing' names no row of the plan")
    assert lake.ledger.position() == before


def test_apply_is_refused_when_the_head_has_moved(later, written):
    before = launches.state(later)
    said = refused(later, "apply", as_of="", plan_file=str(written[0]))
    assert said == "profile 'sample-1' has changed since the plan was made; plan again"
    assert launches.state(later) == before


@pytest.mark.drill
def test_apply_is_refused_when_the_policy_has_moved(lake, written):
    homes.settings(lake.home, archive_threshold=0.5)
    before = lake.ledger.position()
    said = refused(lake, "apply", as_of="", plan_file=str(written[0]))
    assert said == "the policy of profile 'sample-1' has changed since the plan was made; plan again"
    assert lake.ledger.position() == before


@pytest.mark.drill
def test_apply_is_refused_when_the_file_was_edited(lake, written):
    file, _ = written
    document = json.loads(file.read_text("utf-8"))
    document["plan"] = document["plan"][1:]
    file.write_text(json.dumps(document), "utf-8")
    before = lake.ledger.position()
    assert "plan" in refused(lake, "apply", as_of="", plan_file=str(file))
    assert lake.ledger.position() == before
    file.write_text("no plan at all", "utf-8")
    assert refused(lake, "apply", as_of="", plan_file=str(file)).endswith("make one with a dry run")


# --- refusals


@pytest.mark.parametrize(
    ("options", "said"),
    sampling.first_row(
        ({"profiles": ["nobody"]}, "profile 'nobody' has no memory; correct the name: `memory-pipeline pro"),
        ({"as_of": "tomorrow"}, "run.as_of = 'tomorrow' is not an instant; write it like 2026-03-01T02:00:00Z"),
        ({"as_of": "2999-01-01"}, "run.as_of = 2999-01-01T00:00:00+00:00 is in the future, and later runs could not"),
        ({"max_archived_share": 7.0}, "run.max_archived_share = 7.0 is not a share; give a number from 0 to 1"),
    ),
)  # fmt: skip
def test_a_launch_that_fits_nothing_is_refused_in_one_sentence_and_not_retried(lake, options, said):
    assert refused(lake, **options).startswith(said)
    with launch.instance(lake.home) as instance:
        (run,) = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.FAILURE
        assert run.tags["dagster/will_retry"] == "false"


@cache
def job_of(name):
    return build_defs(settings=Settings(), key_prefix="").resolve_job_def(name)


@pytest.mark.parametrize("job", ["full", "preview", "task"])
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "dance"}, "config:task not in enum type .*reflect"),
        ({"preset": "dance"}, "config:preset not in enum type .*three_tier"),
        ({"profiles": "ana"}, "config:profiles must be list"),
        ({"profiles": [7]}, r"config:profiles\[0\]"),
        ({"tusk": "full"}, 'unexpected config entry "tusk"'),
    ],
)
def test_a_run_configuration_of_another_type_is_refused_at_launch(job, wrong, named):
    with pytest.raises(dg.DagsterInvalidConfigError, match=f"(?si){named}"):
        job_of(job).execute_in_process(run_config={"resources": {"run": {"config": wrong}}})


@pytest.mark.parametrize("config", [{}, {"plan_file": None}, {"plan_file": 3}, {"plan_file": "p", "preset": "dance"}])
def test_no_plan_is_applied_without_a_path(config):
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"plan_file|preset"):
        job_of("apply").execute_in_process(run_config=config)


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_of_a_plan_is_refused_at_launch_and_starts_no_run_of_its_own(path):
    with pytest.raises(dg.DagsterConfigMappingFunctionError) as caught:
        job_of("apply").execute_in_process(run_config={"plan_file": path})
    assert "plan_file is empty" in str(caught.value.user_exception)


def test_the_types_of_a_run_name_what_there_is():
    assert set(get_args(Task)) == set(TASKS)
    assert get_args(Preset) == ("", *sorted(preset_names()))


def test_numbers_of_a_run_that_are_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"run\.max_archived_share = nan is not a share"):
        Run(max_archived_share=float("nan")).quota()
    with pytest.raises(ValueError, match=r"run\.seq = -1 is not a ledger position; give a positive one, or 0"):
        Run(seq=-1).position()


@pytest.mark.drill
def test_a_run_whose_clock_lies_before_the_last_commit_is_refused(later):
    said = refused(later, as_of=(homes.NIGHT - homes.days(1)).isoformat())
    assert said.startswith("as_of = 2026-05-01T02:00:00+00:00 lies before the last commit of profile 'sample-1'")


@pytest.mark.drill
def test_a_lake_that_cannot_be_read_is_named_with_its_remedy(later):
    for path in later.home.glob("lake/vectors/*.parquet"):
        path.write_bytes(b"no parquet")
    said = refused(later, as_of=(homes.NIGHT + homes.days(1)).isoformat())
    assert "damaged" in said
    assert "memory-pipeline doctor" in said


# --- conflicts


@pytest.mark.drill
def test_a_run_that_another_commit_overtakes_plans_again(lake):
    homes.enriched(lake)  # so that a run writes nothing before its commit
    done = []
    run = threading.Thread(target=lambda: done.append(launched(lake, as_of=(homes.NIGHT + homes.days(1)).isoformat())))
    with launch.instance(lake.home) as instance:
        with lake.ledger.exclusive():
            run.start()
            while (late := launches.committing(instance)) is None:
                run.join(0.05)
                assert run.is_alive()
            homes.night(lake)
        run.join()
    assert done == [late]
    assert lake.ledger.runs().sort("commit_seq")["run_id"].unique(maintain_order=True).to_list() == ["run", late]
    assert lake.ledger.attempts()["outcome"].to_list() == ["committed", "conflict", "committed"]


# --- the gate


def _unplug(*_):
    raise dg.Failure("the plug was pulled")


@pytest.mark.drill
def test_the_gate_names_the_checks_that_a_run_should_have_made(lake):
    with launch.instance(lake.home) as instance:
        stopped = launches.run(
            lake.home, instance, as_of=AS_OF, resources=launches.store_that(lake.home, agreed=_unplug)
        )
    rows = asset_check_gate.evaluate(homes.settings(lake.home), stopped.run_id)
    outcomes = {(row["asset"], row["check"]): row["outcome"] for row in rows}
    assert outcomes["memories", "schema_and_grain"] == "passed"
    assert outcomes["consolidation_plan", "invariants"] == "missing"


@pytest.mark.drill
def test_the_gate_shows_a_quota_that_held_a_profile_back(lake):
    launches.forgetful(lake.home, "policy")
    launched(lake)
    (failed,) = (row for row in asset_check_gate.evaluate(homes.settings(lake.home)) if row["outcome"] != "passed")
    assert (failed["check"], failed["outcome"]) == ("quota", "failed")
    assert failed["detail"].startswith("held back: sample-1 would lose ")


def test_the_gate_says_what_to_do_when_there_is_no_run(lake):
    with pytest.raises(ValueError, match="memory-pipeline consolidate"):
        asset_check_gate.evaluate(homes.settings(lake.home))
    with pytest.raises(ValueError, match="'nix' is unknown"):
        asset_check_gate.evaluate(homes.settings(lake.home), "nix")


@pytest.mark.parametrize(("said", "remedy"), [("disk I/O error", "free some disk"), ("malformed", "move the folder")])
def test_only_a_damaged_history_is_to_be_moved_away(tmp_path, said, remedy):
    problem = sa.exc.OperationalError("SELECT 1", None, sqlite3.OperationalError(said))
    with pytest.raises(LakeError, match=f"{said}; {remedy}"), launch.instance(tmp_path):
        raise problem
