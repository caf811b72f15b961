// Package longdata feeds readers with files in which one word is very long, or acts
// on terminals, and looks at what their errors quote. It is for tests alone.
package longdata

import (
	"bytes"
	"hgld/internal/testing/effort"
	"regexp"
	"strings"
	"testing"
)

// mostBytes is the length of an error that quotes a few names of 80 characters, each
// of them escaped with up to ten bytes.
const mostBytes = 3000

// size is that of the long word.
const size = 1 << 20

// long are the words that a word of a file is replaced by: letters, digits, characters
// that change the direction of a text, and a terminal's commands.
var long = []string{
	strings.Repeat("x", size),
	strings.Repeat("7", size),
	strings.Repeat("\u202eab ", size/6),
	strings.Repeat("\x1b[2J", size/4),
	strings.Repeat("y\n", size/64),
}

var word = regexp.MustCompile(`[\pL\pN_.]+`)

// Replace gives read the file sample with each of its words, in turn, replaced by a
// megabyte of others. It must return no error, or one that is short and has no
// character on which a terminal acts. A test that is not exhaustive takes one word in five.
func Replace(t *testing.T, sample []byte, read func(data []byte) error) {
	t.Helper()
	if err := read(sample); err != nil {
		t.Fatalf("the file itself: %v", err)
	}
	failed := 0
	for i, at := range word.FindAllIndex(sample, -1) {
		if !effort.Exhaustive() && i%5 > 0 {
			continue
		}
		for _, with := range []string{long[i%2], long[2+i%3]} { // of all, one word in six has each
			data := bytes.Join([][]byte{sample[:at[0]], []byte(with), sample[at[1]:]}, nil)
			err := read(data)
			if err == nil {
				continue
			}
			failed++
			check(t, err, string(sample[at[0]:at[1]]), with[:4])
			if t.Failed() {
				return
			}
		}
	}
	for _, with := range long {
		if err := read([]byte(with)); err != nil {
			check(t, err, "all of it", with[:4])
			failed++
		}
	}
	if failed == 0 {
		t.Error("no long word is an error: is the file read?")
	}
}

// check complains about an error that quotes too much.
func check(t *testing.T, err error, word, with string) {
	t.Helper()
	text := err.Error()
	shown := text[:min(len(text), 160)]
	if len(text) > mostBytes {
		t.Errorf("with a megabyte of %.80q for %s the error has %d bytes: %.80q", with, word, len(text), shown)
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("with a megabyte of %.80q for %s the error acts on a terminal: %.80q", with, word, shown)
	}
}
