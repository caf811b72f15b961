#!/usr/bin/env python3
"""Makes the files beside it: make.py FOLDER [wide|published]. Needs torch, timm, transformers, open_clip_torch, safetensors.

Each file has the state dict of a small image tower of random weights, as its library
saves it, and of one pass: case.images, the embedding of that library, and the gradient
by the images of the sum of the embedding times case.upstream. The metadata name the
backbone of hgld and its settings. With "wide", towers as wide as the published ones, of few
blocks and small images. With "published", towers of the published shapes.
Made with timm 1.0.31, transformers 5.23.0, open_clip 3.3.0 and torch 2.15.0.
"""
import json
import os
import sys

import open_clip
import timm
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from timm.layers import resample_abs_pos_embed

folder, shape = (sys.argv[1:] + ["small"])[:2]
WIDTH, HEADS, PROJECTION = (16, 2, 12) if shape == "small" else (384, 6, 128)
DEPTH = 12 if shape == "published" else 2


def shake(net):
    """Random weights that no layer can hide behind: no factor is 1, no offset 0, no scale 1e-5."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.ndim == 0:
                continue
            if p.ndim == 1 and not name.endswith("bias"):
                p.uniform_(0.5, 1.5)
            elif p.ndim == 1 or "token" in name or "embed" in name and p.ndim < 4 or "latent" in name or "probe" in name:
                p.uniform_(-0.5, 0.5)
            else:
                p.normal_(0, p[0].numel() ** -0.5)
    return net.eval()


def save(name, kind, settings, net, embed, size, tensors=None):
    torch.manual_seed(2)
    images = torch.randn(2, 3, size, size, requires_grad=True)
    embedding = embed(images)
    upstream = torch.randn_like(embedding)
    (embedding * upstream).sum().backward()
    tensors = tensors or net.state_dict()
    case = {"case.images": images, "case.embedding": embedding, "case.upstream": upstream, "case.dimages": images.grad}
    case = {k: v.detach().contiguous() for k, v in case.items()}
    settings = settings | {"width": WIDTH, "depth": DEPTH, "heads": HEADS, "input": size}
    save_file({k: v.contiguous() for k, v in tensors.items()} | case, os.path.join(folder, name + ".safetensors"),
              metadata={"kind": kind, "settings": json.dumps(settings)})
    print(name, tuple(embedding.shape), f"mean square {embedding.pow(2).mean():.3f}")


def of_timm(name, model, kind, settings, patch, stored, size=None, **more):
    """size: of the images, where the state dict's positions are for stored."""
    make = lambda s: timm.create_model(model, img_size=s, patch_size=patch, embed_dim=WIDTH, depth=DEPTH, num_heads=HEADS, **more)
    net = shake(make(stored))
    tensors = {k: v.clone() for k, v in net.state_dict().items()}
    if size:
        other = make(size).eval()
        front = 0 if other.no_embed_class else other.num_prefix_tokens
        at = resample_abs_pos_embed(tensors["pos_embed"], other.patch_embed.grid_size, num_prefix_tokens=front)
        other.load_state_dict(tensors | {"pos_embed": at})
        net = other
    save(name, kind, settings | {"patch": patch}, net, net, size or stored, tensors)


def of_transformers(name, cls, config, kind, settings, patch, stored, size, embed, **more):
    net = shake(cls(config(hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS, image_size=stored,
                           patch_size=patch, attn_implementation="eager", **more)))
    net.save_pretrained(os.path.join(folder, "saved"))
    path = os.path.join(folder, "saved", "model.safetensors")
    tensors = load_file(path)
    for f in os.listdir(os.path.join(folder, "saved")):
        os.remove(os.path.join(folder, "saved", f))
    os.rmdir(os.path.join(folder, "saved"))
    save(name, kind, settings | {"patch": patch}, net, lambda x: embed(net, x), size, tensors)


P, P32 = (4, 4) if shape == "small" else (14, 32)  # sides of patches
S, T, C = {"small": (16, 24, 16), "wide": (112, 140, 96), "published": (224, 280, 224)}[shape]  # of images
of_timm("dinov2-timm", "vit_small_patch14_dinov2", "dinov2", {}, P, S)
of_timm("dinov2-timm-resampled", "vit_small_patch14_dinov2", "dinov2", {}, P, T, S)
of_timm("dinov2-registers-timm", "vit_small_patch14_reg4_dinov2", "dinov2", {"registers": 4}, P, S)
of_timm("clip-timm", "vit_base_patch32_clip_quickgelu_224", "clip", {"projection": PROJECTION, "activation": "quick_gelu"}, P32, C,
        num_classes=PROJECTION)
of_timm("clip-timm-features", "vit_base_patch32_clip_224", "clip", {"projection": 0, "activation": "gelu"}, P32, C, num_classes=0)
of_timm("siglip-timm", "vit_base_patch16_siglip_224", "siglip", {"activation": "gelu"}, P, S)

MLP = {"intermediate_size": 4 * WIDTH}
of_transformers("dinov2-transformers", hf.Dinov2Model, hf.Dinov2Config, "dinov2", {}, P, T, S, lambda n, x: n(x).pooler_output)
of_transformers("dinov2-registers-transformers", hf.Dinov2WithRegistersModel, hf.Dinov2WithRegistersConfig, "dinov2",
                {"registers": 4}, P, S, S, lambda n, x: n(x).pooler_output)
of_transformers("clip-transformers", hf.CLIPVisionModelWithProjection, hf.CLIPVisionConfig, "clip",
                {"projection": PROJECTION, "activation": "quick_gelu"}, P32, C, C, lambda n, x: n(x).image_embeds,
                projection_dim=PROJECTION, **MLP)
of_transformers("clip-transformers-resampled", hf.CLIPVisionModelWithProjection, hf.CLIPVisionConfig, "clip",
                {"projection": PROJECTION, "activation": "gelu"}, P, S, T,
                lambda n, x: n(x, interpolate_pos_encoding=True).image_embeds, projection_dim=PROJECTION, hidden_act="gelu", **MLP)
of_transformers("siglip-transformers", hf.SiglipVisionModel, hf.SiglipVisionConfig, "siglip", {"activation": "gelu_tanh"}, P, S, S,
                lambda n, x: n(x).pooler_output, **MLP)

net = shake(open_clip.model.CLIP(
    embed_dim=PROJECTION, quick_gelu=True,
    vision_cfg={"layers": DEPTH, "width": WIDTH, "head_width": WIDTH // HEADS, "patch_size": P32, "image_size": C},
    text_cfg={"context_length": 8, "vocab_size": 10, "width": 16, "heads": 2, "layers": 1}))
save("clip-openclip", "clip", {"projection": PROJECTION, "activation": "quick_gelu", "patch": P32}, net, net.encode_image, C)
