package shards

import (
	"bytes"
	"encoding/json"

	"hgld/labels"
)

// FailureClass says why an image is not in the shards.
type FailureClass string

// The classes of failures. Decode is also what no decoder knows.
const (
	DecodeFailure  FailureClass = "decode"
	TooBigFailure  FailureClass = "too big"
	MissingFailure FailureClass = "missing"
	LicenceFailure FailureClass = "licence" // a training image without author or licence
	HashFailure    FailureClass = "hash"    // not the bytes that the source promised
	ReadFailure    FailureClass = "read"    // the source could not be read there
)

// Failure is a line of failures.jsonl: an image that is missing from its shard,
// without a gap in the rows. It stands in the shard's footer too, so that an
// interrupted build loses none.
type Failure struct {
	ID    ImageID      `json:"image_id"`
	Path  string       `json:"path"`
	Where string       `json:"where"`
	Split labels.Split `json:"split"`
	Shard string       `json:"shard"`
	Class FailureClass `json:"class"`
	Error string       `json:"error"`
}

// encodeFailures writes failures.jsonl.
func encodeFailures(all []Failure) ([]byte, error) {
	var out bytes.Buffer
	for _, f := range all {
		line, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), nil
}
