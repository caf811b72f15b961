#!/usr/bin/env bash
# Measures the page of `hgld curate serve` in a real browser. Prints medians and 95th
# percentiles of the time from a key to the frame that shows its effect and to the screen
# (Event Timing), the main thread's time per key, the time from a key to "saved #n" and the
# server's share of it, first paint, and the server's memory. The first line is the floor:
# a page that changes one text per key, in the same browser at the same time. Then it
# counts the actions that a greedy curator needs for the real labels.
#   scripts/bench_curate.sh [LABELS..., 5700 57000]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -o "$work/hgld" ./cmd/hgld
for labels in "${@:-5700 57000}"; do
  for n in $labels; do
    HGLD_BINARY="$work/hgld" HGLD_BENCH_LABELS=$n go test -count=1 -tags browser -timeout 10m -run '^TestKeyTimes$' -v ./curate/serve/browsertest | grep -E 'labels:|^(FAIL|ok)'
  done
done
go test -count=1 -run TestGreedyCurator -v ./cmd/hgld | grep -E 'actions|^(FAIL|ok)'
