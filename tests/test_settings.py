"""Where a setting's value comes from, what is refused, and that equal policies are known as equal."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import reference_pages
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.settings import (
    ALIASES,
    MEMORY_TYPES,
    Policy,
    Settings,
    SettingsError,
    cron,
    load,
    next_tick,
    preset,
    preset_names,
    under_preset,
)

DEPLOYMENTS = Path(__file__).parent.parent / "deploy" / "automem"
PAGE = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.fixture
def home(tmp_path):
    def make(text=""):
        (tmp_path / "memory_pipeline.toml").write_text(text, "utf-8")
        return tmp_path

    return make


def origins(settings, profile=None):
    return {row.name: (row.value, row.origin) for row in settings.explained(profile)}


def test_without_anything_every_setting_has_its_default(tmp_path):
    settings = load(tmp_path, environment={})
    assert settings.policy == Policy()
    found = origins(settings)
    assert found.pop("home") == (tmp_path, "--home")
    assert {origin for _, origin in found.values()} == {"default"}
    assert set(found) == {f"policy.{name}" for name in Policy.model_fields} | {
        name for name in Settings.model_fields if name not in {"home", "policy", "profiles", "origins"}
    }


def test_environment_beats_file_beats_preset_beats_default(home):
    folder = home('[policy]\npreset = "automem"\nlinkage = "average"\narchive_threshold = 0.1\n')
    settings = load(folder, environment={"MEMORY_PIPELINE_ARCHIVE_THRESHOLD": "0.2"})
    found = origins(settings)
    assert found["policy.archive_threshold"] == (0.2, "environment MEMORY_PIPELINE_ARCHIVE_THRESHOLD")
    assert found["policy.linkage"] == ("average", "memory_pipeline.toml [policy]")
    assert found["policy.summary_text"] == ("sentence", "preset automem")
    assert found["policy.cluster_max_size"] == (None, "preset automem")
    assert found["policy.base_decay_rate"] == (0.01, "default")


def test_a_chosen_preset_beats_that_of_file_and_environment(home):
    folder = home('[policy]\npreset = "automem"\n')
    settings = load(folder, environment={"MEMORY_PIPELINE_PRESET": "automem"}, preset_name="default")
    assert settings.policy == Policy()
    assert origins(settings)["policy.preset"] == ("default", "--preset")


def test_a_profile_has_what_it_names_and_else_the_common_policy(home):
    folder = home(
        '[policy]\narchive_threshold = 0.1\nseed = 3\n[profiles.ana]\narchive_threshold = 0.3\npreset = "automem"\n'
    )
    settings = load(folder, environment={"MEMORY_PIPELINE_SEED": "4"})
    ana = settings.policy_of("ana")
    assert (ana.archive_threshold, ana.seed, ana.preset, ana.linkage) == (0.3, 4, "automem", "single")
    assert settings.policy_of("bo") == settings.policy
    assert (settings.policy.archive_threshold, settings.policy.preset) == (0.1, "default")
    assert origins(settings, "ana")["policy.archive_threshold"] == (0.3, "memory_pipeline.toml [profiles.ana]")
    assert origins(settings, "bo")["policy.archive_threshold"] == (0.1, "memory_pipeline.toml [policy]")


def test_settings_of_the_deployment_come_from_the_top_of_the_file_or_the_environment(home):
    folder = home('nightly = "30 4 * * 1-5"\ntimezone = "Europe/Zurich"\n')
    settings = load(folder, environment={"MEMORY_PIPELINE_KEEP_SNAPSHOTS": "7"})
    assert (settings.nightly, settings.timezone, settings.keep_snapshots) == ("30 4 * * 1-5", "Europe/Zurich", 7)
    found = origins(settings)
    assert found["nightly"] == ("30 4 * * 1-5", "memory_pipeline.toml")
    assert found["keep_snapshots"] == (7, "environment MEMORY_PIPELINE_KEEP_SNAPSHOTS")


def test_the_data_folder_is_named_by_argument_else_by_variable_else_it_is_data(tmp_path):
    named = {"MEMORY_PIPELINE_HOME": str(tmp_path / "named")}
    for settings, folder, origin in (
        (load(tmp_path, environment=named), tmp_path, "--home"),
        (load(environment=named), tmp_path / "named", "environment MEMORY_PIPELINE_HOME"),
        (load(environment={}), Path.cwd() / "data", "default"),
    ):
        assert settings.home == folder
        assert origins(settings)["home"] == (folder, origin)
    assert load("~/memories", environment={}).home == Path.home() / "memories"


def test_variables_of_automem_are_understood(tmp_path):
    given_values = {
        "CONSOLIDATION_TICK_SECONDS": "60",
        "CONSOLIDATION_DECAY_INTERVAL_SECONDS": "3600",
        "CONSOLIDATION_CREATIVE_INTERVAL_SECONDS": "7200",
        "CONSOLIDATION_CLUSTER_INTERVAL_SECONDS": "0",
        "CONSOLIDATION_FORGET_INTERVAL_SECONDS": "86400",
        "CONSOLIDATION_DECAY_IMPORTANCE_THRESHOLD": "0.3",
        "CONSOLIDATION_HISTORY_LIMIT": "5",
        "CONSOLIDATION_PROTECTED_TYPES": "Decision, Preference",
        "CONSOLIDATION_GRACE_PERIOD_DAYS": "30",
        "CONSOLIDATION_ARCHIVE_THRESHOLD": "0.2",
        "CONSOLIDATION_DELETE_THRESHOLD": "0.05",
    }
    assert set(given_values) == {alias.name for alias in ALIASES if alias.name.startswith("CONSOLIDATION_")}
    settings = load(tmp_path, environment=given_values)
    policy = settings.policy
    assert settings.sensor_seconds == 60
    assert policy.protected_types == ("Decision", "Preference")
    assert (policy.decay_interval_seconds, policy.creative_interval_seconds) == (3600, 7200)
    assert (policy.cluster_interval_seconds, policy.forget_interval_seconds) == (0, 86400)
    assert (policy.history_limit, policy.grace_period_days) == (5, 30.0)
    assert (policy.archive_threshold, policy.delete_threshold) == (0.2, 0.05)
    assert policy.decay_importance_threshold == 0.3
    found = origins(settings)["policy.archive_threshold"]
    assert found == (0.2, "environment CONSOLIDATION_ARCHIVE_THRESHOLD")


def test_our_own_variable_beats_that_of_automem(tmp_path):
    both = {"CONSOLIDATION_ARCHIVE_THRESHOLD": "0.2", "MEMORY_PIPELINE_ARCHIVE_THRESHOLD": "0.3"}
    assert load(tmp_path, environment=both).policy.archive_threshold == 0.3


OTHERS = {
    "automem": {
        "min_cluster_size": (7, "cluster_min_size", 7),
        "similarity_threshold": (0.6, "cluster_similarity", 0.6),
        "base_decay_rate": (0.02, "base_decay_rate", 0.02),
        "relationship_preservation": (0.4, "relationship_preservation", 0.4),
        "CONSOLIDATION_FORGET_INTERVAL_SECONDS": (43200, "forget_interval_seconds", 43200),
    },
    "cognitive": {
        "consolidation_retention_threshold": (0.3, "fading_retention", 0.3),
        "consolidation_group_size": (8, "fading_size", 8),
        "consolidation_similarity_threshold": (0.85, "fading_similarity", 0.85),
    },
    "engram": {
        "S_base": (100, "recency_base_hours", 100.0),
        "S_boost": (12, "recency_access_hours", 12.0),
        "w_r": (2, "w_recency", 2.0),
        "w_i": (3, "w_importance", 3.0),
        "w_v": (4, "w_relevance", 4.0),
        "w_u": (0, "w_affinity", 0.0),
        "REFLECTION_THRESHOLD": (99, "reflection_threshold", 99.0),
        "similarity_threshold": (0.6, "similar_to_threshold", 0.6),
    },
    "three_tier": {
        "workingToShortThreshold": (2.5, "short_term_energy", 2.5),
        "shortToLongThreshold": (6, "long_term_energy", 6.0),
        "coactivationThreshold": (4, "coactivation_min", 4),
        "semanticSimilarityThreshold": (0.8, "reinforcement_similarity", 0.8),
        "promotionBatchSize": (10, "promotion_batch", 10),
        "promotionIntervalMinutes": (5, "promote_interval_seconds", 300),
        "clusteringIntervalMinutes": (30, "cluster_interval_seconds", 1800),
        "decayIntervalMinutes": (0.5, "decay_interval_seconds", 30),
    },
    "superlocal": {
        "enabled": (False, "enabled", False),
        "step_count_trigger": (40, "step_count_trigger", 40),
        "session_trigger": (False, "session_trigger", False),
        "idle_timeout_seconds": (200, "idle_timeout_seconds", 200),
        "scheduled_sessions": (4, "scheduled_sessions", 4),
        "core_memory_char_limit": (1000, "core_memory_char_limit", 1000),
        "block_char_limit": (250, "block_char_limit", 250),
        "compression_similarity": (0.9, "duplicate_similarity", 0.9),
        "promotion_min_access": (4, "promotion_min_access", 4),
        "promotion_min_trust": (0.6, "promotion_min_confidence", 0.6),
        "decay_days_threshold": (20, "edge_decay_days", 20.0),
    },
}


def spelled(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", OTHERS)
def test_names_of_other_systems_mean_the_same_in_the_settings_file(home, name):
    table = "[policy.consolidation]\n" if name == "superlocal" else "[policy]\n"
    lines = [f"{own} = {spelled(value)}" for own, (value, _, _) in OTHERS[name].items()]
    settings = load(
        home(f"[policy]\npreset = '{name}'\n{table if name == 'superlocal' else ''}" + "\n".join(lines)), environment={}
    )
    found = origins(settings)
    for own, (_, setting, value) in OTHERS[name].items():
        said = f" consolidation.{own}" if name == "superlocal" else f" {own}" if own != setting else ""
        assert found[f"policy.{setting}"] == (value, f"memory_pipeline.toml [policy]{said}")
        assert type(getattr(settings.policy, setting)) is type(Policy.model_fields[setting].default) or value == 0.3


def test_a_name_that_two_systems_use_goes_by_the_preset_of_its_table(home):
    text = "[policy]\npreset = 'automem'\nsimilarity_threshold = 0.6\n[profiles.ana]\npreset = 'engram'\n"
    settings = load(
        home(text + "similarity_threshold = 0.9\n[profiles.bo]\nsimilarity_threshold = 0.7"), environment={}
    )
    assert settings.policy.cluster_similarity == 0.6
    ana, bo = settings.policy_of("ana"), settings.policy_of("bo")
    assert (ana.similar_to_threshold, ana.cluster_similarity) == (0.9, 0.6)
    assert (bo.similar_to_threshold, bo.cluster_similarity) == (0.85, 0.7)
    assert load(home(text), environment={}, preset_name="engram").policy.cluster_similarity == 0.6
    alone = home("[policy]\nsimilarity_threshold = 0.6")
    assert load(alone, environment={"MEMORY_PIPELINE_PRESET": "engram"}).policy.similar_to_threshold == 0.6
    told = "cluster_similarity under the preset automem and similar_to_threshold under the preset engram; write the"
    with pytest.raises(SettingsError, match=told):
        load(alone, environment={})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[policy]\npreset = 'automem'\nsimilarity_threshold = 0.6\ncluster_similarity = 0.6", "is given twice"),
        ("[policy]\nS_base = 3\nrecency_base_hours = 3", "it means recency_base_hours; remove one"),
        ("min_cluster_size = 3", "min_cluster_size is unknown; write it below [policy]"),
        ("[policy]\nCONSOLIDATION_TICK_SECONDS = 3", "write it at the top"),
        ("[policy]\nworkingToShortThreshhold = 3", "did you mean 'workingToShortThreshold'?"),
        ("[policy.consolidation]\nenable = true", "did you mean 'consolidation.enabled'?"),
        (
            "[policy]\npromotionIntervalMinutes = -1",
            "[policy] promotionIntervalMinutes: policy.promote_interval_seconds",
        ),
        ("[policy]\npromotionIntervalMinutes = true", "promote_interval_seconds = True"),
        ("alert_url = 'here'", "alert_url = 'here'"),
    ],
)
def test_names_of_other_systems_are_checked_like_ours(home, text, told):
    with pytest.raises(SettingsError) as error:
        load(home(text), environment={})
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_what_has_no_effect_is_said_once_and_shown(home, caplog):
    folder = home("[policy]\nreinforcement_bonus = 0.217\ndecayBatchSize = 100\n")
    for _ in range(2):
        settings = load(folder, environment={})
    assert [
        record.getMessage().partition(" = 0.217 ")[2] for record in caplog.records if "bonus" in record.message
    ] == ["has no effect: none of AutoMem's formulas uses it"]
    assert settings.policy == Policy()
    rows = {row.name: (row.value, row.description) for row in settings.explained()}
    assert rows["policy.reinforcement_bonus"] == (0.217, "No effect: none of AutoMem's formulas uses it.")


def test_a_rate_that_is_fixed_is_accepted_and_another_one_is_said_to_have_no_effect(home, caplog):
    load(
        home("[policy]\npreset = 'three_tier'\nworkingDecay = 0.5\nshortTermDecay = 0.05\nlongTermDecay = 0.001\n"),
        environment={},
    )
    assert caplog.records == []
    load(home("[policy]\nworkingDecay = 0.25\n"), environment={})
    assert "workingDecay = 0.25 has no effect" in caplog.text


def test_the_tick_of_automem_may_stand_at_the_top_of_the_file(home):
    assert load(home("CONSOLIDATION_TICK_SECONDS = 60"), environment={}).sensor_seconds == 60


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_that_is_chosen_is_enabled(tmp_path, name):
    assert load(tmp_path, environment={}, preset_name=name).policy.enabled


def test_a_text_is_checked_instead_of_the_file(home):
    folder = home("[policy]\nseed = 1")
    assert load(folder, environment={}, text="[policy]\nseed = 2").policy.seed == 2


@pytest.mark.parametrize("name", ["high-traffic", "development", "constrained"])
def test_deployments_of_automem_load(tmp_path, name):
    (tmp_path / "memory_pipeline.toml").write_bytes((DEPLOYMENTS / f"{name}.toml").read_bytes())
    policy = load(tmp_path, environment={}).policy
    seconds = {
        "high-traffic": (1800, 7200, 43_200, 86_400),
        "development": (3600, 3600, 86_400, 604_800),
        "constrained": (86_400, 604_800, 2_592_000, 43_200),
    }[name]
    tasks = ("decay", "creative", "cluster", "forget")
    assert tuple(getattr(policy, f"{task}_interval_seconds") for task in tasks) == seconds
    assert policy.decay_importance_threshold == (0.3 if name == "constrained" else None)
    assert policy.preset == "automem"


def test_an_empty_value_unsets(home):
    assert load(home('[policy]\nprotected_causes = ""\n'), environment={}).policy.protected_causes is None
    for nothing in ("", "none"):
        unset = {"MEMORY_PIPELINE_CLUSTER_MAX_SIZE": nothing, "MEMORY_PIPELINE_PROTECTED_TYPES": ""}
        policy = load(home(), environment=unset).policy
        assert (policy.cluster_max_size, policy.protected_types) == (None, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nightlyy = '0 2 * * *'", ("nightlyy is unknown", "did you mean 'nightly'?")),
        ("archive_threshold = 0.1", ("archive_threshold is unknown", "write it below [policy] or [profiles.NAME]")),
        ("[policy]\narchiv_threshold = 0.1", ("[policy] archiv_threshold", "did you mean 'archive_threshold'?")),
        ("[policy]\nnightly = '0 2 * * *'", ("[policy] nightly is unknown", "write it at the top")),
        ("[profiles.ana]\nlinkge = 'single'", ("[profiles.ana] linkge is unknown", "did you mean 'linkage'?")),
        ("policy = 3", ("policy = 3 is not a table", "below [policy]")),
        ("profiles = 3", ("profiles = 3 is not a table", "below [profiles]")),
        ("[profiles]\nana = 3", ("profiles.ana = 3 is not a table", "below [profiles.ana]")),
        ("[policy", ("cannot be read as TOML", "correct or remove it")),
        (f"seed = {'[' * 9_999}", ("cannot be read as TOML", "correct or remove it")),
        ("home = 'x'", ("home is unknown",)),
        ("[policy]\npreset = 'automen'", ("preset 'automen' is unknown", "did you mean 'automem'?")),
        ("[policy]\npreset = 3", ("preset 3 is unknown", "known names: automem, cognitive, default")),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_name_that_is_unknown_is_refused_with_the_remedy(home, text, told):
    with pytest.raises(SettingsError) as error:
        load(home(text), environment={})
    assert "\n" not in str(error.value)
    assert all(part in str(error.value) for part in told), str(error.value)


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("MEMORY_PIPELINE_ARCHIV_THRESHOLD", "MEMORY_PIPELINE_ARCHIVE_THRESHOLD"),
        ("CONSOLIDATION_TIK_SECONDS", "CONSOLIDATION_TICK_SECONDS"),
    ],
)
def test_a_variable_that_names_no_setting_is_refused(tmp_path, variable, nearest):
    with pytest.raises(SettingsError, match=f"{variable} names no setting; did you mean '{nearest}'"):
        load(tmp_path, environment={variable: "1"})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("archive_threshold = 1.5", ("archive_threshold = 1.5", "less than or equal to 1")),
        ("archive_threshold = -0.1", ("archive_threshold = -0.1", "greater than or equal to 0")),
        ("archive_threshold = nan", ("archive_threshold = nan", "finite number")),
        ("archive_threshold = 'low'", ("archive_threshold = 'low'", "valid number")),
        ("creative_sample = 1", ("creative_sample = 1", "greater than or equal to 2")),
        ("reflection_threshold = 0", ("reflection_threshold = 0", "greater than 0")),
        ("linkage = 'double'", ("linkage = 'double'", "'single' or 'average'")),
        ("methods = ['fading']", ("methods", "'fading'", "did you mean 'fading_groups'?")),
        ("protected_types = ['Decison']", ("protected_types", "'Decison'", "did you mean 'Decision'?")),
        ("embedder = 'minilm'", ("embedder = 'minilm'", "use hashing, reader, local")),
        ("history_limit = 0", ("history_limit = 0", "greater than or equal to 1")),
        ("token_budget = true", ("token_budget = True", "takes a number above 0, or unset, not true or false")),
        ("decay_interval_seconds = 31536000001", ("31536000001", "less than or equal to 31536000000")),
        ("episode_gap_minutes = 1e18", ("episode_gap_minutes = 1e+18", "less than or equal to 525600000")),
        ("linkage = false", ("linkage = False", "takes `single`, `average`, not true or false")),
    ],
)
def test_a_value_out_of_range_is_refused_with_place_name_and_value(home, line, told):
    with pytest.raises(SettingsError) as error:
        load(home(f"[policy]\n{line}\n"), environment={})
    assert str(error.value).startswith("memory_pipeline.toml [policy]: policy.")
    assert all(part in str(error.value) for part in told), str(error.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nightly = '0 2 * *'", ("nightly = '0 2 * *'", "five fields")),
        ("nightly = '60 2 * * *'", ("minute '60'", "from 0 to 59")),
        ("nightly = '0 2 * * MON'", ("day of the week 'MON'", "from 0 to 7")),
        ("nightly = '*/0 2 * * *'", ("minute '*/0'",)),
        ("nightly = '0 2 * * 3-3'", ("day of the week '3-3'",)),
        ("timezone = 'Europe/Zürich'", ("timezone = 'Europe/Zürich'", "did you mean 'Europe/Zurich'?")),
        ("keep_snapshots = 0", ("keep_snapshots = 0", "greater than or equal to 1")),
        ("time_budget_seconds = -1", ("time_budget_seconds = -1", "greater than or equal to 0")),
        ("alert_url = 'mail'", ("alert_url = 'mail'", "https?")),
        ("llm_base_url = 'api'", ("llm_base_url = 'api'", "write it like https://api.openai.com/v1")),
        ("llm_money_budget = 3", ("llm_money_budget is set without prices",)),
    ],
)
def test_so_is_one_of_the_deployment(home, line, told):
    with pytest.raises(SettingsError) as error:
        load(home(line), environment={})
    assert all(part in str(error.value) for part in told), str(error.value)


def test_a_wrong_variable_is_named_itself(tmp_path):
    with pytest.raises(SettingsError, match=r"environment CONSOLIDATION_GRACE_PERIOD_DAYS: .* = '-1'"):
        load(tmp_path, environment={"CONSOLIDATION_GRACE_PERIOD_DAYS": "-1"})


def test_a_settings_file_that_cannot_be_read_is_named(tmp_path):
    file = tmp_path / "memory_pipeline.toml"
    file.write_bytes(b"\xff\xfe[policy]")
    with pytest.raises(SettingsError, match=r"memory_pipeline\.toml: cannot be read"):
        load(tmp_path, environment={})
    file.unlink()
    file.mkdir()
    with pytest.raises(SettingsError, match=r"memory_pipeline\.toml: cannot be read"):
        load(tmp_path, environment={})


def test_types_are_matched_in_any_case(home):
    assert load(home('[policy]\nprotected_types = ["DECISION", "habit"]\n'), environment={}).policy.protected_types == (
        "Decision",
        "Habit",
    )


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_changes_what_its_file_says_and_nothing_else(tmp_path, name):
    policy = load(tmp_path, environment={}, preset_name=name).policy
    changed = {key for key in Policy.model_fields if getattr(policy, key) != Policy.model_fields[key].default}
    assert changed - {"preset"} <= set(preset(name)) <= set(Policy.model_fields)
    assert policy.preset == name


def test_the_presets_that_ship():
    assert preset_names() == ["automem", "cognitive", "default", "engram", "superlocal", "three_tier"]
    assert preset("default") == {}


def test_the_page_of_settings_is_made_from_the_models():
    assert PAGE.read_text("utf-8") == reference_pages.settings(), "write it with: make docs"


def test_the_page_of_settings_names_every_setting_preset_and_variable():
    page = reference_pages.settings()
    settings = (set(Policy.model_fields) | set(Settings.model_fields)) - {"home", "policy", "profiles", "origins"}
    assert all(f"| `{name}` |" in page for name in settings | {alias.name for alias in ALIASES})
    assert all(f"### {name}" in page for name in preset_names())


shares = st.floats(0, 1)
counts = st.integers(2, 50)
values = st.fixed_dictionaries(
    {},
    optional={
        "archive_threshold": shares,
        "delete_threshold": shares,
        "grace_period_days": st.floats(0, 1e6),
        "protected_types": st.lists(st.sampled_from(MEMORY_TYPES), max_size=3).map(tuple),
        "protected_importance": st.none() | shares,
        "cluster_max_size": st.none() | counts,
        "creative_sample": counts,
        "linkage": st.sampled_from(["single", "average"]),
        "protect_core": st.booleans(),
        "seed": st.integers(-(2**40), 2**40),
    },
)


@given(values)
def test_equal_policies_have_equal_digests_wherever_their_values_come_from(tmp_path_factory, changed):
    def spelled(value):
        if isinstance(value, tuple):
            return ",".join(value)
        return "" if value is None else str(value)

    direct = Policy(**changed)
    variables = {f"MEMORY_PIPELINE_{name.upper()}": spelled(value) for name, value in changed.items()}
    told = load(tmp_path_factory.getbasetemp() / "nowhere", environment=variables).policy
    assert told == direct
    assert told.digest == direct.digest == Policy(**told.model_dump()).digest == Policy(**changed).digest


@given(values, values)
def test_policies_are_equal_exactly_if_their_digests_are(one, other):
    assert (Policy(**one) == Policy(**other)) == (Policy(**one).digest == Policy(**other).digest)


def test_zeros_of_either_sign_are_one_value():
    assert Policy(archive_threshold=-0.0).digest == Policy(archive_threshold=0).digest == Policy().digest


parts = st.sampled_from(["*", "*/7", "5", "1-4", "2,6", "1-6/2", "3-4", "4,5,6"])
instants = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)).map(lambda instant: instant.replace(tzinfo=UTC))  # noqa: DTZ001


@given(parts, parts, parts, parts, parts, instants)
def test_ticks_are_those_of_dagster(minute, hour, day, month, weekday, after):
    peer = pytest.importorskip("dagster._vendored.croniter")
    text = f"{minute} {hour} {day} {month} {weekday}"
    assert next_tick(cron(text), "UTC", after) == peer.croniter(text, after).get_next(datetime)


@pytest.mark.parametrize(
    ("expression", "zone", "after", "tick"),
    [
        ("0 2 * * *", "UTC", "2026-05-01T01:59:59", "2026-05-01T02:00:00"),
        ("0 2 * * *", "UTC", "2026-05-01T02:00:00", "2026-05-02T02:00:00"),
        ("0 2 * * *", "Europe/Zurich", "2026-01-10T00:30:00", "2026-01-10T01:00:00"),
        ("0 2 * * *", "Europe/Zurich", "2026-07-10T00:30:00", "2026-07-11T00:00:00"),
        ("0 0 29 2 *", "UTC", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
        ("0 9 * * 7", "UTC", "2026-05-01T00:00:00", "2026-05-03T09:00:00"),
        ("0 0 30 2 *", "UTC", "2026-05-01T00:00:00", None),
    ],
)
def test_ticks_by_hand(expression, zone, after, tick):
    found = next_tick(expression, zone, datetime.fromisoformat(f"{after}+00:00"))
    assert found == (tick and datetime.fromisoformat(f"{tick}+00:00"))


def test_settings_under_another_preset_keep_what_was_set(home):
    component = {"sensor_seconds": 7, "policy": {"preset": "automem", "archive_threshold": 0.42}}
    component |= {"profiles": {"ana": {"linkage": "single"}}}
    loaded = load(home("[policy]\nmax_archived_share = 0.31"), environment={}, component=component)
    under = under_preset(loaded, "cognitive")
    assert (under.sensor_seconds, under.policy.preset, under.policy_of("ana").preset) == (7, "cognitive", "cognitive")
    assert (under.policy.archive_threshold, under.policy.max_archived_share) == (0.42, 0.31)
    assert under.policy_of("ana").linkage == "single"
    again = load(
        home("[policy]\nmax_archived_share = 0.31"), environment={}, component=component, preset_name="cognitive"
    )
    assert (under.policy, under.profiles) == (again.policy, again.profiles)
    by_hand = Settings(policy=Policy(archive_threshold=0.42))
    assert (
        under_preset(by_hand, "cognitive").policy
        == load(home("[policy]\narchive_threshold = 0.42"), environment={}, preset_name="cognitive").policy
    )
    with pytest.raises(SettingsError, match="preset 'dance' is unknown"):
        under_preset(by_hand, "dance")


@pytest.mark.parametrize("name", ["a" * 10_000, "../presets/automem", "/etc/passwd"])
def test_the_name_of_an_embedder_is_no_path(tmp_path, name):
    with pytest.raises(SettingsError, match="unknown embedder") as refused:
        load(tmp_path, environment={}, text=f'[policy]\nembedder = "{name}"\n')
    assert len(str(refused.value)) < 500
