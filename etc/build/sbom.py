"""What a release is made of, as SPDX 2.3 in JSON: our packages, the Swift packages inside the programs, and what dpkg names
as their dependencies."""
from __future__ import annotations

import datetime
import hashlib
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOMEPAGE = "https://beekond.org"
SUPPLIER = "Organization: The beekond developers"
# Where SwiftPM notes the versions that it has chosen, and where what it has fetched lies, for each of our packages.
RESOLVED = {
    "beekond": (ROOT / "Package.resolved", ROOT / ".build/checkouts"),
    "beekon-sim": (ROOT / "Package.resolved", ROOT / ".build/checkouts"),
    "beekon-server": (ROOT / "server/Package.resolved", ROOT / "server/.build/checkouts")}


def control(package: Path) -> dict:
    """The fields of a Debian package."""
    text = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\n[ \t]+", " ", text)
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identifier(*words: str) -> str:
    """SPDX takes letters, digits, full stops and hyphens."""
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-") for word in words)


def pins(name: str) -> list:
    """The Swift packages that SwiftPM has chosen for one of our packages: (name, location, version, revision)."""
    path = RESOLVED[name][0]
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: build first, or 'swift package resolve'")
    found = json.loads(path.read_text(encoding="utf-8"))["pins"]
    return [(pin["identity"], pin["location"].removesuffix(".git"), pin["state"].get("version", ""), pin["state"]["revision"])
            for pin in found]


def licence(name: str, identity: str) -> str:
    """The licence in the checkout of a Swift package, if it is the one that nearly all have."""
    for file in sorted((RESOLVED[name][1] / identity).glob("LICENSE*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        if "Apache License" in text and "Version 2.0" in text:
            return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    return "NOASSERTION"


def element(spdx: str, name: str, version: str, **fields) -> dict:
    """A package of the document, which says nothing of what nobody has looked into."""
    value = {"SPDXID": spdx, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
             "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **fields}
    if version:
        value["versionInfo"] = version
    return value


def reference(locator: str) -> list:
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]


class Document:
    """Packages by their SPDX ids, and how they relate."""

    def __init__(self):
        self.elements: dict = {}
        self.relations: set = set()

    def ours(self, path: Path, name: str, version: str, **fields) -> str:
        """A file of the release."""
        spdx = identifier("File", path.name)
        self.elements[spdx] = element(
            spdx, name, version, packageFileName=path.name, supplier=SUPPLIER, homepage=HOMEPAGE, licenseDeclared="Apache-2.0",
            checksums=[{"algorithm": "SHA256", "checksumValue": digest(path)}], **fields)
        self.relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", spdx))
        return spdx

    def package(self, path: Path, runtime: str):
        """A Debian package of ours, with what its programs contain and what it depends on."""
        fields = control(path)
        name, suite = fields["Package"], suite_of(path)
        spdx = self.ours(path, name, fields["Version"], externalRefs=reference(
            f"pkg:deb/beekond/{name}@{fields['Version'].replace('+', '%2B')}?arch={fields['Architecture']}"))
        if name not in RESOLVED:
            return
        for identity, location, version, revision in pins(name):
            inner = identifier("Swift", identity, version or revision)
            self.elements[inner] = element(
                inner, identity, version or revision, downloadLocation=f"git+{location}@{revision}",
                licenseDeclared=licence(name, identity),
                externalRefs=reference(f"pkg:swift/{location.partition('://')[2]}@{version or revision}"))
            # SwiftPM chooses a version for more packages than it links, such as those of their tests.
            self.relations.add((spdx, "DEPENDS_ON", inner))
        if runtime:
            inner = identifier("Swift-runtime", runtime)
            self.elements[inner] = element(inner, "Swift runtime", runtime, homepage="https://www.swift.org",
                                           licenseDeclared="Apache-2.0 WITH Swift-exception")
            self.relations.add((spdx, "STATIC_LINK", inner))
        for dependency in fields.get("Depends", "").split(","):
            # Of alternatives the first is what apt takes.
            other = dependency.partition("|")[0].strip().partition(" ")[0].partition(":")[0]
            if not other:
                continue
            inner = identifier("Debian", suite, other)
            self.elements[inner] = element(inner, other, "", externalRefs=reference(f"pkg:deb/debian/{other}?distro={suite}"))
            self.relations.add((spdx, "DEPENDS_ON", inner))

    def json(self, name: str, version: str, moment: int) -> str:
        """The same release gives the same document."""
        packages = [self.elements[key] for key in sorted(self.elements)]
        relations = [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                     for one, kind, other in sorted(self.relations)]
        content = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()
        created = datetime.datetime.fromtimestamp(moment, datetime.UTC)
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
            "documentNamespace": f"{HOMEPAGE}/spdx/{name}-{version}-{content}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": [SUPPLIER, "Tool: etc-build-release"]},
            "packages": packages, "relationships": relations}, indent=1) + "\n"


def suite_of(path: Path) -> str:
    """The suite that a package's version names; empty for one that is for all."""
    found = re.search(r"\+deb(\d+)_", path.name)
    return {"12": "bookworm", "13": "trixie"}[found[1]] if found else ""
