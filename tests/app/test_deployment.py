"""The descriptions of several servers: what their own tools take, with settings that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import app
from app.config import PREFIX, Config

DIRECTORY = Path(app.__file__).with_name("deployment")
KUBERNETES: list[dict[str, Any]] = list(yaml.safe_load_all((DIRECTORY / "kubernetes.yaml").read_text()))


def test_compose_takes_it() -> None:
    check = ["check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DIRECTORY / "compose.yaml")]
    done = subprocess.run([sys.executable, "-m", *check], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "manifest", KUBERNETES, ids=lambda manifest: f"{manifest['kind']} {manifest['metadata']['name']}"
)
def test_kubernetes_takes_it(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_the_parts_of_the_manifest_name_each_other() -> None:
    service, servers, ingress, scheduler = KUBERNETES[:4]
    assert servers["spec"]["serviceName"] == service["metadata"]["name"]
    assert servers["spec"]["template"]["metadata"]["labels"] == service["spec"]["selector"]
    addresses = re.findall(r"tcp://([a-z-]+):(\d+)", (DIRECTORY / "kubernetes.yaml").read_text())
    assert set(addresses) == {(scheduler["metadata"]["name"], str(scheduler["spec"]["ports"][0]["port"]))}
    labels = {
        part["spec"]["template"]["metadata"]["labels"]["app"] for part in KUBERNETES if "template" in part["spec"]
    }
    selected = {scheduler["spec"]["selector"]["app"]}
    [rule] = KUBERNETES[-1]["spec"]["ingress"]
    admitted = set(rule["from"][0]["podSelector"]["matchExpressions"][0]["values"])
    assert labels == selected | admitted, "all parts, and nobody else"
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": "http"}}


@pytest.mark.parametrize("file", ["compose.yaml", "kubernetes.yaml"])
def test_settings_that_they_give_exist(file: str) -> None:
    given = set(re.findall(rf"{PREFIX}([A-Z_]+)", (DIRECTORY / file).read_text()))
    assert {name.lower() for name in given} <= set(Config.__struct_fields__)
    assert {"DATABASE", "STORE", "PROXIES", "SCHEDULER"} <= given
