package main

import (
	"context"

	"hgld/cluster"
	"hgld/train/device"
	textenc "hgld/train/text"
)

// clipSettings describes CLIP weights where the files in their folder do not.
type clipSettings struct {
	Activation string `yaml:"activation"`
}

// clipFiles are text towers of CLIP, and bertFiles sentence encoders of sentence-transformers.
var (
	clipFiles = fileEncoder{name: "clip", files: "weights", prompt: "photo", known: textenc.PublishedCLIP,
		open: onDevice(func(b device.Backend, f textenc.Files, s *embedSettings) (cluster.Encoder, error) {
			return textenc.OpenCLIP(b, f, textenc.CLIPOptions{Activation: s.CLIP.Activation})
		})}
	bertFiles = fileEncoder{name: "bert", files: "weights", prompt: "photo", known: textenc.PublishedBERT,
		open: onDevice(func(b device.Backend, f textenc.Files, _ *embedSettings) (cluster.Encoder, error) {
			return textenc.OpenBERT(b, f)
		})}
)

// onDevice finds the files of an encoder before it opens the device that the encoder runs on.
func onDevice(open func(device.Backend, textenc.Files, *embedSettings) (cluster.Encoder, error)) func(*embedSettings,
	opener) (cluster.Encoder, error) {
	return func(s *embedSettings, on opener) (cluster.Encoder, error) {
		files, err := textenc.FindFiles(context.Background(), s.Weights)
		if err != nil {
			return nil, err
		}
		b, err := on()
		if err != nil {
			return nil, err
		}
		return open(b, files, s)
	}
}
