#!/usr/bin/env python3
"""Times SciPy, fastcluster, scikit-learn and umap-learn beside ours, on the same rows, in one run.

    python models/benches/peers.py [--runs 5] [--linkage 20000] [--umap 20000]

needs numpy, scipy, fastcluster, scikit-learn, umap-learn and cargo. Each run of each program is a
process of its own, on at most two threads; the programs take turns, so that what else the machine
does hits all alike. Printed are medians of wall time, of processor time in user mode and of peak
memory, and each peer's as a multiple of ours. The time is that of the call alone: neither of reading
the rows nor of importing, nor of umap-learn's compilation, which a small fit before takes out of it.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = "2"
ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def rows(path, columns):
    import numpy

    return numpy.fromfile(path, dtype="<f8").reshape(-1, columns)


def scipy_linkage(x):
    from scipy.cluster.hierarchy import linkage

    return lambda: linkage(x, "average", metric="cosine")


def fastcluster_linkage(x):
    import fastcluster

    return lambda: fastcluster.linkage(x, "average", metric="cosine")


def sklearn_linkage(x):
    from sklearn.cluster import AgglomerativeClustering

    return lambda: AgglomerativeClustering(n_clusters=8, metric="cosine", linkage="average").fit(x)


def umap_learn(x):
    import umap

    umap.UMAP(n_components=5, n_neighbors=15, min_dist=0.0).fit(x[:500])
    return lambda: umap.UMAP(n_components=5, n_neighbors=15, min_dist=0.0, random_state=42, n_jobs=1).fit(x)


def umap_learn_threads(x):
    import umap

    umap.UMAP(n_components=5, n_neighbors=15, min_dist=0.0).fit(x[:500])
    return lambda: umap.UMAP(n_components=5, n_neighbors=15, min_dist=0.0, n_jobs=2).fit(x)


PEERS = {
    "linkage": {"fastcluster": fastcluster_linkage, "SciPy": scipy_linkage, "scikit-learn": sklearn_linkage},
    "umap": {"umap-learn, seeded": umap_learn, "umap-learn, two threads": umap_learn_threads},
}
COLUMNS = {"linkage": 5, "umap": 12}
KIND = {"linkage": "blobs", "umap": "lab"}


def one_peer(task, name, path):
    """Runs one peer once, in this process."""
    x = rows(path, COLUMNS[task])
    if task == "umap":
        x = x / x.std(axis=0)
    call = PEERS[task][name](x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    said = {"seconds": seconds, "user": usage.ru_utime - before, "mb": usage.ru_maxrss / 1000}
    if task == "umap" and len(x) <= 20_000:
        from sklearn.manifold import trustworthiness

        said["trustworthiness"] = trustworthiness(x, result.embedding_, n_neighbors=15)
    print(json.dumps(said))


def run(command):
    env = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
        env[name] = THREADS
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env, text=True).stdout


def one_of_ours(task, n):
    """Runs our example once; what it prints begins with n, seconds and a third number."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = run([str(TARGET / "release/examples" / task), str(n), KIND[task]]).split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = {"seconds": float(words[1]), "user": after.ru_utime - before.ru_utime}
    if task == "linkage":
        said["mb"] = float(words[2])
    else:
        said["trustworthiness"] = float(words[2])
        said["user"] = float(words[3].lstrip("("))
    return said


def compare(task, n, runs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.f64")
        run([str(TARGET / "release/examples/rows"), str(n), KIND[task], path])
        answers = {"ours": []} | {name: [] for name in PEERS[task]}
        for _ in range(runs):
            for name, said in answers.items():
                if name == "ours":
                    said.append(one_of_ours(task, n))
                else:
                    said.append(json.loads(run([sys.executable, __file__, "--one", task, name, path])))
    print(f"\n{task}, {n} x {COLUMNS[task]}, medians of {runs}")
    print(f"{'':26} {'seconds':>9} {'of ours':>8} {'user s':>8} {'of ours':>8} {'peak MB':>9} {'trust':>7}")
    middle = {name: {key: statistics.median(s[key] for s in said) for key in said[0]} for name, said in answers.items()}
    ours = middle["ours"]
    for name, m in middle.items():
        line = f"{name:26} {m['seconds']:9.2f} {m['seconds'] / ours['seconds']:8.1f} {m['user']:8.2f} {m['user'] / ours['user']:8.1f}"
        line += f" {m['mb']:9.0f}" if "mb" in m else f" {'':9}"
        line += f" {m['trustworthiness']:7.4f}" if "trustworthiness" in m else ""
        print(line, flush=True)


def main():
    if sys.argv[1:2] == ["--one"]:
        return one_peer(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--linkage", type=int, default=20_000, help="rows; 0 leaves it out")
    parser.add_argument("--umap", type=int, default=20_000, help="rows; 0 leaves it out")
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "-p", "iotriage-models", "--examples"]
    subprocess.run(build, check=True, cwd=ROOT)
    for task in PEERS:
        if getattr(options, task):
            compare(task, getattr(options, task), options.runs)


if __name__ == "__main__":
    main()
