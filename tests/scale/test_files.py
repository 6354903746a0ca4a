"""The cluster files of the documentation: valid by Ray's own checks, and all commands in them are ours."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from seasync.cli import app

FOLDER = Path(__file__).parents[2] / "docs/scale"


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_the_cluster_launcher_takes_the_file_for_aws() -> None:
    pytest.importorskip("ray")
    from ray.autoscaler._private.util import fill_node_type_min_max_workers, validate_config

    (config,) = read("ray-aws.yaml")
    filled = config | {"cluster_synced_files": [], "file_mounts": {}}
    fill_node_type_min_max_workers(filled)
    validate_config(filled)
    with pytest.raises(Exception, match="max_worker"):
        validate_config(filled | {"max_worker": 3})


def test_rays_autoscaler_reads_the_cluster_of_the_job() -> None:
    pytest.importorskip("ray")
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
    from ray.autoscaler._private.util import validate_config

    (job,) = read("kuberay.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = {"metadata": job["metadata"], "spec": job["spec"]["rayClusterSpec"]}
    derived = _derive_autoscaling_config_from_ray_cr(cluster)
    validate_config(derived)
    kinds = derived["available_node_types"]
    assert kinds["headgroup"]["resources"]["CPU"] == 0
    assert (kinds["encoders"]["resources"]["CPU"], kinds["encoders"]["max_workers"]) == (8, 64)


def test_the_search_nodes_belong_together() -> None:
    deployment, service = read("search.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["containerPort"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in deployment["spec"]["template"]["spec"]["volumes"]}


def commands() -> list[list[str]]:
    """Every `seasync …` in the files and on the page about them."""
    found = [read("search.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["args"]]
    texts = [file.read_text() for file in sorted(FOLDER.glob("*.yaml"))]
    texts.append((FOLDER.parent / "scale.md").read_text())
    ours = r"(?:entrypoint: |\"|^)(seasync (?:add|sea|serve|search|evaluate) [^\"`#\n]+)"
    lines = [line for text in texts for line in re.findall(ours, text, re.M)]
    return [*found, *map(shlex.split, lines)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_of_the_page_is_one(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    context = None
    rest = words[1:]
    while hasattr(command, "commands"):
        context = command.make_context(rest[0], list(rest), parent=context, resilient_parsing=True)
        name, command, rest = command.resolve_command(context, list(rest))
        assert name
    command.make_context(rest and words[-1], list(rest), parent=context)
