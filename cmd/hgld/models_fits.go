package main

import (
	"errors"
	"fmt"

	"hgld/internal/filehash"
	"hgld/internal/torchfile"
	"hgld/train/backbone"
	"hgld/train/pretrained"
)

// shownFits limits the networks printed for a file that fits none. shownNames limits the
// tensor names printed of each kind.
const (
	shownFits  = 3
	shownNames = 5
)

// listFits prints the networks that a file of weights fits, or what differs from those that come nearest.
func listFits(j *job, path string) error {
	list, err := backbone.KnownNetworks()
	if err != nil {
		return err
	}
	w, err := readWeights(path, "")
	if err != nil {
		return err
	}
	stated, err := pretrained.Stated(path)
	if err != nil {
		return withCode(exitIntegrity, err)
	}
	sum, size, err := filehash.SHA256(j.ctx, path)
	if err != nil {
		return err
	}
	fits := backbone.FitAll(list, w.Tensors)
	if j.json {
		err = writeJSON(j, struct {
			File       string                   `json:"file"`
			Bytes      int64                    `json:"bytes"`
			SHA256     string                   `json:"sha256"`
			Dictionary string                   `json:"dictionary,omitempty"`
			Others     []string                 `json:"other_dictionaries,omitempty"`
			Stated     []backbone.Preprocessing `json:"stated,omitempty"`
			Models     []backbone.Fit           `json:"models"`
		}{path, size, sum, w.Key, w.Others, stated, fits})
	} else {
		j.print("%s: %d tensors, %d bytes, sha256 %s\n", path, len(w.Tensors), size, sum)
		if note := w.Note(); note != "" {
			j.print("%s; hgld models fetch --key takes another\n", note)
		}
		for _, p := range stated {
			j.print("%s: %s\n", p.Source, p)
		}
		printFits(j, fits)
	}
	if err != nil {
		return err
	}
	for _, t := range w.Tensors {
		if i := t.NotFinite(); i >= 0 {
			return withCode(exitIntegrity, fmt.Errorf("%s: element %d of %s is not finite", path, i, t.Name))
		}
	}
	if fits[0].Fits {
		return nil
	}
	return withCode(exitIntegrity, fmt.Errorf("%s fits no known network", path))
}

// readWeights reads a safetensors file, or a file written by torch.save, as a training does.
func readWeights(path, key string) (*pretrained.Weights, error) {
	w, err := pretrained.Read(path, key)
	if errors.As(err, new(*torchfile.FormatError)) {
		return nil, withHint(withCode(exitIntegrity, err), "scripts/convert_weights.py %s reads a few more formats",
			word(path))
	}
	if pretrained.Damaged(err) {
		return nil, withCode(exitIntegrity, err)
	}
	return w, err
}

// wrapperText names the prefix that names lost.
func wrapperText(prefix string) string {
	if prefix == "" {
		return ""
	}
	return fmt.Sprintf(", without the prefix %s of its names", prefix)
}

func printFits(j *job, fits []backbone.Fit) {
	for i, f := range fits {
		switch {
		case f.Fits:
			j.print("fits %s%s\n", f.Name, wrapperText(f.Wrapper))
		case !fits[0].Fits && i < shownFits:
			j.print("not %s: %d missing, %d unexpected, %d of another shape\n", f.Name, len(f.Missing), len(f.Unexpected),
				len(f.Shapes))
			for _, part := range []struct {
				what string
				list []string
			}{{"missing", f.Missing}, {"unexpected", f.Unexpected}, {"shape", f.Shapes}} {
				for _, name := range part.list[:min(shownNames, len(part.list))] {
					j.print("  %-10s %s\n", part.what, name)
				}
				if n := len(part.list) - shownNames; n > 0 {
					j.print("  %-10s … %d more; --json lists all\n", part.what, n)
				}
			}
		}
	}
}
