#!/bin/sh
# Times the losses on this machine: a step from embeddings to their gradient, and
# the rank op alone beside its plain definition. Each row is a process of its own,
# so that its peak memory is its own too. Usage: scripts/bench_losses.sh [repeats]
#
# The time printed is the least of the repeats: other work on the machine can only
# add to it. The plain definition is measured on one query of the larger sizes, so
# compare the columns for a query.
set -eu
cd "$(dirname "$0")/.."
repeats=${1:-3}
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go test -c -o "$program" ./train/loss

# measure PATTERN RUNS: the least mean of RUNS over the repeats, with the other
# figures of that process.
measure() {
	i=0
	while [ "$i" -lt "$repeats" ]; do
		"$program" -test.run '^$' -test.bench "$1" -test.benchtime "$2" -test.timeout 60m | grep '^Benchmark'
		i=$((i + 1))
	done | sort -k3,3g | head -n 1
}

# value LINE UNIT: the number before a unit.
value() {
	echo "$1" | awk -v unit="$2" '{ for (i = 2; i <= NF; i++) if ($i == unit) { print $(i-1); exit } }'
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
printf '%-10s %-10s %8s %12s %10s\n' loss size threads ms MiB
for loss in smooth-ap sup-ap sup-h-ap; do
	for rows in 256 4096 60000; do
		for threads in 1 2; do
			line=$(measure "^BenchmarkLoss\$/^$loss\$/^256x$rows\$/^threads=$threads\$" 5x)
			ns=$(value "$line" ns/op)
			printf '%-10s %-10s %8s %12s %10s\n' "$loss" "256x$rows" "$threads" \
				"$(awk -v ns="$ns" 'BEGIN { printf "%.2f", ns / 1e6 }')" "$(value "$line" MiB-peak)"
		done
	done
done
printf '\n%-10s %-10s %-6s %14s %10s\n' loss size op 'µs/query' MiB
for loss in smooth-ap sup-ap sup-h-ap; do
	for rows in 256 4096 60000; do
		for op in fused plain; do
			runs=5x
			[ "$op" = fused ] || runs=1x
			line=$(measure "^BenchmarkRank\$/^$loss\$/x$rows\$/^$op\$" "$runs")
			printf '%-10s %-10s %-6s %14s %10s\n' "$loss" "256x$rows" "$op" "$(value "$line" µs/query)" "$(value "$line" MiB-peak)"
		done
	done
done
