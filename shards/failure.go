package shards

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"hgld/labels"
)

// FailureClass is the kind of reason why an image is not in the shards.
type FailureClass string

// The classes of failures. Decode includes formats that no decoder knows.
const (
	DecodeFailure  FailureClass = "decode"
	TooBigFailure  FailureClass = "too big"
	MissingFailure FailureClass = "missing"
	LicenceFailure FailureClass = "licence" // a training image without author or licence
	HashFailure    FailureClass = "hash"    // not the bytes that the source promised
	ReadFailure    FailureClass = "read"    // no permission to read it, or an archive that is damaged there
)

// Failure is a line of failures.jsonl: an image that is missing from its shard. The row
// numbers have no gap. The footer of the shard holds it too, so that an interrupted
// build loses none.
type Failure struct {
	ID    ImageID      `json:"image_id"` // of the image
	Path  string       `json:"path"`     // as the input has it
	Where string       `json:"where"`    // row of the input
	Split labels.Split `json:"split"`    // of the image
	Shard string       `json:"shard"`    // that it would be in
	Class FailureClass `json:"class"`    // kind of failure
	Error string       `json:"error"`    // what went wrong
}

// failure returns the item as a failure. The caller sets its shard.
func (item *Item) failure(class FailureClass, err error) Failure {
	return Failure{ID: item.ID, Path: item.Path, Where: item.Where, Split: item.Split, Class: class, Error: err.Error()}
}

// At names an image and the row that lists it, once if they are the same.
func At(path, where string) string {
	if path == where || where == "" {
		return path
	}
	return fmt.Sprintf("%s (%s)", path, where)
}

// missing is the error of an image that the source does not have.
func (item *Item) missing() error {
	if item.Near == "" {
		return errors.New("no such image")
	}
	return fmt.Errorf("no such image, but there is %.80q", item.Near)
}

// Unreadable reports whether an error in opening or reading a file lies in that file,
// such as a lack of permission. Such an error lasts, so the file is left out and
// listed. Other errors of the system may pass, and stop a build.
func Unreadable(err error) bool {
	for _, of := range []error{fs.ErrPermission, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// ReadError reports an image that exists but could not be read, or that has disappeared since
// the build began. The fault lies with the disk, the network or the process and not with the
// image, so the build stops and can succeed later.
type ReadError struct {
	Path, Where string // of the item
	Err         error  // error of the system
}

// Error names the image and the row that lists it.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%s cannot be read: %v", At(e.Path, e.Where), e.Err)
}

// Unwrap returns the error of the source.
func (e *ReadError) Unwrap() error { return e.Err }

// InputError reports damage to a part of the source that is more than one image. It stops a
// build.
type InputError struct{ Err error }

// Error returns the text of the fault.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *InputError) Unwrap() error { return e.Err }

// encodeFailures returns the text of failures.jsonl.
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
