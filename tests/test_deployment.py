"""What is in deploy/: every file parses, every command is one that its program takes, every metric exists."""

import json
import os
import re
import shlex
import tomllib
from configparser import RawConfigParser
from importlib import import_module
from importlib.metadata import entry_points

import homes
import pytest
import typer.main
import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher import RunLauncher
from dagster._serdes import ConfigurableClassData
from prometheus_client.parser import text_string_to_metric_families

from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import metrics
from memory_pipeline.service import commands
from memory_pipeline.service.middleware import RequestTimes
from memory_pipeline.settings import loading

ROOT = homes.HERE.parent
DEPLOY = ROOT / "deploy"
DOCKER, SYSTEMD, HELM = DEPLOY / "docker", DEPLOY / "systemd", DEPLOY / "helm"
UNITS = sorted(SYSTEMD.iterdir())
PACKAGED = yaml.safe_load((ROOT / "memory_pipeline" / "dagster.yaml").read_text("utf-8"))
SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
"""What Prometheus appends to the name of a metric."""


def read(path):
    return yaml.safe_load(path.read_text("utf-8"))


def unit(path):
    """The sections of a unit; a key that stands twice has the later value."""
    parser = RawConfigParser(strict=False, delimiters="=", interpolation=None)
    parser.optionxform = str
    parser.read(path, "utf-8")
    return parser


def instructions(path):
    """The instructions of a Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n", " ", path.read_text("utf-8"))
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def commands_of_images():
    yield from commands_of_the_container()
    for service in (
        read(DOCKER / "compose.yaml")["services"] | read(DOCKER / "compose.postgres.yaml")["services"]
    ).values():
        yield from ([service["command"]] if "command" in service else [])
        test = service.get("healthcheck", {}).get("test", [])
        yield from ([test[1:]] if test[1:2] in (["dagster"], ["dagster-daemon"]) else [])
    for deployment in read(HELM / "values.yaml")["dagster-user-deployments"]["deployments"]:
        yield ["dagster", "api", "grpc", "-p", str(deployment["port"]), *deployment["dagsterApiGrpcArgs"]]
    for manifest in manifests("Deployment"):
        yield from (container["args"] for container in manifest["spec"]["template"]["spec"]["containers"])


def commands_of_the_container():
    """What the image runs by default: the lines of its script that call our programs."""
    for line in (DOCKER / "start").read_text("utf-8").splitlines():
        words = [word for word in shlex.split(line, comments=True) if word != "&" and "=" not in word]
        if words and words[0] in {"memory-pipeline", "dagster-daemon"}:
            yield words


def commands_of_units():
    for path in UNITS:
        if path.suffix == ".service":
            program, *rest = shlex.split(unit(path)["Service"]["ExecStart"])
            assert program.startswith("/opt/memory-pipeline/bin/"), path
            yield [program.rpartition("/")[2], *rest]


def manifests(kind):
    documents = yaml.safe_load_all((HELM / "store.yaml").read_text("utf-8"))
    return [document for document in documents if document["kind"] == kind]


def parse(command, words):
    """Let a command line's own program read it, without running anything."""
    context = command.make_context(words[0], list(words[1:]))
    if hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]  # noqa: SLF001
        name, below, rest = command.resolve_command(context, rest)
        parse(below, [name, *rest])


def program(name):
    """The command line of a program that the package or Dagster installs."""
    if name == "memory-pipeline":
        return typer.main.get_command(commands.app)
    (entry,) = entry_points(group="console_scripts", name=name)
    return import_module(entry.module).cli


@pytest.mark.parametrize("words", [*commands_of_images(), *commands_of_units()], ids=" ".join)
def test_every_command_is_one_that_its_program_takes(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    parse(program(words[0]), [word.replace("/etc/memory-pipeline", str(DOCKER)) for word in words])


def test_services_wait_for_those_that_exist_and_use_the_volumes_that_are_declared():
    base, more = read(DOCKER / "compose.yaml"), read(DOCKER / "compose.postgres.yaml")
    services = base["services"] | more["services"]
    volumes = base["volumes"] | more["volumes"]
    for service in (*base["services"].values(), *more["services"].values()):
        assert set(service.get("depends_on", {})) <= set(services)
        named = [volume.partition(":")[0] for volume in service.get("volumes", [])]
        assert all(name in volumes or (DOCKER / name).is_file() for name in named), named
    assert set(more["services"]) - {"postgres", *base["services"]} == set()
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", []))
    (server,) = read(DOCKER / "workspace.yaml")["load_from"]
    code = base["services"]["code"]["command"]
    assert (server["grpc_server"]["host"], str(server["grpc_server"]["port"])) == ("code", code[code.index("-p") + 1])


def test_every_service_over_a_bucket_knows_where_it_is():
    base, lake = (read(DOCKER / f"compose{part}.yaml")["services"] for part in ("", ".lake"))
    assert set(lake) == set(base)
    for name, service in lake.items():
        given = service["environment"]
        assert given.keys() >= {f"{loading.ENVIRONMENT_PREFIX}LAKE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
        assert given.keys() >= base[name].get("environment", {}).keys()
        assert all(value is None or f"${{{key}:?" in value for key, value in given.items() if key.startswith("AWS_"))


def test_the_image_is_made_of_what_the_repository_has():
    lines = instructions(DOCKER / "Dockerfile")
    assert {name for name, _ in lines} <= {
        "ARG", "FROM", "RUN", "ENV", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"
    }  # fmt: skip
    copied = [rest.split()[:-1] for name, rest in lines if name == "COPY" and not rest.startswith("--from")]
    needed = {path for paths in copied for path in paths}
    assert all((ROOT / path).exists() for path in needed)
    (started,) = (json.loads(rest) for name, rest in lines if name == "CMD")
    assert ["deploy/docker/start"] in copied
    assert started == ["/usr/local/bin/start"]
    (daemon,) = (words for words in commands_of_the_container() if words[0] == "dagster-daemon")
    assert {"--log-level", "warning"} <= {*daemon}, "each tick of a sensor would push the sign-in link out of view"
    assert os.access(DOCKER / "start", os.X_OK)
    assert len([*commands_of_the_container()]) == 3
    kept = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert {line.removeprefix("!") for line in kept if line.startswith("!")} == needed
    (extras,) = re.findall(r"pip install '\.\[(.+?)\]'", (DOCKER / "Dockerfile").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_links_of_the_readme_lead_from_a_registry_into_the_repository():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shown = (ROOT / "README.md").read_text("utf-8")
    for change in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(change["pattern"], change["replacement"], shown)
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(targets) > 20
    assert all(target.startswith(("https://", "http://", "#")) for target in targets)


def test_units_name_the_settings_and_the_folder_that_the_pipeline_reads():
    names = {f"{loading.ENVIRONMENT_PREFIX}{name.upper()}" for name in loading.deployment_names()}
    for path in UNITS:
        parsed = unit(path)
        assert parsed["Unit"]["Description"]
        if path.suffix == ".timer":
            assert path.with_suffix(".service") in UNITS
            continue
        service = parsed["Service"]
        given = re.findall(r"^Environment=(.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
        variables = dict(pair.split("=", 1) for line in given for pair in shlex.split(line))
        assert set(variables) <= {*names, loading.HOME_VARIABLE, "DAGSTER_HOME"}
        assert variables[loading.HOME_VARIABLE] == f"/var/lib/{service['StateDirectory']}"
        assert variables.get("DAGSTER_HOME", "/dagster").removeprefix(variables[loading.HOME_VARIABLE]) == "/dagster"


def test_dagsters_configuration_differs_from_ours_in_its_storage_alone(tmp_path, monkeypatch):
    postgres = read(DOCKER / "dagster.postgres.yaml")
    assert {name: value for name, value in postgres.items() if name != "storage"} == PACKAGED
    (tmp_path / "dagster.yaml").write_text((DOCKER / "dagster.postgres.yaml").read_text("utf-8"), "utf-8")
    variable = postgres["storage"]["postgres"]["postgres_url"]["env"]
    urls = [
        service.get("environment", {}).get(variable)
        for service in read(DOCKER / "compose.postgres.yaml")["services"].values()
    ]
    assert sum(url is not None for url in urls) == len(urls) - 1  # every service but the server itself
    assert all(url.startswith("postgresql+psycopg2://") for url in urls if url)  # the driver that is installed
    monkeypatch.setenv(variable, "postgresql+psycopg2://nowhere")
    storage = InstanceRef.from_dir(str(tmp_path)).storage_data
    assert (storage.module_name, storage.class_name) == ("dagster_postgres", "DagsterPostgresStorage")


def test_the_values_of_the_chart_say_what_our_configuration_says():
    values = read(HELM / "values.yaml")
    assert values["postgresql"]["postgresqlScheme"] == "postgresql+psycopg2"
    daemon, queue = values["dagsterDaemon"], values["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    ours = PACKAGED["concurrency"]["runs"]
    assert queue == {
        "maxConcurrentRuns": ours["max_concurrent_runs"], "tagConcurrencyLimits": ours["tag_concurrency_limits"]
    }  # fmt: skip
    assert daemon["runRetries"]["maxRetries"] == PACKAGED["run_retries"]["max_retries"]
    assert daemon["runMonitoring"]["startTimeoutSeconds"] == PACKAGED["run_monitoring"]["start_timeout_seconds"]
    launcher = values["runLauncher"]["config"]["customRunLauncher"]
    data = ConfigurableClassData(launcher["module"], launcher["class"], json.dumps(launcher["config"]))
    assert data.rehydrate(as_type=RunLauncher)
    (claim,), (http,) = manifests("PersistentVolumeClaim"), manifests("Deployment")
    (code,) = values["dagster-user-deployments"]["deployments"]
    pod = http["spec"]["template"]["spec"]
    for owner in (code, pod):
        (volume,) = owner["volumes"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    beside = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert beside["labelSelector"]["matchLabels"].items() <= code["labels"].items()
    image = code["image"]
    assert pod["containers"][0]["image"] == f"{image['repository']}:{image['tag']}"


def test_the_board_asks_for_metrics_that_exist(tmp_path):
    with Lake(tmp_path) as lake:
        text = metrics.render(lake, homes.settings(tmp_path), now=homes.NIGHT) + RequestTimes().exposition()
    families = list(text_string_to_metric_families(text))
    exist = {family.name + suffix for family in families for suffix in SUFFIXES[family.type]}
    board = json.loads((DEPLOY / "grafana" / "memory-pipeline.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    asked = {name for query in queries for name in re.findall(rf"{metrics.PREFIX}\w+", query)}
    assert asked - exist == set()
    unseen = {one.name for one in families if not asked & {one.name + suffix for suffix in SUFFIXES[one.type]}}
    assert unseen == {f"{metrics.PREFIX}memory_energy_{end}" for end in ("min", "max")}
    assert all(query.count("(") == query.count(")") and query.count("{") == query.count("}") for query in queries)
