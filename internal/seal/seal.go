// Package seal adds to a file the SHA-256 of its own content, so that damage to it is found when it
// is read.
package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"hgld/internal/filehash"
)

// ErrBroken is the error for a file whose content does not have the hash that it states.
var ErrBroken = errors.New("it is damaged, or was changed after hgld wrote it")

// ErrOpen is the error for a file that states no hash.
var ErrOpen = errors.New("it has no checksum: the end is missing, or another program wrote it")

// JSON adds a last member "sha256" to a JSON object: the hash of the compact form of the object
// without it. The indentation is kept.
func JSON(object []byte) ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(bytes.TrimRight(object, " \n"), []byte("}"))
	if !ok || compact.Len() < 4 {
		return nil, errors.New("seal: want an object with members")
	}
	return fmt.Appendf(bytes.TrimRight(bytes.Clone(body), " \n"), ",\n \"sha256\": %q\n}\n",
		filehash.Text(compact.Bytes())), nil
}

// MarshalJSON is json.MarshalIndent of an object, sealed.
func MarshalJSON(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, err
	}
	return JSON(text)
}

var lastMember = regexp.MustCompile(`,"sha256":"([0-9a-f]{64})"\}$`)

// CheckJSON returns an error unless an object has the hash that it states. White space between
// members does not count.
func CheckJSON(text []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	at := lastMember.FindSubmatchIndex(compact.Bytes())
	if at == nil {
		return ErrOpen
	}
	stated := string(compact.Bytes()[at[2]:at[3]])
	if filehash.Text(append(compact.Bytes()[:at[0]:at[0]], '}')) != stated {
		return ErrBroken
	}
	return nil
}

var lastLine = regexp.MustCompile(`(?:^|\n)# sha256: ([0-9a-f]{64})\n$`)

// Lines adds a last line, a comment "# sha256: …" with the hash of the lines before it.
func Lines(text []byte) []byte {
	return fmt.Appendf(bytes.Clone(text), "# sha256: %s\n", filehash.Text(text))
}

// CheckLines returns an error unless a text has the hash that its last line states.
func CheckLines(text []byte) error {
	at := lastLine.FindSubmatchIndex(text)
	if at == nil {
		return ErrOpen
	}
	if filehash.Text(text[:at[2]-len("# sha256: ")]) != string(text[at[2]:at[3]]) {
		return ErrBroken
	}
	return nil
}
