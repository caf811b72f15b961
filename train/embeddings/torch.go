package embeddings

import (
	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/train/retrieval"
)

// readTorch reads a file of torch.save into memory. It does not execute anything in the file.
func readTorch(path string) (*retrieval.Matrix, error) {
	all, err := torchfile.ReadValues(path)
	if err != nil {
		return nil, err
	}
	t, err := vectorsAmong(all)
	if err != nil {
		return nil, err
	}
	return matrixOfTensor(t)
}

// matrixOfTensor holds a tensor of rows and columns in memory.
func matrixOfTensor(t tensorfile.Tensor) (*retrieval.Matrix, error) {
	if t.Shape[0] > 0 && t.Shape[1] == 0 {
		return nil, content("its %d rows have no numbers", t.Shape[0])
	}
	values, err := t.Float32()
	if err != nil {
		return nil, err
	}
	return &retrieval.Matrix{Cols: t.Shape[1], Values: values}, nil
}
