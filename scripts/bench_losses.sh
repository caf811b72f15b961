#!/bin/sh
# Measures a step of each loss on this machine, from 256 embeddings of 512 dimensions to their
# gradient, and compares it with the same formula in PyTorch: the released code with its Q×G×G
# tensors, a version for the positives alone, and pytorch-metric-learning.
# Usage: scripts/bench_losses.sh [repeats]
#
# Galleries have 256 rows (the batch itself), 4,096 and 60,000 rows, in classes of 4, 16 and
# 200. sup-h-ap also has 12 coarse classes, so a twelfth of the gallery is positive. Each
# program has two threads. Each row runs in a process of its own, so its peak memory is its
# own too; PyTorch's includes its libraries. A time is the minimum over the repeats, because
# other work on the machine can only add to it. ~ marks a figure extrapolated from fewer
# queries, and - one that needs more than 12 GiB. The last table compares the rank operation
# alone with its plain definition, for one query at the larger sizes.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one). $SIZES and $POSITIVES select fewer rows, and PEERS=no leaves out PyTorch.
# $STATE names a file that keeps the measurements, so that a stopped run can continue.
set -eu
cd "$(dirname "$0")/.."
repeats=${1:-3}
sizes=${SIZES:-256 4096 60000}
positives=${POSITIVES:-4 16 200}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
state=${STATE:-$work/state}
touch "$state"
go test -c -o "$work/program" ./train/loss
python=
if [ "${PEERS:-yes}" = yes ]; then
	venv=${VENV:-$work/venv}
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
	python=$venv/bin/python
	"$python" -c 'import torch, pytorch_metric_learning' 2>/dev/null || {
		"$python" -m pip -q install torch==2.15.0
		"$python" -m pip -q install pytorch-metric-learning==2.9.0 numpy
	}
fi

# measure PATTERN RUNS: the least mean of RUNS over the repeats, with the other
# figures of that process.
measure() {
	i=0
	while [ "$i" -lt "$repeats" ]; do
		"$work/program" -test.run '^$' -test.bench "$1" -test.benchtime "$2" -test.timeout 60m | grep '^Benchmark'
		i=$((i + 1))
	done | sort -k3,3g | head -n 1
}

# value LINE UNIT: the number before a unit.
value() {
	echo "$1" | awk -v unit="$2" '{ for (i = 2; i <= NF; i++) if ($i == unit) { print $(i-1); exit } }'
}

# once COMMAND…: what it prints, measured in this run or in one before it.
once() {
	if line=$(grep -F "$*: " "$state"); then
		echo "${line#"$*: "}"
		return
	fi
	result=$("$@")
	echo "$*: $result" >>"$state"
	echo "$result"
}

# ratio OWN PEER: how many times as long the peer takes.
ratio() {
	awk -v own="$1" -v peer="${2%~}" 'BEGIN { if (peer + 0 > 0) printf "%.1f\n", peer / own; else print "-" }'
}

# own LOSS ITEMS POSITIVES: "ms MiB" of hgld.
own() {
	line=$(measure "^BenchmarkLoss\$/^$1\$/^256x$2\$/^$3\$/^threads=2\$" 3x)
	echo "$(awk -v ns="$(value "$line" ns/op)" 'BEGIN { printf "%.2f", ns / 1e6 }') $(value "$line" MiB-peak)"
}

# peer WAY LOSS ITEMS POSITIVES: "ms MiB" of PyTorch, ~ behind the time if reckoned.
peer() {
	[ -n "$python" ] || { echo "- -"; return; }
	OMP_NUM_THREADS=2 "$python" scripts/bench_losses.py "$@" "$repeats" 2>"$work/error" |
		awk '{ print $1 ($4 == "~" ? "~" : ""), $2 }' | grep . || { tail -n 1 "$work/error" >&2; echo "failed -"; }
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
row='%-18s %8s %10s %10s %6s %12s %6s %7s %13s %6s %7s\n'
printf "$row" loss gallery positives 'hgld ms' MiB 'Q×G×G ms' MiB times 'positives ms' MiB times
for loss in smooth-ap sup-ap sup-h-ap; do
	for items in $sizes; do
		for n in $positives; do
			set -- $(once own "$loss" "$items" "$n") $(once peer full "$loss" "$items" "$n") $(once peer positives "$loss" "$items" "$n")
			printf "$row" "$loss" "$items" "$n" "$1" "$2" "$3" "$4" "$(ratio "$1" "$3")" "$5" "$6" "$(ratio "$1" "$5")"
		done
	done
done
row='%-18s %8s %10s %10s %6s %12s %6s %7s\n'
echo
printf "$row" loss gallery positives 'hgld ms' MiB 'library ms' MiB times
for loss in fast-ap multi-similarity triplet calibration softbin-ap rambo-recall; do
	for items in $sizes; do
		for n in $positives; do
			peer="- -"
			case $loss in
			softbin-ap | rambo-recall) [ "$n" = 4 ] || continue ;; # the library has none
			fast-ap) [ "$items" != 256 ] || peer=$(once peer library "$loss" "$items" "$n") ;; # the library's has no gallery
			*) peer=$(once peer library "$loss" "$items" "$n") ;;
			esac
			set -- $(once own "$loss" "$items" "$n") $peer
			printf "$row" "$loss" "$items" "$n" "$1" "$2" "$3" "$4" "$(ratio "$1" "$3")"
		done
	done
done

# op LOSS ITEMS HOW RUNS: "µs MiB" of the rank op, for one query.
op() {
	line=$(measure "^BenchmarkRank\$/^$1\$/x$2\$/^$3\$" "$4")
	echo "$(value "$line" µs/query) $(value "$line" MiB-peak)"
}
row='%-18s %8s %14s %6s %14s %6s %7s\n'
echo
printf "$row" 'rank op' gallery 'fused µs' MiB 'plain µs' MiB times
for loss in smooth-ap sup-ap sup-h-ap; do
	for items in $sizes; do
		set -- $(once op "$loss" "$items" fused 5x) $(once op "$loss" "$items" plain 1x)
		printf "$row" "$loss" "$items" "$1" "$2" "$3" "$4" "$(ratio "$1" "$3")"
	done
done
