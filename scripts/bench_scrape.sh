#!/bin/sh
# Scrapes N made-up landmarks (304391, as many as GLDv2 has) through the API, and the
# first PAGES of them (20000) through their pages, and compares every outcome and tag
# with what the made-up Wikimedia says they are.
#
#   scripts/bench_scrape.sh [N [PAGES]] | tee -a scripts/results/scrape.md
#
# Prints requests, wall and user time and peak memory. The limits are lifted (--rate 0);
# the server is hgld dev fake-wikimedia on this machine, and its time is not counted in.
set -eu
n=${1:-304391}
pages=${2:-20000}
cd "$(dirname "$0")/.."
about="commit $(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo ' (modified)'), $(getconf _NPROCESSORS_ONLN) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)"
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/hgld" ./cmd/hgld
cd "$work"
./hgld dev fake-wikimedia --port 0 --landmarks "$n" --no-limits --expect expected.csv 2>server.log &
server=$!
until grep -q 'serving them at' server.log; do sleep 1; done
url=$(sed -n 's/.*serving them at \(http[^ ]*\) .*/\1/p' server.log)
echo "$n landmarks at $about, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown):"
echo

# run NAME ARGUMENTS…: a scrape into the state NAME.
run() {
	name=$1
	shift
	/usr/bin/time -f '%e s on the wall, %U s user, %M KiB at most' ./hgld scrape run --split train --base-url "$url" \
		--wikidata-url "$url" --rate 0 --state "$name" --out "$name.jsonl" "$@" >"$name.txt" 2>"$name.log" ||
		{ cat "$name.txt" "$name.log"; exit 1; }
	echo "- $name: $(grep -o '[0-9]* requests* sent' "$name.log"), $(tail -1 "$name.log")"
	echo "  $(head -1 "$name.txt")"
}

# compare NAME N: the first N outcomes and tags are those of the site.
compare() {
	sed 1d "$1.jsonl" | sed -n 's/^{"landmark_id":\([0-9]*\),.*"outcome":"\([a-z_]*\)"\(,"tag":"\([^"]*\)"\)\{0,1\}.*/\1,\2,\4/p' >"$1.got"
	sed 1d expected.csv | head -n "$2" >"$1.want"
	cmp "$1.got" "$1.want"
	echo "  $(wc -l <"$1.got") outcomes and tags, each that of the site"
}
run api --source api
compare api "$n"
echo "  $(./hgld scrape verify --quiet --split train --source api --base-url "$url" --wikidata-url "$url" --state api --out api.jsonl)"
run page --source page --limit "$pages"
compare page "$((pages < n ? pages : n))"
echo
