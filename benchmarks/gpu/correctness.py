"""The corpus on the GPU, judged by its own rules but for those in `tests.corpus.on_gpu`.

Float tolerances are those of its README (f32: 1e-4 + 1e-5). A program with products of f32 that misses them has to
meet its own rules with `matmul_precision="highest"`; `beyond_tf32` lists those that do not even meet `ROUNDED` without.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tarfile
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.gpu.adapter import DIGESTS, PRECISION, digest
from benchmarks.gpu.section import Section
from tests.corpus.on_gpu import for_gpu

HERE = Path(__file__).resolve().parent
# In this order while there is time.
SOURCES = ("jax_models", "jax_poly", "jax_forms", "jax_models_platforms", "handwritten", "testdata_dynamic")
WORKERS = 14
SECONDS = 280
AGAIN_SECONDS = 50  # for those that TF32 may explain
ROUNDED = {"kind": "allclose", "tol": 0.02}  # of products whose factors are rounded to TF32
PRODUCTS = ("dot_general", "dot", "convolution", "dynamic_conv")
KNOWN = (
    HERE.parent.parent / "tests" / "corpus" / "known.txt"
)  # what misses its rule on the CPU target too, with reasons
ARCHIVES = ("jax_exports.tar.xz", "handwritten.tar.xz", "stablehlo_testdata.tar.xz", "stablehlo_tests.tar.xz")


def main() -> None:
    """Run as many cases as the time allows, dynamic ones first."""
    section = Section()
    if section.corpus is None:
        section.add("failed", "no corpus: give its folder by --corpus")
        return
    end = time.monotonic() + SECONDS
    root = _unpacked(section.corpus)
    cases: list[dict[str, Any]] = json.loads((section.corpus / "manifest.json").read_text())["cases"]
    runnable = [case for case in cases if case["runnable"]]
    chosen = sorted(runnable, key=lambda case: SOURCES.index(case["source"]) if case["source"] in SOURCES else 99)
    runner = _runner(section.corpus)
    known = {line.partition(":")[0] for line in KNOWN.read_text().splitlines()}
    lock, outcomes, verified, rounded = threading.Lock(), Counter[str](), list[str](), list[dict[str, Any]]()

    def note(case: dict[str, Any], outcome: dict[str, Any]) -> None:
        with lock:
            outcomes[outcome["status"]] += 1
            if outcome["status"] == "pass":
                verified.append(_verified(root, case))
                return
            name = f"{case['source']}/{case['name']}"
            kind = {"near": "near", "unsupported": "unsupported"}.get(outcome["status"], "wrong")
            kind = "known" if name in known else kind
            section.append(kind, f"{name}: {outcome['status']}, {outcome['detail']}"[:400])

    def work(mine: list[dict[str, Any]]) -> None:
        runs = _worker(runner, root)
        for case in mine:
            if time.monotonic() > end:
                break
            outcome = runs.do(for_gpu(case))
            if outcome["status"] in ("fail", "near") and _has_products(case):
                loose = runs.do(case | {"checks": [ROUNDED if _is_close(rule) else rule for rule in case["checks"]]})
                with lock:
                    rounded.append(case)
                    if loose["status"] != "pass":
                        section.append("beyond_tf32", f"{case['source']}/{case['name']}: {loose['detail']}"[:400])
                continue
            note(case, outcome)
        runs.stop()

    def work_exactly(mine: list[dict[str, Any]]) -> None:
        runs = _worker(runner, root)
        for case in mine:
            if time.monotonic() < end + AGAIN_SECONDS:
                note(case, runs.do(for_gpu(case)))
        runs.stop()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, [chosen[k::WORKERS] for k in range(WORKERS)]))
        section.add("rounded", [f"{case['source']}/{case['name']}" for case in rounded])
        os.environ[PRECISION] = "highest"  # for the processes that are started from now on
        list(pool.map(work_exactly, [rounded[k::WORKERS] for k in range(WORKERS)]))
    section.add("outcomes", dict(outcomes))
    section.add("not_run", len(chosen) - sum(outcomes.values()))
    section.add("verified_programs", sorted(set(verified)))
    section.add("summary", [f"{dict(outcomes)}, {section.report['not_run']} not run, {len(rounded)} by TF32"])


def _worker(runner: Any, root: Path) -> Any:
    return runner.Worker(
        SimpleNamespace(python=sys.executable, adapter=str(HERE / "adapter.py"), root=str(root), variants="all",
                        form="run", recycle=10_000, timeout=60)
    )  # fmt: skip


def _unpacked(corpus: Path) -> Path:
    root = Path(tempfile.mkdtemp())
    for archive in ARCHIVES:
        with tarfile.open(corpus / archive) as tar:
            tar.extractall(root, filter="data")
    return root


def _has_products(case: dict[str, Any]) -> bool:
    return any(op.removeprefix("stablehlo.") in PRODUCTS for op in case["ops"])


def _is_close(rule: dict[str, Any]) -> bool:
    return rule["kind"] in ("allclose", "almost_eq", "ulp")


def _runner(corpus: Path) -> Any:
    spec = importlib.util.spec_from_file_location("run_corpus", corpus / "run_corpus.py")
    assert spec, "the runner is a Python file"
    assert spec.loader, "the runner is a Python file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _verified(root: Path, case: dict[str, Any]) -> str:
    """What identifies the kernels that were right."""
    text = (root / case["source"] / f"{case['name']}.mlir").read_text()
    return (DIGESTS / digest(text)).read_text()


if __name__ == "__main__":
    main()
