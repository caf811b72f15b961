package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/seal"
)

// exportRecordEnding is the ending of the record of an export.
const exportRecordEnding = ".export.json"

// exportEndings are the endings of the files that the record of an export describes.
func exportEndings() []string {
	return []string{".queries.parquet", ".neighbours.npy", ".scores.npy", ".gallery.csv"}
}

// exportVersion is the format version of [exportRecord].
const exportVersion = 1

// exportRecord is PREFIX.export.json, which describes the other files of an export.
type exportRecord struct {
	Version int               `json:"hgld_neighbours"` // format version
	Files   map[string]string `json:"files_sha256"`    // ending of a name -> SHA-256 of the file
}

// writeHashed writes a file and returns the hash of its content.
func writeHashed(path string, write func(io.Writer) error) (hash.Hash, error) {
	sum := sha256.New()
	return sum, atomicfile.Write(path, func(w io.Writer) error { return write(io.MultiWriter(w, sum)) })
}

// writeExportRecord writes the record of an export. sums are in the order of exportEndings.
func writeExportRecord(prefix string, sums []hash.Hash) error {
	r := exportRecord{exportVersion, map[string]string{}}
	for i, ending := range exportEndings() {
		r.Files[ending] = hex.EncodeToString(sums[i].Sum(nil))
	}
	text, err := seal.MarshalJSON(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(prefix+exportRecordEnding, text)
}

// ExportError says that a file of an export is not the one that was written.
type ExportError struct {
	Path   string // of the file
	Record string // of the record that describes it, which may itself be damaged
	Err    error  // what is wrong with the record, or nil
}

// Error names both files.
func (e *ExportError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("evaluation: %s is damaged: %v", e.Record, e.Err)
	}
	return fmt.Sprintf("evaluation: %s is not the file that %s describes", e.Path, e.Record)
}

// Unwrap returns what is wrong with the record.
func (e *ExportError) Unwrap() error { return e.Err }

// VerifyExport returns an [ExportError] if a file is not the one that the record of an export beside it
// describes. It returns nil if there is no record of it.
func VerifyExport(ctx context.Context, path string) error {
	for _, ending := range exportEndings() {
		prefix, is := strings.CutSuffix(path, ending)
		if !is {
			continue
		}
		record := prefix + exportRecordEnding
		text, err := regular.ReadFile(record)
		if atomicfile.IsMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var r exportRecord
		err = json.Unmarshal(text, &r)
		if r.Version > exportVersion {
			return fmt.Errorf("evaluation: %s has format version %d; this hgld reads up to %d", record, r.Version, exportVersion)
		}
		if err == nil {
			err = seal.CheckJSON(text)
		}
		if err != nil {
			return &ExportError{path, record, err}
		}
		sum, _, err := filehash.SHA256(ctx, path)
		if err == nil && sum != r.Files[ending] {
			err = &ExportError{Path: path, Record: record}
		}
		return err
	}
	return nil
}
