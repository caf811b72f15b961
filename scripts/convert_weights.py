#!/usr/bin/env python3
"""Convert PyTorch weights (.pth, .pt, .bin) to safetensors, which hgld reads.

    scripts/convert_weights.py resnet50-0676ba61.pth resnet50.safetensors
    scripts/convert_weights.py --strip module. checkpoint.pt model.safetensors

Only numbers are read: torch.load with weights_only=True. A pickle that needs code
is refused. Names stay as they are, but for a prefix given by --strip. Where the
file holds a dictionary with the weights inside (state_dict, net_state, model, …),
they are taken from there. Needs torch and safetensors.
"""
import argparse
import pickle
import sys

import torch
from safetensors.torch import save_file

# Where training programs keep the weights in their checkpoints, in this order.
INSIDE = ("state_dict", "model_state_dict", "net_state", "net_state_dict", "model", "net", "model_ema")


def weights(loaded, path):
    """The dictionary of name to tensor in what a file holds."""
    if isinstance(loaded, dict):
        if loaded and all(isinstance(v, torch.Tensor) for v in loaded.values()):
            return loaded
        for key in INSIDE:
            if isinstance(loaded.get(key), dict):
                return weights(loaded[key], f"{path}: {key}")
    keys = ", ".join(map(str, list(loaded)[:8])) if isinstance(loaded, dict) else type(loaded).__name__
    sys.exit(f"{path}: no dictionary of tensors in it (found: {keys})")


def read(path):
    """What a file of torch.save holds, if it is numbers in containers alone."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as e:
        sys.exit(f"{path}: {e.strerror}")
    except pickle.UnpicklingError:
        sys.exit(f"{path}: refused. The file asks Python to run code, or is no pickle of weights; numbers alone are read.\n"
                 "  Save its state_dict() with the program that made it, and convert that.")
    except RuntimeError as e:
        if "TorchScript" not in str(e):
            sys.exit(f"{path}: damaged, or no file of torch.save: {str(e).splitlines()[0]}")
        sys.exit(f"{path}: refused. It is a TorchScript archive, as OpenAI published CLIP: a program and not weights alone.\n"
                 "  Take model.safetensors of the repositories that `hgld embed --list` names.")
    except Exception as e:  # whatever the bytes of another kind of file lead to
        sys.exit(f"{path}: damaged, or no file of torch.save ({type(e).__name__})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--strip", default="", metavar="PREFIX", help="taken from the front of the names that have it")
    p.add_argument("source")
    p.add_argument("target")
    args = p.parse_args()
    if not args.target.endswith(".safetensors"):
        p.error(f"{args.target}: the target is a .safetensors file")
    loaded = read(args.source)
    tensors = {}
    for name, t in weights(loaded, args.source).items():
        short = name.removeprefix(args.strip)
        if short in tensors:
            sys.exit(f"{args.source}: without the prefix {args.strip!r} two tensors are called {short}")
        tensors[short] = t.detach().contiguous().clone()  # shared memory becomes two arrays
    save_file(tensors, args.target, metadata={"format": "pt"})
    print(f"{args.target}: {len(tensors)} tensors, {sum(t.numel() for t in tensors.values())} numbers")


if __name__ == "__main__":
    main()
