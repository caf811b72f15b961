#!/bin/sh
# An evaluation of vectors on this machine, time and peak memory, beside other programs on the
# same files: the products of all queries with the gallery alone, faiss' search of the first
# 1,001, a full ranking in PyTorch in blocks of 256, and pytorch-metric-learning.
# Usage: scripts/bench_eval.sh [repeats]
#
# hgld measures all its default metrics at two levels and reads its files within the time; faiss
# only searches; the full ranking measures R@1, R@10, AP and mAP@R, pytorch-metric-learning four
# metrics of one level. Two threads each. A row is a process of its own. The programs take turns,
# and the time is the least of the repeats, because other work on the machine can only add to it.
#
# Needs Python 3 and pip; the packages go into a virtual environment in $VENV (default: a
# temporary one). $SIZES names other numbers of vectors of 512 numbers, $PEERS other programs.
# With LARGE=yes 1,100 queries are ranked against 762,000 vectors of 2,048 numbers too, which
# takes 7 GB on disk and 16 GB of memory; $LARGE_PEERS names the programs.
set -eu
cd "$(dirname "$0")/.."
repeats=${1:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
python=$venv/bin/python
"$python" -c 'import torch, faiss, pytorch_metric_learning' 2>/dev/null || {
	"$python" -m pip -q install torch==2.15.0
	"$python" -m pip -q install pytorch-metric-learning==2.9.0 faiss-cpu==1.15.1 numpy==2.4.6
}
go build -o "$work/hgld" ./cmd/hgld

# least PROGRAM SIZE: the least of what was measured.
least() {
	sort -g "$work/$2.$1" | head -n 1 | grep . || echo "failed -"
}

# size NAME PROGRAMS NUMBERS…: measure the programs in turns, and print a row for each.
size() {
	name=$1 programs=$2
	shift 2
	"$python" scripts/bench_eval.py make "$work/$name" "$@"
	i=0
	while [ "$i" -lt "$repeats" ]; do
		for program in $programs; do
			binary=
			[ "$program" != hgld ] || binary=$work/hgld
			OMP_NUM_THREADS=2 "$python" scripts/bench_eval.py "$program" "$work/$name" $binary \
				>>"$work/$name.$program" 2>"$work/error" || tail -n 1 "$work/error" >&2
		done
		i=$((i + 1))
	done
	bare=$(least products "$name" | cut -d' ' -f1)
	for program in $programs; do
		set -- $(least "$program" "$name")
		printf '| %s | %s | %s | %s | %s |\n' "$name" "$program" "$1" "$2" \
			"$(awk -v s="$1" -v b="$bare" 'BEGIN { if (b + 0 > 0 && s + 0 > 0) printf "%.2f", s / b; else print "-" }')"
	done
	rm -rf "${work:?}/$name"
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown); $("$python" -m pip freeze | grep -E '^(torch|faiss-cpu|pytorch-metric-learning|numpy)=' | tr '\n' ' ')"
echo
echo '| vectors | program | seconds | MiB | times the products |'
echo '|---|---|---|---|---|'
for n in ${SIZES:-5000 20000 60502}; do
	size "$n" "${PEERS:-products hgld faiss full pml}" "$n" 512
done
if [ "${LARGE:-no}" = yes ]; then
	size 1100x762000 "${LARGE_PEERS:-products hgld faiss}" 1100 762000 2048
fi
