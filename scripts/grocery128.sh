#!/usr/bin/env bash
# Trains a small network on real photographs with a binary and with a
# hierarchical loss, and prints one table: the Grocery Store Dataset (Klasson et
# al., WACV 2019), 5,421 photographs of 81 products in 43 kinds in 3 groups.
#
#   scripts/grocery128.sh               about ten minutes on two cores
#   STEPS=50 scripts/grocery128.sh      a trial
#
# Two protocols. "open": a third of the products, chosen by seed within their
# kind, is held out of the training; the held-out photographs of all splits are
# queries and gallery, each query left out of its own ranking. "split": the
# published split; the test photographs rank the training photographs.
#
# Photographs come in bursts: two of one shelf are near duplicates, so that R@1 is
# high before any training in the open protocol. Both losses have the same network,
# batches, optimizer and number of steps; the learning rate is the better of 1e-3
# and 3e-3 for either.
#
# Reads $HGLD_SHARED/data/grocery128 (default ../shared), writes
# scripts/results/grocery128.md, and keeps its runs in $WORK: the same command
# again continues.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
shared=$(cd "${HGLD_SHARED:-$root/../shared}" && pwd)
WORK=${WORK:-${TMPDIR:-/tmp}/hgld-grocery128}
STEPS=${STEPS:-1000}
began=$(date +%s)

mkdir -p "$WORK" scripts/results
CGO_ENABLED=0 go build -o "$WORK/hgld" ./cmd/hgld
cd "$WORK"
cat > hgld.yaml <<EOF
hgld: 1
train:
  data: shards
  steps: $STEPS
  seed: 1
  input: {size: 64, resize: 72}
  model: {backbone: {name: convnet}, pooling: gem, standard: layernorm, dim: 128}
  sampler: {name: m-per-class, batch: 64, m: 4}
  optim: {name: adam, lr: 1.0e-3, proxy_lr: 1.0e-2, weight_decay: 1.0e-4}
  schedule: {name: cosine}
  run: {checkpoint: 250, keep: 1}
EOF

./hgld shards build --dataset csv --input "$shared/data/grocery128/manifest.csv" \
	--images "$shared/data/grocery128/grocery128.zip" --levels fine,coarse,top --out shards --quiet > /dev/null

open=(--splits train,val,test --hold-out 0.3333333333333333 --hold-out-seed 1)
split=(--splits train --query test --gallery train)
for loss in smooth-ap happier; do
	./hgld train run -o "loss.name=$loss" --out "runs/open-$loss" "${open[@]}" --quiet > /dev/null
	./hgld train run -o "loss.name=$loss" --out "runs/split-$loss" "${split[@]}" --quiet > /dev/null
done
for protocol in open split; do
	./hgld eval run --run "runs/$protocol-smooth-ap" --untrained --out "$protocol-untrained.json" --quiet > /dev/null
	for loss in smooth-ap happier; do
		cp "runs/$protocol-$loss/eval.json" "$protocol-$loss.json" # of the end of the run
	done
done

# percent FILE KEY prints a mean of a result as the tables do.
percent() {
	awk -v key="\"$2\"," '$1 == "\"key\":" { found = $2 == key } $1 == "\"mean\":" && found { printf "%.2f", 100 * $2 }' "$1"
}
counts() { awk '$1 == "\"queries\":" { q = $2 + 0 } $1 == "\"gallery\":" { g = $2 + 0 } END { print q " queries, " g " in the gallery" }' "$1"; }

table() {
	local protocol=$1 model level row
	echo "| model | fine R@1 | mAP@R | coarse R@1 | mAP@R | top R@1 | mAP@R | H-AP | ASI | NDCG |"
	echo "|---|---|---|---|---|---|---|---|---|---|"
	for model in untrained smooth-ap happier; do
		row="| $model |"
		for level in 0 1 2; do
			row+=" $(percent "$protocol-$model.json" "R@1_level$level") | $(percent "$protocol-$model.json" "mAP@R_level$level") |"
		done
		echo "$row $(percent "$protocol-$model.json" H-AP) | $(percent "$protocol-$model.json" ASI) | $(percent "$protocol-$model.json" NDCG) |"
	done
}

{
	echo "# Grocery Store Dataset: a binary and a hierarchical loss"
	echo
	echo "Written by \`scripts/grocery128.sh\`: a convnet with 0.26 million parameters, photographs of 64 × 64 pixels, $STEPS steps of 64, in %."
	echo
	echo "Open: a third of the products is held out; $(counts open-happier.json), each left out of its own ranking."
	echo
	table open
	echo
	echo "Split: the published test split ranks the training split; $(counts split-happier.json)."
	echo
	table split
	echo
	echo "Machine: $(nproc) cores, $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo 2> /dev/null || uname -m)." \
		"Commit: $(git -C "$root" rev-parse --short HEAD 2> /dev/null || echo none)." \
		"Date: $(date -u +%F). Time: $(($(date +%s) - began)) s."
} > result.md
cp result.md "$root/scripts/results/grocery128.md"
cat result.md
