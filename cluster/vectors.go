package cluster

import (
	"fmt"
	"io"

	"hgld/internal/tensorfile"
	"hgld/labels"
)

// VectorsFile is the usual name of the file of vectors in the folder of draft.json. It
// is a safetensors file with one tensor "vectors", F32 [N,D], whose row i belongs to
// tag i of the draft, and the fields of VectorsOrigin as metadata.
const VectorsFile = "vectors.safetensors"

const vectorsFormat = "hgld-vectors/1"

// VectorsOrigin is the provenance of vectors. Vectors with an equal origin are the
// same.
type VectorsOrigin struct {
	Encoder string // the Encoder.Name
	Prompt  Prompt // the prompt that the tags were put into
	Tags    string // the Fingerprint of the tags
}

// Suits reports whether vectors are what is wanted: of the same tags, and of the encoder
// and the prompt that want names. An empty encoder or prompt in want is any.
func (o VectorsOrigin) Suits(want VectorsOrigin) bool {
	return o.Tags == want.Tags && (want.Encoder == "" || want.Encoder == o.Encoder) &&
		(want.Prompt == "" || want.Prompt == o.Prompt)
}

// WriteVectors writes a file of vectors.
func WriteVectors(w io.Writer, x Matrix, o VectorsOrigin) error {
	t := tensorfile.NewF32("vectors", []int{x.Rows, x.Cols}, x.Data)
	return tensorfile.WriteSafetensors(w, []tensorfile.Tensor{t}, map[string]string{
		"format": vectorsFormat, "encoder": o.Encoder, "prompt": string(o.Prompt), "tags": o.Tags,
	})
}

// ReadVectors reads a file of vectors. It widens a tensor of F16 or BF16. In a file by
// another program the origin is what the metadata say, and may be empty.
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
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: tensor \"vectors\" has the shape %v, want [tags, values]", path,
			shape)
	}
	data, err := f.Float32("vectors")
	if err != nil {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: %w", path, err)
	}
	x := Matrix{Rows: shape[0], Cols: shape[1], Data: data}
	if err := x.finite(); err != nil {
		return Matrix{}, VectorsOrigin{}, fmt.Errorf("%s: %w", path, err)
	}
	return x, VectorsOrigin{Encoder: f.Metadata["encoder"], Prompt: Prompt(f.Metadata["prompt"]),
		Tags: f.Metadata["tags"]}, nil
}

// OtherTagsError says that a file of vectors does not belong to the tags of a draft.
type OtherTagsError struct {
	Vectors string // path of the vectors
	Draft   string // path of the draft
	Made    string // name of the vectors that the draft was made from
}

// Error names both files.
func (e *OtherTagsError) Error() string {
	return fmt.Sprintf("%s has vectors of tags other than those of %s", e.Vectors, e.Draft)
}

// CheckTags returns an *OtherTagsError unless a file of vectors has as many rows as d
// has tags and, if the file has a fingerprint, that of d's tags. path and draft are
// the names of the two files.
func CheckTags(path string, rows int, fingerprint, draft string, d *labels.Draft) error {
	if rows == len(d.Tags) && (fingerprint == "" || fingerprint == Fingerprint(d.Tags)) {
		return nil
	}
	return &OtherTagsError{Vectors: path, Draft: draft, Made: d.Origin.Vectors}
}
