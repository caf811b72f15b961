package main

import (
	"hgld/cluster"
	textenc "hgld/train/text"
)

// bertFiles are sentence encoders of sentence-transformers.
var bertFiles = fileEncoder{name: "bert", files: "weights", prompt: "photo", open: openBERT, known: []knownWeights{
	{
		From: "sentence-transformers/all-MiniLM-L6-v2", About: "6 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files: []string{"model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json",
			"modules.json", "1_Pooling/config.json"},
		Bytes: 90868376, SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
	},
	{
		From: "sentence-transformers/all-MiniLM-L12-v2", About: "12 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files: []string{"model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json",
			"modules.json", "1_Pooling/config.json"},
	},
}}

func openBERT(s *embedSettings, on opener) (cluster.Encoder, error) {
	files, err := filesOf(s.Weights)
	if err != nil {
		return nil, err
	}
	b, err := on(s.Threads)
	if err != nil {
		return nil, err
	}
	return textenc.OpenBERT(b, files)
}

// filesOf returns the weights that path names, with their SHA-256.
func filesOf(path string) (textenc.Files, error) {
	weights, err := weightsFile(path)
	if err != nil {
		return textenc.Files{}, err
	}
	sum, err := sha256File(weights)
	return textenc.Files{Weights: weights, SHA256: sum}, err
}
