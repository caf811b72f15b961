// Package longdata tests the errors of readers on files in which one word is very long or contains
// control characters.
package longdata

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/effort"
)

// mostBytes is the length of an error that quotes a few names of 80 characters, each escaped in up
// to ten bytes.
const mostBytes = 3000

// size returns the length of the long word: beyond the 64 KiB that a bufio.Scanner buffers, or a
// megabyte in an exhaustive test.
func size() int {
	if effort.Exhaustive() {
		return 1 << 20
	}
	return 1 << 17
}

// long holds the replacements of a word: letters, digits, characters that change the direction of
// text, and terminal commands. It is made on first use, because every command that a testscript
// starts initializes this package.
var long = sync.OnceValue(func() []string {
	size := size()
	return []string{
		strings.Repeat("x", size),
		strings.Repeat("7", size),
		strings.Repeat("\u202eab ", size/6),
		strings.Repeat("\x1b[2J", size/4),
		strings.Repeat("y\n", size/64),
	}
})

var word = regexp.MustCompile(`[\pL\pN_.]+`)

// Replace calls read with the file sample once for each of its words, replaced by a long one of
// other characters. read must return no error, or a short one without control characters. A test
// that is not exhaustive replaces one word in five.
func Replace(t *testing.T, sample []byte, read func(data []byte) error) {
	t.Helper()
	if err := read(sample); err != nil {
		t.Fatalf("the file itself: %v", err)
	}
	failed, long := 0, long()
	for i, at := range word.FindAllIndex(sample, -1) {
		if !effort.Exhaustive() && i%5 > 0 {
			continue
		}
		for _, with := range []string{long[i%2], long[2+i%3]} { // every pair occurs for one word in six
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

// check reports an error that quotes too much.
func check(t *testing.T, err error, word, with string) {
	t.Helper()
	text := err.Error()
	shown := text[:min(len(text), 160)]
	if len(text) > mostBytes {
		t.Errorf("with a long word of %.80q for %s the error has %d bytes: %.80q", with, word, len(text), shown)
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("with a long word of %.80q for %s the error acts on a terminal: %.80q", with, word, shown)
	}
}
