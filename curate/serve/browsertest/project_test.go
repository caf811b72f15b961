//go:build browser

package browsertest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
	"hgld/labels"
)

// smallProject makes a draft of 23 tags in five clusters by the command line.
func smallProject(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	names := []string{"church", "church building", "wooden church", "cathedral", "chapel", "parish church", "hill",
		"mountain", "mountain range", "hill range", "volcano mountain",
		"river", "river mouth", "small river", "lake", "lake shore", "bridge", "road bridge", "railway bridge",
		"footbridge bridge", "art  museum", " museum", "history museum"}
	tagdata.Write(t, filepath.Join(dir, "tags.jsonl"), names)
	program.Run(t, dir, "cluster", "run", "--k", "5", "--quiet")
	return dir
}

// writeGroupNames writes groups.txt with six names of groups.
func writeGroupNames(t testing.TB, dir string) {
	t.Helper()
	names := "church\nmountain\nriver\nlake\nbridge\nmuseum\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "groups.txt"), []byte(names), 0o644))
}

// oneCluster is a draft of one cluster with these labels, whose landmarks descend.
func oneCluster(names ...string) *labels.Draft {
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	for i, name := range names {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: len(names) - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
	}
	return d
}

func refs(names ...string) []curate.Ref {
	var list []curate.Ref
	for _, name := range names {
		list = append(list, curate.Ref{Name: name})
	}
	return list
}

func move(name, to string) curate.Edit {
	return curate.Edit{Op: curate.Move, From: refs(name), To: to}
}

func writeDraft(t testing.TB, dir string, d *labels.Draft) {
	t.Helper()
	err := atomicfile.Write(filepath.Join(dir, "draft.json"), func(w io.Writer) error { return labels.WriteDraft(w, d) })
	must.Do(t, err)
}

// createLog creates a log of the draft in a folder, and returns its path.
func createLog(t testing.TB, dir, name string, h curate.Header) string {
	t.Helper()
	sum, _, err := filehash.SHA256(context.Background(), filepath.Join(dir, "draft.json"))
	must.Do(t, err)
	h.DraftSHA256 = sum
	path := filepath.Join(dir, name)
	must.Do(t, curate.CreateLog(path, h))
	return path
}

// appendEdits appends edits to a log of a draft.
func appendEdits(t testing.TB, path, by string, d *labels.Draft, edits ...curate.Edit) {
	t.Helper()
	log, _, err := curate.OpenLog(path)
	must.Do(t, err)
	defer log.Close()
	session := must.Get(curate.NewSession(d, nil))(t)
	for _, e := range edits {
		e.Base, e.By = session.Version(), by
		if _, err := session.Apply(e, log.Append); err != nil {
			t.Fatal(err)
		}
	}
}

// writeCuration writes a draft and a log of edits by a curator.
func writeCuration(t testing.TB, dir string, d *labels.Draft, log string, edits ...curate.Edit) {
	t.Helper()
	writeDraft(t, dir, d)
	by := strings.TrimSuffix(log, ".jsonl")
	path := createLog(t, dir, log, curate.Header{By: by, Draft: "draft.json"})
	appendEdits(t, path, by, d, edits...)
}
