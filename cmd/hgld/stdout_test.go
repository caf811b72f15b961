package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/texttable"
)

// A command can write anything to stdout, in any pieces: no control character gets through.
func TestStdoutShowsControlCharacters(t *testing.T) {
	const text = "é \x1b]0;owned\x07 \u202egnp \u009b2J\x7f\xff 中\n"
	const want = `é \x1b]0;owned\x07 \u202egnp \u009b2J\u007f\xff 中` + "\n"
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		out := &output{to: &got}
		for from := 0; from < len(text); from += size {
			if n, err := io.WriteString(out, text[from:min(from+size, len(text))]); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		if err := out.join(nil); err != nil || got.String() != want {
			t.Fatalf("in pieces of %d: %q, %v, want %q", size, got.String(), err, want)
		}
	}
	var cut, file bytes.Buffer
	out := &output{to: &cut}
	io.WriteString(out, "\xe4\xb8")
	if err := out.join(nil); err != nil || cut.String() != `\xe4\xb8` {
		t.Errorf("the start of a character is %q, %v", cut.String(), err)
	}
	if io.WriteString(asFile(&output{to: &file}), text); file.String() != text {
		t.Errorf("a file is %q", file.String())
	}
	// The writer of tables keeps cells on their line too.
	var table bytes.Buffer
	err := (texttable.Table{Head: []string{"id", "x"}, Rows: [][]string{{"a\x1b[2J\nb", "1"}}}).Write(&table, "text")
	if err != nil || !strings.Contains(table.String(), `a\x1b[2J\nb`) {
		t.Errorf("%q, %v", table.String(), err)
	}
}

// Names of levels and ids come from the files of others.
func TestTablesOfForeignNamesAreVisible(t *testing.T) {
	embeddingFiles(t)
	labels := must.Get(os.ReadFile("l.csv"))(t)
	head, rest, _ := strings.Cut(string(labels), "\n")
	must.Do(t, os.WriteFile("evil.csv", []byte(head+"\x1b[31m\n"+rest), 0o644))
	for _, args := range [][]string{{"eval", "run", "--embeddings", "e.npy", "--labels", "evil.csv", "--metrics", "R@1"},
		{"search", "--index", "e.npy", "--labels", "evil.csv", "--id", "img3"}} {
		code, out, errs := run(t, args...)
		if code != exitOK || strings.Contains(out+errs, "\x1b") || !strings.Contains(out, `\x1b[31m`) {
			t.Errorf("%s: exit code %d\n%q\n%q", args[0], code, out, errs)
		}
	}
}
