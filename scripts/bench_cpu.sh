#!/bin/sh
# Compares a training step with PyTorch on this machine's CPU: forward, cross-entropy over
# 1,000 classes, backward and Adam, in float32, on random pixels in memory, with two
# threads. Usage: scripts/bench_cpu.sh [rounds [model]]. model is the beginning of a row's
# name; without it, all rows run.
#
# Each row runs in a process of its own, so its peak memory is its own too. hgld and
# PyTorch take turns, round by round, because machines drift. The table shows the best
# round and the ratio of the best. hgld runs with its own kernels and, if it is installed,
# with OpenBLAS. PyTorch runs in the layout that is faster here, contiguous or
# channels_last, in eager mode.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one). The peer's program is $HGLD_SHARED/bench/peers.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
shared=$(cd "${HGLD_SHARED:-$root/../shared}" && pwd)
rounds=${1:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv"
fi
"$venv/bin/python" -c 'import torch, torchvision, timm' 2>/dev/null ||
	"$venv/bin/pip" -q install torch==2.15.0 torchvision==0.29.2 timm==1.0.31
(cd "$root" && CGO_ENABLED=0 go test -c -o "$work/backbone.test" ./train/backbone)

# hgld BLAS MODEL SIZE: "images/s MiB" of a steady step.
hgld() {
	HGLD_BLAS=$1 "$work/backbone.test" -test.run '^$' -test.benchtime 3x \
		-test.bench "^BenchmarkStep\$/^$2\$/^$3\$/^threads=2\$" 2>"$work/error" |
		awk '/^Benchmark/ { for (i = 2; i <= NF; i++) { if ($i == "img/s") r = $(i-1); if ($i == "MiB-peak") m = $(i-1) }
			print r, m }'
}

# peer NAME MODEL SIZE BATCH: the same of PyTorch.
peer() {
	(cd "$shared/bench/peers" && PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 "$venv/bin/python" bench_train.py \
		--n 3 --child "{\"peer\": \"$1\", \"model\": \"$2\", \"res\": $3, \"batch\": $4, \"threads\": 2}") |
		sed -n 's/^@@//p' | "$venv/bin/python" -c '
import json, sys
r = json.loads(sys.stdin.readline())
print(r.get("throughput", 0), r.get("peak_rss_mb", 0))'
}

# best FILE: the fastest row of a file, and the least memory of all rows.
best() {
	awk '$1 > r { r = $1 } !m || $2 < m { m = $2 } END { print r + 0, m + 0 }' "$1"
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
printf '%-22s %10s %10s %10s %7s %7s %9s %9s %7s\n' step PyTorch hgld OpenBLAS ratio ratio 'MiB' 'MiB hgld' ratio
while read -r model size peermodel batch; do
	case $model in "${2:-}"*) ;; *) continue ;; esac
	: >"$work/own" ; : >"$work/open" ; : >"$work/torch"
	for _ in $(seq "$rounds"); do
		hgld native "$model" "$size" >>"$work/own"
		hgld openblas "$model" "$size" >>"$work/open"
		peer "torch eager" "$peermodel" "$size" "$batch" >>"$work/torch"
		case $model in
		resnet*) peer "torch eager channels_last" "$peermodel" "$size" "$batch" >>"$work/torch" ;;
		esac
	done
	echo "$model $size $(best "$work/torch") $(best "$work/own") $(best "$work/open")" |
		awk '{ printf "%-22s %10.2f %10.2f %10.2f %7.2f %7.2f %9.0f %9.0f %7.2f\n",
			$1 " " $2, $3, $5, $7, $5/$3, $7/$3, $4, $6, $6/$4 }'
done <<'ROWS'
resnet18 64 resnet18 32
resnet50 64 resnet50 32
resnet50 224 resnet50 16
deit-small 224 deit_small_patch16_224 16
ROWS
