"""The rounds and the table of scripts/bench_shards.

bench_shards.py DATA HGLD TEST_BINARY PEERS ROUNDS   DATA as gen.py of the peers makes it
"""
import json, os, re, shutil, subprocess, sys, tempfile, time

data, hgld, tests, peers, rounds = sys.argv[1:]
bytes_in = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(f"{data}/shardin") for f in files)
shards = f"{data}/shardout/hgld"
best = {}  # of a job and a program: least seconds, least processor seconds, most memory, work, unit


def keep(job, program, seconds, cpu, memory, work, unit):
    s, c, m, *_ = best.get((job, program), (seconds, cpu, memory))
    best[job, program] = min(s, seconds), min(c, cpu), max(m, memory), work, unit


def measured(command, **options):
    """Runs a command. Returns its output, seconds, processor seconds and memory in MB."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode:
        sys.exit(f"{command}: exit code {child.returncode}\n{text}")
    return text, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def write_own():
    shutil.rmtree(shards, ignore_errors=True)
    _, *figures = measured([hgld, "shards", "build", "--quiet", "--input", f"{data}/shardin.csv", "--images",
                            f"{data}/shardin", "--levels", "hierarchical_label,natural_or_human_made", "--short-side", "0",
                            "-o", "headers_only=true", "--out", shards])
    keep("write", "hgld", *figures, bytes_in / 1e6, "MB")


def read_own(job, benchmark, times, unit):
    """The benchmarks say work by the second and by the processor second; memory is that of the whole process."""
    text, _, _, memory = measured([tests, "-test.run", "^$", "-test.bench", benchmark, "-test.benchtime", times, "-test.cpu",
                                   "1"], env=dict(os.environ, HGLD_BENCH_SHARDS=shards), cwd=os.environ["SHARDS_DIR"])
    rate, cpu = (float(re.search(rf"([\d.e+]+) {unit}/{per}\b", text)[1]) for per in ("s", "cpu-s"))
    keep(job, "hgld", 1 / rate, 1 / cpu, memory, 1, unit)


def peer(job, name):
    text, *_ = measured([sys.executable, f"{peers}/bench_shards.py", "--data", data, "--n", "1", "--peers", f"{job} {name}"],
                        cwd=peers)
    for line in text.splitlines():
        if line.startswith("{"):
            r = json.loads(line)
            if r["status"] != "ok":
                sys.exit(f"{r['peer']}: {r['status']}: {r.get('note')}")
            work = bytes_in / 1e6 if r["unit"] == "MB/s" else r["throughput"] * r["seconds"]
            keep(job, r["version"].split(" (")[0], r["seconds"], r["cpu_s"], r["peak_rss_mb"], work, r["unit"][:-2])


for _ in range(int(rounds)):
    write_own()
    peer("write", "pyarrow")
    peer("write", "HF datasets")
    read_own("scan", "^BenchmarkScan$/^images$", "3x", "MB")
    peer("scan", "pyarrow")
    peer("scan", "HF datasets")
    read_own("random", "^BenchmarkRandomImage$/^reused", "10000x", "images")
    peer("random", "pyarrow row group")
    peer("random", "HF datasets")

print(f"\n{bytes_in / 1e6:.0f} MB of JPEGs of 768 × 576; the best of {rounds} rounds.\n")
print("| job | program | rate | hgld beside it | rate of a processor second | hgld beside it | peak memory, MB |")
print("|---|---|---|---|---|---|---|")
for (job, program), (seconds, cpu, memory, work, unit) in best.items():
    own_s, own_c, _, own_work, _ = best[job, "hgld"]
    wall, used = work / seconds, work / cpu
    beside = ["–"] * 2 if program == "hgld" else [f"{own_work / own_s / wall:.2f}", f"{own_work / own_c / used:.2f}"]
    unit = unit.replace("img", "images")
    print(f"| {job} | {program} | {wall:,.0f} {unit}/s | {beside[0]} | {used:,.0f} | {beside[1]} | {memory:.0f} |")
