package main

import (
	"errors"

	"hgld/cluster"
	textenc "hgld/train/text"
)

// clipSettings say about CLIP's weights what no file in their folder says.
type clipSettings struct {
	Activation string `yaml:"activation"`
	Heads      int    `yaml:"heads" range:"0 1024"`
}

// The files of each tower in the repositories of OpenAI and LAION: those of transformers
// and those of open_clip.
var (
	openAIFiles = []string{"model.safetensors (or pytorch_model.bin, converted)", "config.json"}
	laionFiles  = []string{"open_clip_model.safetensors (or open_clip_pytorch_model.bin, converted)",
		"open_clip_config.json"}
)

// clipFiles are text towers of CLIP.
var clipFiles = fileEncoder{name: "clip", files: "weights", prompt: "photo", open: openCLIP, known: []knownWeights{
	{From: "openai/clip-vit-base-patch32", About: "ViT-B/32: 12 layers of 512, vectors of 512 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-base-patch16", About: "ViT-B/16: 12 layers of 512, vectors of 512 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-large-patch14", About: "ViT-L/14: 12 layers of 768, vectors of 768 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-large-patch14-336", About: "ViT-L/14-336: 12 layers of 768, vectors of 768 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "laion/CLIP-ViT-B-32-laion2B-s34B-b79K", About: "ViT-B/32: 12 layers of 512, vectors of 512 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-B-16-laion2B-s34B-b88K", About: "ViT-B/16: 12 layers of 512, vectors of 512 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-L-14-laion2B-s32B-b82K", About: "ViT-L/14: 12 layers of 768, vectors of 768 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-H-14-laion2B-s32B-b79K", About: "ViT-H/14: 24 layers of 1024, vectors of 1024 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-g-14-laion2B-s12B-b42K", About: "ViT-g/14: 24 layers of 1024, vectors of 1024 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k", About: "ViT-bigG/14: 32 layers of 1280, vectors of 1280 values",
		Licence: "MIT", Files: laionFiles},
}}

func openCLIP(s *embedSettings, on opener) (cluster.Encoder, error) {
	files, err := filesOf(s.Weights)
	if err != nil {
		return nil, err
	}
	b, err := on(s.Threads)
	if err != nil {
		return nil, err
	}
	e, err := textenc.OpenCLIP(b, files, textenc.CLIPOptions{Activation: s.CLIP.Activation, Heads: s.CLIP.Heads})
	if errors.Is(err, textenc.ErrActivation) {
		return nil, withHint(withCode(exitUsage, err), "name it: -o clip.activation=quick_gelu, or gelu")
	}
	return e, err
}
