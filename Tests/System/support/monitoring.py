"""What alerts and dashboards of etc/monitoring ask Prometheus for, and whether a program's metrics have it."""
from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from support.programs import ROOT

FOLDER = os.path.join(ROOT, "etc", "monitoring")
RULES = os.path.join(FOLDER, "beekon.rules.yml")
DASHBOARDS = ("grafana-vehicles.json", "grafana-server.json")
# Prometheus adds the former, and histograms have the latter.
OF_ALL = {"instance", "le"}
# Only those are there that have been answered.
COMING = {"code"}


class Query(NamedTuple):
    text: str
    # What a dashboard calls its lines.
    legend: str = ""


def rules() -> list:
    with open(RULES, encoding="utf-8") as file:
        return [Query(text) for text in re.findall(r"^ +expr: (.+)$", file.read(), re.M)]


def dashboard(name: str) -> dict:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def queries(name: str) -> list:
    """All that a dashboard asks Prometheus for."""
    board = dashboard(name)
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    variables = [variable for variable in board["templating"]["list"] if variable["type"] == "query"]
    return [Query(target["expr"], target.get("legendFormat") or "") for target in targets] + [
        Query(variable["query"]["query"]) for variable in variables]


def asked() -> list:
    return rules() + [query for name in DASHBOARDS for query in queries(name)]


def names(text: str) -> set:
    found = set(re.findall(r"\b(?:beekond?|node)_\w+", text))
    return {base(name) if name.endswith("_bucket") or "_seconds_" in name else name for name in found}


def base(name: str) -> str:
    return re.sub(r"_(?:bucket|sum|count)$", "", name)


def labels(metrics: str) -> dict:
    """The values of each label by the names that have it, of a text that Prometheus would read."""
    found: dict = {}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", metrics, re.M):
        place = found.setdefault(base(name), {})
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', inside):
            place.setdefault(label, set()).add(value)
    return found


def missing(metrics: str) -> list:
    """Labels and values that are asked for, of names that these metrics have, and that are not there: such a query finds
    nothing, ever, and says nothing of it."""
    there = labels(metrics)
    found = []
    for query in asked():
        ours = [there[base(name)] for name in re.findall(r"\bbeekond?_\w+", query.text) if base(name) in there]
        if not ours:
            continue
        known = OF_ALL.union(*ours)
        grouped = set(re.findall(r"\w+", " ".join(re.findall(r"\bby \(([^)]*)\)", query.text))))
        for label in sorted((grouped | set(re.findall(r"\{\{(\w+)\}\}", query.legend))) - known):
            found.append(f"no label {label}: {query.text}")
        for name, inside in re.findall(r"\b(beekond?_\w+)\{([^}]*)\}", query.text):
            for label, value in re.findall(r'(\w+)=~?"([^"]*)"', inside):
                values = there.get(base(name), {}).get(label)
                if base(name) not in there or label in OF_ALL:
                    continue
                if values is None:
                    found.append(f"no label {label}: {query.text}")
                elif label not in COMING:
                    found += [f"never is {label} {choice}: {query.text}" for choice in value.split("|")
                              if not any(re.fullmatch(choice, there_is) for there_is in values)]
    return found
