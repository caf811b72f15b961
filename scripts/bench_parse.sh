#!/bin/sh
# Compares parsing a category page and a Wikidata reply with lxml, selectolax and orjson: on
# one core, the same bytes, one program after the other in one run.
# Usage: scripts/bench_parse.sh [seconds a measurement, 3] > scripts/results/parse.md
#
# The rows are: the saved infobox of 4 kB; a page of 107 kB whose infobox comes after a third
# of the rest; the same page without the row, so that all of it is read; the claims of fifty
# saved items; and those of fifty made-up items of 4 kB. The times are user time, which other
# work on the machine disturbs less than wall time.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one).
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import lxml, selectolax, orjson' 2>/dev/null ||
	"$venv/bin/python" -m pip -q install lxml==6.1.3 selectolax==1.0.2 orjson==3.13.0
mkdir "$work/in"
core=
command -v taskset >/dev/null && core="taskset -c 0"

# own PACKAGE BENCHMARK: "wall-calls/s user-calls/s bytes" of hgld; its input stays in $work/in.
own() {
	go test -c -o "$work/program" "./scrape/$1"
	(cd "scrape/$1" && HGLD_BENCH_INPUTS="$work/in" $core "$work/program" -test.run '^$' -test.bench "^Benchmark$2\$" -test.cpu 1 -test.benchtime "${seconds}s") |
		awk '/^Benchmark/ { for (i = 2; i <= NF; i++) { if ($i == "ns/op") wall = 1e9 / $(i-1); if ($i == "calls/user-s") user = $(i-1) } print wall, user }'
}

# line WHAT WHO WALL USER BYTES: a row of the table.
line() {
	awk -v what="$1" -v who="$2" -v wall="$3" -v user="$4" -v bytes="$5" 'BEGIN {
		printf "| %s | %s | %.0f | %.0f | %.0f | %.0f |\n", what, who, wall, user, wall * bytes / 1e6, user * bytes / 1e6 }'
}

# measure PACKAGE BENCHMARK WHAT PEER…
measure() {
	package=$1 benchmark=$2 what=$3
	shift 3
	figures=$(own "$package" "$benchmark")
	bytes=$(wc -c <"$work/in/$benchmark")
	line "$what, $((bytes / 1000)) kB" hgld $figures "$bytes"
	for peer in "$@"; do
		set -- $($core "$venv/bin/python" scripts/bench_parse.py "$peer" "$work/in/$benchmark" "$seconds")
		line "" "$peer" "$1" "$2" "$3"
	done
}

echo "# Reading pages and replies"
echo
echo "\`scripts/bench_parse.sh $seconds\` at commit $(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo ' (modified)'), $(go version | cut -d' ' -f3-),"
echo "$("$venv/bin/python" -m pip list --format freeze 2>/dev/null | grep -E '^(lxml|selectolax|orjson)=' | tr '\n' ' ')"
echo "$("$venv/bin/python" --version), one of $(getconf _NPROCESSORS_ONLN) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1), load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)."
echo
echo "| | | calls/s, wall | calls/s, user time | MB/s, wall | MB/s, user time |"
echo "|---|---|---|---|---|---|"
measure page Infobox "infobox" lxml selectolax
measure page Page "page" lxml selectolax
measure page PageWithoutTag "page without the row" lxml selectolax
measure api Entities "saved items" orjson json
measure api Landmarks "made-up items" orjson json
