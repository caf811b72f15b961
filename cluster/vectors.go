package cluster

import (
	"fmt"
	"io"

	"hgld/internal/tensorfile"
)

// VectorsFile is the usual name of the file of vectors beside draft.json: a
// safetensors file with one tensor "vectors", F32 [N,D], row i for tag i of the
// draft, and the fields of VectorsOrigin as metadata.
const VectorsFile = "vectors.safetensors"

const vectorsFormat = "hgld-vectors/1"

// VectorsOrigin says what vectors were made from. Vectors with an equal origin
// are the same.
type VectorsOrigin struct {
	Encoder string // Encoder.Name
	Prompt  Prompt
	Tags    string // Fingerprint
}

// WriteVectors writes a file of vectors.
func WriteVectors(w io.Writer, x Matrix, o VectorsOrigin) error {
	t := tensorfile.NewF32("vectors", []int{x.Rows, x.Cols}, x.Data)
	return tensorfile.WriteSafetensors(w, []tensorfile.Tensor{t}, map[string]string{
		"format": vectorsFormat, "encoder": o.Encoder, "prompt": string(o.Prompt), "tags": o.Tags,
	})
}

// ReadVectors reads a file of vectors. A tensor of F16 or BF16 is widened, and a
// file of other make has the origin that its metadata give, which may be empty.
func ReadVectors(path string) (Matrix, VectorsOrigin, error) {
	f, err := tensorfile.OpenSafetensors(path)
	if err != nil {
		return Matrix{}, VectorsOrigin{}, err
	}
	defer f.Close()
	_, shape, err := f.Shape("vectors")
	if err != nil {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(shape) != 2 {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: tensor \"vectors\" has the shape %v, want [tags, values]", path, shape)
	}
	data, err := f.Float32("vectors")
	if err != nil {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: %w", path, err)
	}
	x := Matrix{Rows: shape[0], Cols: shape[1], Data: data}
	if err := x.finite(); err != nil {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: %w", path, err)
	}
	return x, VectorsOrigin{Encoder: f.Metadata["encoder"], Prompt: Prompt(f.Metadata["prompt"]), Tags: f.Metadata["tags"]}, nil
}
