#!/bin/sh
# Scrapes N made-up landmarks (304391, as many as GLDv2 has) through the API, and the
# first PAGES of them (20000) through their pages, and compares the tags.
#
#   scripts/bench_scrape.sh [N [PAGES]]
#
# Prints requests, wall time and peak memory. The limits are lifted (--rate 0); the
# server is hgld dev fake-wikimedia on this machine.
set -eu
n=${1:-304391}
pages=${2:-20000}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/hgld" ./cmd/hgld
cd "$work"
./hgld dev fake-wikimedia --port 0 --landmarks "$n" --no-limits 2>server.log &
server=$!
until grep -q 'serving them at' server.log; do sleep 1; done
url=$(sed -n 's/.*serving them at \(http[^ ]*\) .*/\1/p' server.log)
run() { # name, arguments
	name=$1
	shift
	/usr/bin/time -f '%e s, %M KiB at most' ./hgld scrape run --quiet --split train --base-url "$url" --wikidata-url "$url" \
		--rate 0 --state "$name" --out "$name.jsonl" "$@" >"$name.txt" 2>"$name.time" || { cat "$name.txt" "$name.time"; exit 1; }
	echo "$name: $(tail -1 "$name.time")"
	head -1 "$name.txt"
}
run api --source api
echo "api: $(./hgld scrape verify --quiet --split train --source api --base-url "$url" --wikidata-url "$url" --state api --out api.jsonl)"
run page --source page --limit "$pages"
tags() { sed 1d "$1" | head -n "$pages" | sed -n 's/^{"landmark_id":\([0-9]*\),.*"outcome":"\([a-z_]*\)"\(,"tag":"[^"]*"\)\{0,1\}.*/\1 \2 \3/p'; }
tags api.jsonl >a
tags page.jsonl >b
cmp a b && echo "the same outcome and tag of $(wc -l <a) landmarks through both"
