# SPDX-License-Identifier: Apache-2.0
# collect_results.py: RAW OUT makes one JSON file of what the stages of gpu_test.sh left in RAW, and
# prints what failed, why, and how long each stage took, the shortest summary last.
# Fails if no CUDA test ran, or if one skipped itself although the GPU is there.
import collections
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import torch


def environment() -> dict:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    found = shutil.which(query[0])
    gpu = subprocess.run(query, capture_output=True, text=True).stdout.strip() if found else "none"
    return {
        "gpu": gpu,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def cpp_results(path: pathlib.Path) -> list[dict]:
    report = json.loads(path.read_text())
    return [
        {
            "name": f"{suite['name']}.{test['name']}",
            "result": "failed" if test.get("failures") else test["result"].lower(),
            "why": "\n".join(f["failure"] for f in test.get("failures", [])),
        }
        for suite in report["testsuites"]
        for test in suite["testsuite"]
        if test["status"] == "RUN"
    ]


def python_results(path: pathlib.Path) -> list[dict]:
    results = []
    for case in xml.parse(path).iter("testcase"):
        result, why = "completed", ""
        for child, name in (("skipped", "skipped"), ("failure", "failed"), ("error", "failed")):
            if (found := case.find(child)) is not None:
                result, why = name, found.get("message") or ""
        name = f"{case.get('classname')}::{case.get('name')}"
        results.append({"name": name, "result": result, "why": why})
    return results


def stages(raw: pathlib.Path) -> list[dict]:
    path = raw / "stages.tsv"
    rows = path.read_text().splitlines() if path.exists() else []
    return [dict(zip(("name", "result", "seconds"), row.split("\t"))) for row in rows]


def show(stage: str, test: dict) -> None:
    print(f"  {test['result']} {stage} {test['name']}")
    for line in test["why"].strip().splitlines()[:3]:
        print(f"      {line[:160]}")


def main(raw: pathlib.Path, out: pathlib.Path) -> int:
    tests = {path.stem: cpp_results(path) for path in sorted(raw.glob("cpp*.json"))}
    tests |= {path.stem: python_results(path) for path in sorted(raw.glob("pytest*.xml"))}
    bench = {path.stem: json.loads(path.read_text()) for path in sorted(raw.glob("bench/*.json"))}
    report = {"environment": environment(), "stages": stages(raw), "tests": tests, "bench": bench}
    out.write_text(json.dumps(report, indent=1))
    bad = [(s, t) for s, results in tests.items() for t in results if t["result"] != "completed"]
    for stage, test in bad[:30]:
        show(stage, test)
    if len(bad) > 30:
        print(f"  and {len(bad) - 30} more, in {out}")
    for stage in report["stages"]:
        print(f"{stage['result']:7} {stage['seconds']:>4} s  {stage['name']}")
    for name, results in tests.items():
        counts = collections.Counter(test["result"] for test in results)
        print(f"{name}: {', '.join(f'{n} {what}' for what, n in counts.items())}")
    return 0 if any(tests.values()) and not bad else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
