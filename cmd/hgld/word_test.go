package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"hgld/cluster"
	"hgld/internal/pipeline"
	"hgld/internal/testing/must"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/index"
)

// hostileNames are names that a file, an archive or a server may have.
var hostileNames = []string{"e'; touch PWNED; echo '.h5", "$(touch PWNED)", "`touch PWNED`", "a b", "a;b", "a\nb", "~/x",
	`back\slash`, `'`, `''`, "", "*", "#x", "é", "!x", `e".h5`, "a&b|c>d<e(f)"}

func TestWordsAreReadByTheShellAsTheyAre(t *testing.T) {
	shell := must.Get(exec.LookPath("sh"))(t)
	for _, name := range append(hostileNames, "plain.npy", "runs/a-1_b") {
		cmd := exec.Command(shell, "-c", "printf '%s|' "+word(name))
		cmd.Dir = t.TempDir()
		if out, err := cmd.Output(); err != nil || string(out) != name+"|" {
			t.Errorf("%s is %q in the shell, %v, want %q", word(name), out, err, name)
		}
	}
	if plain := word("runs/a-1_b.npy"); plain != "runs/a-1_b.npy" {
		t.Errorf("%s: quotes that are not needed", plain)
	}
	if long := word(strings.Repeat("'", 400)); long != "…" {
		t.Errorf("a long text is %.40s", long)
	}
}

// The hint is pasted: what stands where a command word may stand must not be the stranger's.
func TestHintsDoNotRunForeignText(t *testing.T) {
	x := errors.New("x")
	for _, name := range hostileNames[:6] {
		for _, err := range []error{
			&embeddings.KindError{Path: name + ".h5", Err: x},
			&embeddings.SeveralError{Path: name + ".pt", Names: []string{name, "b"}},
			&embeddings.KindError{Path: name + ".csv", Err: x},
			&pipeline.NoProjectError{Dir: name}, &index.ModelError{Model: name},
			&dataset.SettingError{Setting: "levels", Values: []string{name}, Err: x},
			&dataset.SettingError{Setting: "split_folders", Values: []string{name, name}, Err: x},
			vectorsHint(&cluster.OtherTagsError{Made: name}, besideDraft),
			labelsHint(&embeddings.NoLabelsError{Vectors: name, Tables: []string{name}}, "hgld eval run"),
		} {
			for _, hint := range hints(err) {
				if left := outsideQuotes(hint); strings.Contains(left, "touch") || strings.Contains(left, "a;b") {
					t.Errorf("%T: %s", err, hint)
				}
			}
		}
	}
}

// outsideQuotes returns what a shell reads outside single quotes.
func outsideQuotes(text string) string {
	var left strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(text, `\'`, ""), "'") {
		if i%2 == 0 {
			left.WriteString(part)
		}
	}
	return left.String()
}
