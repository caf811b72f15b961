#!/bin/sh
# Compares the evaluation of vectors with other programs on the same files, in time and peak
# memory: the matrix products alone, faiss' search for the first 1,001, a full ranking in
# PyTorch in blocks of 256, and pytorch-metric-learning.
# Usage: scripts/bench_eval.sh [repeats] >scripts/results/eval.md
#
# hgld's time includes reading the files and all default metrics at two levels. faiss only
# searches. The full ranking computes R@1, R@10, AP and mAP@R, and pytorch-metric-learning four
# metrics of one level. Each program has two threads, and each row runs in a process of its own.
# The programs take turns. A time is the minimum over the repeats, because other work on the
# machine can only add to it. Other work disturbs CPU seconds less than the clock, so the table
# has both ratios. The share of the peak compares the products of all queries with the gallery
# to the rate of a 4096 x 4096 x 4096 product in PyTorch. A second table splits hgld's time by
# the clock, which says little on a busy machine.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one). $SIZES sets the numbers of vectors of 512 numbers, and $PEERS the programs.
# LARGE=yes also ranks 762,000 vectors of 2,048 numbers for 1,100 queries, at three levels of
# which the coarsest has two classes. That takes 3 GB on disk as float16, or 6 GB with
# DTYPE=float32. $LARGE_PEERS names the programs for it; faiss needs 14 GB of memory.
set -eu
cd "$(dirname "$0")/.."
repeats=${1:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
python=$venv/bin/python
"$python" -c 'import torch, faiss, pytorch_metric_learning, sklearn' 2>/dev/null || {
	"$python" -m pip -q install torch==2.15.0
	"$python" -m pip -q install pytorch-metric-learning==2.9.0 faiss-cpu==1.15.1 scikit-learn==1.9.1 numpy==2.4.6
}
go build -o "$work/hgld" ./cmd/hgld

# run PROGRAM FOLDER: measure a program once, and keep what it prints beside the folder.
run() {
	binary=
	[ "$1" != hgld ] || binary=$work/hgld
	OMP_NUM_THREADS=2 "$python" scripts/bench_eval.py "$1" "$2" $binary >>"$2.$1" 2>"$work/error" ||
		echo "$1 on $(basename "$2"): $(tail -n 1 "$work/error")" >&2
}

# least FILE COLUMN: the least number of a column; nothing if the program failed.
least() {
	cut -d' ' -f"$2" "$1" | sort -g | head -n 1
}

# parts NAME FILE: print a row for each part of hgld's evaluation. What the products would take at the
# rate of the peak is the measure of the others.
parts() {
	column=6
	for part in reading products ranking metrics; do
		echo "$(least "$2" $column) $(least "$2" 4)" | awk -v name="$1" -v part="$part" -v rate="$clock" '{
			share = part == "products" ? sprintf("%.0f %%", 100 * $2 / $1 / rate) : ""
			printf "| %s | %s | %.2f | %.2f | %s |\n", name, part, $1, $1 * rate / $2, share }'
		column=$((column + 1))
	done
	echo "| $1 | pages of files at the peak of memory, MiB | $(least "$2" 5) | | |"
}

# size NAME PROGRAMS NUMBERS…: measure the programs in turns, and print a row for each.
size() {
	name=$1 programs=$2 of=$work/$1
	shift 2
	"$python" scripts/bench_eval.py make "$of" "$@"
	i=0
	while [ "$i" -lt "$repeats" ]; do
		for program in $programs; do
			run "$program" "$of"
		done
		i=$((i + 1))
	done
	for program in $programs; do
		echo "$(least "$of.$program" 1) $(least "$of.$program" 2) $(least "$of.$program" 3) $(least "$of.$program" 4)" |
			awk -v name="$name" -v program="$program" -v bare="$(least "$of.products" 1)" \
				-v used="$(least "$of.products" 2)" -v rate="$rate" '
			NF < 4 { printf "| %s | %s | failed | | | | | |\n", name, program; next }
			{
				times = used ? sprintf("%.2f | %.2f", $1 / bare, $2 / used) : "|" # products may not be among the programs
				printf "| %s | %s | %s | %s | %s | %s | %.0f %% |\n", name, program, $1, $2, $3, times, 100 * $4 / $2 / rate
			}'
	done
	[ ! -s "$of.hgld" ] || parts "$name" "$of.hgld" >>"$work/parts"
	rm -rf "$of"
}

: >"$work/peak.peak"
: >"$work/parts"
i=0
while [ "$i" -lt "$repeats" ]; do
	run peak "$work/peak"
	i=$((i + 1))
done
rate=$(awk -v s="$(least "$work/peak.peak" 2)" -v w="$(least "$work/peak.peak" 4)" 'BEGIN { print w / s }')
clock=$(awk -v s="$(least "$work/peak.peak" 1)" -v w="$(least "$work/peak.peak" 4)" 'BEGIN { print w / s }')
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
echo "# Evaluation: what was measured"
echo
echo "\`scripts/bench_eval.sh $repeats\` at commit $commit: ${cpu:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) processors, load"
echo "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown); $(go version | cut -d' ' -f3-); $("$python" -m pip freeze 2>/dev/null | grep -E '^(torch|faiss-cpu|pytorch-metric-learning|numpy)=' | tr '\n' ' ')."
echo "A product of 4096 × 4096 × 4096 reaches $(printf '%.0f' "$rate") GFLOP in a second of a processor."
echo
echo '| vectors | program | seconds | of the processors | MiB | times the products | by the processors | share of the peak |'
echo '|---|---|---|---|---|---|---|---|'
for n in ${SIZES:-5000 20000 60502}; do
	size "$n" "${PEERS:-products hgld faiss full pml}" "$n" 512
done
if [ "${LARGE:-no}" = yes ]; then
	size 1100x762000 "${LARGE_PEERS:-products hgld faiss}" 1100 762000 2048
fi
echo
echo "Where the time of hgld goes, by the clock:"
echo
echo '| vectors | part | seconds | times the products at the peak | share of the peak |'
echo '|---|---|---|---|---|'
cat "$work/parts"
