#!/usr/bin/env bash
# Compares mixed precision with float32: a small network trains for STEPS steps (100) on
# the Grocery Store Dataset in both, with SEEDS (1 2 3), and the published test split
# ranks the training split.
#
#   scripts/mixed.sh | tee scripts/results/mixed.md
#
# On a CPU, bfloat16 is the storage of activations only: package bf16 computes in
# float32. The table therefore shows what the rounding of activations does to a training.
set -euo pipefail
cd "$(dirname "$0")/.."
shared=$(cd "${HGLD_SHARED:-$PWD/../shared}" && pwd)
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo ' (modified)')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -o "$work/hgld" ./cmd/hgld
cd "$work"
cat > hgld.yaml <<YAML
hgld: 1
train:
  data: shards
  steps: ${STEPS:-100}
  input: {size: 64, resize: 72}
  model: {backbone: {name: convnet}, pooling: gem, standard: layernorm, dim: 128}
  loss: {name: happier}
  sampler: {name: m-per-class, batch: 64, m: 4}
  optim: {name: adam, lr: 1.0e-3, weight_decay: 1.0e-4}
  schedule: {name: cosine}
YAML
./hgld shards build --dataset csv --input "$shared/data/grocery128/manifest.csv" \
	--images "$shared/data/grocery128/grocery128.zip" --levels fine,coarse,top --out shards --quiet > /dev/null
for seed in ${SEEDS:-1 2 3}; do
	for precision in float32 bfloat16; do
		./hgld train run -o "seed=$seed" -o "model.precision=$precision" --out "runs/$precision-$seed" \
			--splits train --query test --gallery train --quiet > /dev/null
	done
done
cat <<MD
# Mixed precision beside float32

Written by \`scripts/mixed.sh\`: convnet, HAPPIER, ${STEPS:-100} steps of 64 photographs of 64 × 64 of the Grocery Store
Dataset, seeds ${SEEDS:-1 2 3}; the test split ranks the training split. Values in %.

| seed | precision | mAP@R fine | mAP@R coarse | mAP@R top | H-AP | NDCG |
|---|---|---|---|---|---|---|
MD
# percent FILE KEY prints a mean of a result.
percent() { jq -r --arg key "$2" '.metrics[] | select(.key == $key).mean * 10000 | round / 100' "$1"; }
for seed in ${SEEDS:-1 2 3}; do
	for precision in float32 bfloat16; do
		result=runs/$precision-$seed/eval.json
		printf '| %s | %s |' "$seed" "$precision"
		for key in mAP@R_level0 mAP@R_level1 mAP@R_level2 H-AP NDCG; do
			printf ' %s |' "$(percent "$result" "$key")"
		done
		echo
	done
done
echo
echo "Machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1). Commit: $commit."
