#!/usr/bin/env python3
"""Runs the slices of an hgld command as tasks of a Ray cluster, and then the command that finishes them.

    scripts/ray/slices.py 8 shards build --input photos.csv --levels fine,coarse --out /shared/photos
    scripts/ray/slices.py 8 embed-images --run runs/a --out /shared/photos.npy /shared/photos

The script appends the slice, such as --slice 3/8, to the command. All nodes have hgld on their PATH and share the folders. A task
whose node died, or that ended with a code that another start may change, runs again, three times at most.
"""

import os
import subprocess
import sys

import ray

AGAIN = (5, 11, 130)  # a temporary failure, a lock of a task that is still ending, a stop


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def run(command):
    p = subprocess.run(["hgld", *command], capture_output=True, text=True)
    if p.returncode in AGAIN or p.returncode < 0:
        raise RuntimeError(f"{command[-1]}: exit code {p.returncode}: {p.stderr[-500:]}")
    return p.returncode, p.stdout, p.stderr


def main():
    total, command = int(sys.argv[1]), sys.argv[2:]
    ray.init(address=os.environ.get("RAY_ADDRESS", "auto"), log_to_driver=False)
    failed = 0
    for code, out, err in ray.get([run.remote([*command, "--slice", f"{n}/{total}"]) for n in range(1, total + 1)]):
        print(out, end="")
        if code not in (0, 3):  # 3: some images were left out, which finish counts
            failed = code
            print(err, end="", file=sys.stderr)
    if failed:
        sys.exit(failed)
    finish = "finish" if command[0] == "shards" else f"finish/{total}"
    code, out, err = ray.get(run.remote([*command, "--slice", finish]))
    print(out, end="")
    print(err, end="", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
