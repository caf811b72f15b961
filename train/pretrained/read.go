package pretrained

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
)

// Weights are the tensors of a file.
type Weights struct {
	Tensors []tensorfile.Tensor // in the file's order, with its names

	// Key leads to the dictionary that was read, in a checkpoint that has several values: "state_dict".
	Key       string
	Others    []string          // the keys of its other dictionaries of weights
	Metadata  map[string]string // the texts in the header of a safetensors file
	Converted bool              // set for a file of torch.save
}

// Read reads the file at path, safetensors or torch.save, which its content tells. A checkpoint may hold
// several dictionaries of weights: key names one, see [torchfile.Select]. In safetensors, whose names
// are not nested, it selects the names that begin with the key and a dot. Damage is a
// *tensorfile.FormatError or a *torchfile.FormatError; of a file that was changed since [Fetch] recorded it, an ErrSum.
func Read(path, key string) (*Weights, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w, err := readTensors(f, info.Size(), key)
	var other *torchfile.FormatError
	if errors.As(err, &other) && other.Refused == "" && !torchfile.Named(path) {
		_, err = readSafetensors(f, info.Size()) // the name says what it should have been
		err = cmp.Or(err, error(other))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, unchanged(path)
}

// unchanged compares a file with the record of its fetch, if there is one.
func unchanged(path string) error {
	r, err := ReadRecord(path)
	if err != nil || r.Stored == "" {
		return nil
	}
	if sum, _, err := filehash.SHA256(context.Background(), path); err != nil || sum != r.Stored {
		return cmp.Or(err, fmt.Errorf("%s: %w: it is %s, and was %s when it was fetched from %s; without %s it is read as "+
			"it is", path, ErrSum, sum, r.Stored, r.From, RecordPath(path)))
	}
	return nil
}

// Note says which of several dictionaries was read, or returns "".
func (w *Weights) Note() string {
	if len(w.Others) == 0 {
		return ""
	}
	key := w.Key
	if key == "" {
		key = "its own tensors"
	}
	return fmt.Sprintf("read %s; the file also has %s", key, strings.Join(w.Others, ", "))
}

// under keeps the tensors whose names begin with key and a dot, and removes both.
func under(tensors []tensorfile.Tensor, key string) ([]tensorfile.Tensor, error) {
	if key == "" {
		return tensors, nil
	}
	var kept []tensorfile.Tensor
	for _, t := range tensors {
		name, inside := strings.CutPrefix(t.Name, key+".")
		if t.Name = name; inside {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return nil, &torchfile.FormatError{Reason: fmt.Sprintf("no name in it begins with %.60q", key+".")}
	}
	return kept, nil
}

// Damaged reports whether err says that the content of a file of weights cannot be read.
func Damaged(err error) bool {
	return errors.As(err, new(*tensorfile.FormatError)) || errors.As(err, new(*torchfile.FormatError))
}
