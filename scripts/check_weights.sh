#!/usr/bin/env bash
# Do hgld's networks compute what torchvision's and timm's do, with their weights,
# and do these read what hgld writes? Python makes a ResNet-50 and a distilled
# DeiT-S of random weights, images and logits; hgld loads them, compares, and writes
# them back; Python loads that with strict names and compares again. A pickle goes
# through convert_weights.py on the way. Exit code 1 if anything differs.
#
#   scripts/check_weights.sh
#
# Needs Python 3 and pip; the packages go into a virtual environment in $VENV
# (default: a temporary one), torch from pip's index or that in $TORCH_INDEX (one
# with CPU builds spares gigabytes); or $PYTHON has them already. Stops after
# $BUDGET seconds (default 900).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${HGLD_BUDGETED:-}" ]; then
	HGLD_BUDGETED=1 exec timeout "${BUDGET:-900}" "$0" "$@"
fi
start=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-}
if [ -z "$python" ]; then
	venv=${VENV:-$work/venv}
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
	python=$venv/bin/python
	"$python" -c 'import safetensors, timm, torchvision' 2>/dev/null || {
		"$python" -m pip -q install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch==2.15.0 torchvision==0.29.2
		"$python" -m pip -q install timm==1.0.31 safetensors==0.8.0 numpy
	}
fi
cat > "$work/peer.py" <<'PY'
import sys
import torch, torchvision, timm
from safetensors.torch import load_file, save_file

folder, step = sys.argv[1:]
nets = {
    "resnet50": lambda: torchvision.models.resnet50(),
    "deit_small_distilled_patch16_224": lambda: timm.create_model("deit_small_distilled_patch16_224"),
}

def logits(net, x):
    """One output for each head; DeiT itself would give their mean."""
    with torch.no_grad():
        if hasattr(net, "head_dist"):
            tokens = net.forward_features(x)
            return {"logits": net.head(tokens[:, 0]), "logits_dist": net.head_dist(tokens[:, 1])}
        return {"logits": net(x)}

for name, make in nets.items():
    torch.manual_seed(1)
    net = make().eval()
    if step == "make":
        for module in net.modules():  # running statistics that a forward pass can tell from the start
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-0.1, 0.1)
                module.running_var.uniform_(0.75, 1.25)
        x = torch.randn(2, 3, 224, 224)
        torch.save(net.state_dict(), f"{folder}/{name}.pth")
        save_file({"images": x} | logits(net, x), f"{folder}/{name}.case.safetensors")
        continue
    missing, unexpected = net.load_state_dict(load_file(f"{folder}/{name}.back.safetensors"), strict=True)
    case = load_file(f"{folder}/{name}.case.safetensors")
    for key, got in logits(net, case["images"]).items():
        if not torch.equal(got, case[key]):
            sys.exit(f"{name}: {key} differ by {(got - case[key]).abs().max()} after the way through hgld")
    print(f"{name}: {sum(p.numel() for p in net.parameters())} parameters there and back, logits equal")
print(f"torch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}: {step}")
PY
"$python" "$work/peer.py" "$work" make
for f in "$work"/*.pth; do
	"$python" scripts/convert_weights.py "$f" "${f%.pth}.safetensors" > "$work/converted.txt"
	sed 's|^.*/||' "$work/converted.txt"
done
HGLD_WEIGHTS=$work go test -count=1 -run '^TestForeignWeights' -v ./train/backbone | grep -E '^ *(---|ok|FAIL|panic|[a-z_]+\.go)'
"$python" "$work/peer.py" "$work" check

# A pickle that asks for code is refused.
"$python" - "$work" <<'PY'
import os, pickle, sys
class Evil:
    def __reduce__(self): return os.system, ("touch " + sys.argv[1] + "/ran",)
pickle.dump({"w": Evil()}, open(sys.argv[1] + "/evil.pth", "wb"))
PY
if "$python" scripts/convert_weights.py "$work/evil.pth" "$work/evil.safetensors" 2> "$work/refused.txt"; then
	echo "a pickle with code was converted"
	exit 1
fi
grep -q refused "$work/refused.txt" && [ ! -e "$work/ran" ] || { echo "a pickle with code was not refused:"; cat "$work/refused.txt"; exit 1; }
echo "a pickle with code: refused; $((SECONDS - start)) s in all"
