#!/bin/sh
# Compares k-means and Ward clustering with scikit-learn and faiss on this machine's CPU,
# with two threads: seconds, CPU seconds and inertia (for Ward, the inertia of its cut).
# Usage: scripts/bench_cluster.sh [rounds] [large]
#
# Each row runs in a process of its own. hgld and the peers take turns, round by round,
# because machines drift. The table shows the best round. "large" adds 100,000 × 512 into
# 500 clusters, which takes the peers minutes.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one). The peers' program is $HGLD_SHARED/bench/peers.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
shared=$(cd "${HGLD_SHARED:-$root/../shared}" && pwd)
rounds=${1:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv"
fi
"$venv/bin/python" -c 'import sklearn, faiss' 2>/dev/null ||
	"$venv/bin/pip" -q install numpy==2.4.6 scikit-learn==1.9.1 faiss-cpu==1.15.1
sizes=5700x512
if [ "${2:-}" = large ]; then
	sizes=5700x512,100000x512
fi
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 GOMAXPROCS=2
"$venv/bin/python" "$shared/bench/peers/gen.py" --data "$work" --what kmeans --km "$sizes" >/dev/null
(cd "$root" && CGO_ENABLED=0 go test -c -o "$work/cluster.test" ./cluster)

# hgld SHAPE BENCHMARK: "seconds CPU-seconds inertia" of one run; the CPU's also
# read the rows.
hgld() {
	HGLD_BENCH_ROWS=$work/km_$1.npy "$venv/bin/python" -c '
import re, resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(float(re.findall(r"([\d.]+) ns/op", out)[0]) / 1e9, used.ru_utime + used.ru_stime, re.findall(r"([\d.]+) inertia", out)[0])' \
		"$work/cluster.test" -test.run '^$' -test.benchtime 1x -test.bench "$2"
}

# peer SHAPE CASE: the same of a peer; CASE is the rest of its JSON.
peer() {
	(cd "$shared/bench/peers" && "$venv/bin/python" bench_kmeans.py --data "$work" --n 1 \
		--child "{\"shape\": \"$1\", \"threads\": 2, \"use\": \"\", $2}") |
		sed -n 's/^@@//p' | "$venv/bin/python" -c '
import json, re, sys
r = json.loads(sys.stdin.readline())
print(r["seconds"], r["cpu_s"], re.findall(r"(?:inertia|sum) ([\d.]+)", r["note"])[0])'
}

# row NAME FILE: the least of both times in a file, and the inertia.
row() {
	awk -v name="$1" '!s || $1 < s { s = $1 } !c || $2 < c { c = $2 } { v = $3 }
		END { printf "%-44s %8.3f %8.3f %12.2f\n", name, s, c, v }' "$2"
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
printf '%-44s %8s %8s %12s\n' 'the best of the rounds' seconds CPU inertia
for shape in $(echo "$sizes" | tr , ' '); do
	k=200
	starts='1 10'
	if [ "$shape" = 100000x512 ]; then
		k=500
		starts=1
	fi
	for n in $starts; do
		: >"$work/own" ; : >"$work/faiss" ; : >"$work/sklearn"
		for _ in $(seq "$rounds"); do
			hgld "$shape" "^BenchmarkKMeans\$/^$shape\$/^k=$k\$/^starts=$n\$/^elkan\$" >>"$work/own"
			peer "$shape" "\"peer\": \"faiss Kmeans\", \"k\": $k, \"n_init\": $n" >>"$work/faiss"
			peer "$shape" "\"peer\": \"sklearn lloyd\", \"alg\": \"lloyd\", \"k\": $k, \"n_init\": $n" >>"$work/sklearn"
		done
		row "$shape, k = $k, $n starts: hgld" "$work/own"
		if [ "$k" = 500 ]; then
			hgld "$shape" "^BenchmarkKMeans\$/^$shape\$/^k=$k\$/^starts=$n\$/^elkan-25\$" >"$work/short"
			row "    hgld, 25 iterations as faiss" "$work/short"
		fi
		row "    faiss" "$work/faiss"
		row "    scikit-learn" "$work/sklearn"
	done
done
: >"$work/own" ; : >"$work/sklearn"
for _ in $(seq "$rounds"); do
	hgld 5700x512 '^BenchmarkAgglomerate$/^ward$' >>"$work/own"
	peer 5700x512 '"peer": "ward sklearn", "alg": "sklearn", "k": 200, "n_init": 1' >>"$work/sklearn"
done
row "5700x512, Ward cut into 200: hgld" "$work/own"
row "    scikit-learn" "$work/sklearn"
