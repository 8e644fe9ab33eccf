# SPDX-License-Identifier: Apache-2.0
# collect_results.py: RAW OUT makes one JSON file of what the stages of gpu_test.sh left in RAW.
# Fails if no CUDA test ran, or if one skipped itself although the GPU is there.
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
        }
        for suite in report["testsuites"]
        for test in suite["testsuite"]
        if test["status"] == "RUN"
    ]


def python_results(path: pathlib.Path) -> list[dict]:
    results = []
    for case in xml.parse(path).iter("testcase"):
        result = "completed"
        for child, name in (("skipped", "skipped"), ("failure", "failed"), ("error", "failed")):
            if case.find(child) is not None:
                result = name
        results.append({"name": f"{case.get('classname')}::{case.get('name')}", "result": result})
    return results


def main(raw: pathlib.Path, out: pathlib.Path) -> int:
    tests = {path.stem: cpp_results(path) for path in sorted(raw.glob("cpp*.json"))}
    tests |= {path.stem: python_results(path) for path in sorted(raw.glob("pytest*.xml"))}
    bench = {path.stem: json.loads(path.read_text()) for path in sorted(raw.glob("bench/*.json"))}
    out.write_text(
        json.dumps({"environment": environment(), "tests": tests, "bench": bench}, indent=1)
    )
    every = [(stage, test) for stage, results in tests.items() for test in results]
    skipped = [f"{stage} {test['name']}" for stage, test in every if test["result"] == "skipped"]
    failed = [f"{stage} {test['name']}" for stage, test in every if test["result"] == "failed"]
    print(f"{len(every)} CUDA tests, {len(failed)} failed, {len(skipped)} skipped; {out}")
    for name in failed + skipped:
        print(f"  {name}")
    return 0 if every and not failed and not skipped else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
