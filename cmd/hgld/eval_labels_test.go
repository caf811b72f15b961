package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The labels of vectors are the table beside them of the same name, in every command that reads
// vectors. Without one the error has the command that names a table of the folder.
func TestLabelsBesideVectorsNeedNotBeNamed(t *testing.T) {
	embeddingFiles(t)
	copyTo := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	zipOf := func(from, to string) {
		t.Helper()
		data := must.Get(os.ReadFile(from))(t)
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		w, err := z.Create("features.npy")
		if err == nil {
			_, err = w.Write(data)
		}
		must.Do(t, errors.Join(err, z.Close()))
		must.Do(t, os.WriteFile(to, file.Bytes(), 0o644))
	}
	must.Do(t, os.Mkdir("beside", 0o755))
	t.Chdir("beside")
	copyTo("../e.npy", "e.npy")
	copyTo("../e.npy", "lone.npy")
	zipOf("../e.npy", "z.npz")
	copyTo("../l.csv", "l.csv")
	for _, c := range []struct{ args, want string }{
		{"eval run --embeddings lone.npy", "  hgld eval run --embeddings lone.npy --labels l.csv\n"},
		{"loss --loss triplet --embeddings lone.npy", "  hgld loss --loss triplet --embeddings lone.npy --labels l.csv\n"},
		{"train run --embeddings lone.npy", "  hgld train run --embeddings lone.npy --labels l.csv\n"},
		{"eval run --embeddings l.csv --labels e.npy", "  hgld eval run --embeddings e.npy --labels l.csv\n"},
		{"eval run --embeddings lone --labels l.csv", "  did you mean --embeddings lone.npy?\n"},
		{"search --index lone --id 3", "  did you mean --index lone.npy?\n"},
		{"eval run lone.npy", "  hgld eval run --embeddings lone.npy --labels LABELS.csv\n"},
		{"eval run --embeddings z.npz", "  hgld eval run --embeddings z.npz --labels l.csv\n"},
	} {
		if code, _, errs := run(t, strings.Fields(c.args)...); code == exitOK || !strings.Contains(errs, c.want) {
			t.Errorf("hgld %s: exit code %d, want %q:\n%s", c.args, code, c.want, errs)
		}
	}
	_, named, _ := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--metrics", "R@1")
	_, zipped, _ := run(t, "eval", "run", "--embeddings", "z.npz", "--labels", "l.csv", "--metrics", "R@1")
	if named != zipped {
		t.Errorf("of the array in an .npz:\n%s\nof the .npy:\n%s", zipped, named)
	}
	for _, query := range []string{"e.npy", "z.npz"} {
		if code, _, errs := run(t, "search", "--index", query, "--id", "3"); code != exitOK {
			t.Errorf("search in %s: exit code %d\n%s", query, code, errs)
		}
	}
	copyTo("l.csv", "e.csv")
	for _, args := range []string{"eval run --metrics R@1 --embeddings e.npy", "loss --loss triplet --embeddings e.npy"} {
		code, out, errs := run(t, strings.Fields(args)...)
		if code != exitOK || !strings.Contains(errs, "e.csv has the labels of e.npy") {
			t.Errorf("hgld %s: exit code %d:\n%s", args, code, errs)
		}
		if strings.HasPrefix(args, "eval") && (out != named || named == "") {
			t.Errorf("with the labels beside:\n%s\nwith the same named:\n%s", out, named)
		}
	}
	copyTo("l.csv", "e.tsv")
	says(t, exitUsage, "e.csv and e.tsv are both beside e.npy", "eval", "run", "--embeddings", "e.npy")
}
