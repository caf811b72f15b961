// Package tagdata has tags for tests: real ones of Wikimedia Commons, and files of given names.
package tagdata

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// Write writes a tags.jsonl in which tag i has len(names)−i landmarks, at least 1 and at most 40.
func Write(tb testing.TB, path string, names []string) {
	tb.Helper()
	f := must.Get(os.Create(path))(tb)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"hgld_tags":1}`)
	id := 0
	for i, name := range names {
		for range max(1, min(40, len(names)-i)) {
			id++
			line := must.Get(json.Marshal(map[string]any{"landmark_id": id, "split": "train",
				"category": fmt.Sprintf("https://commons.wikimedia.org/wiki/Category:Place_%d", id),
				"outcome":  "ok", "tag": name}))(tb)
			fmt.Fprintf(w, "%s\n", line)
		}
	}
	must.Do(tb, w.Flush())
	must.Do(tb, f.Close())
}

// Records returns 850 real rows of GLDv2 (real_rows.csv) as stage 1 would have written them.
// 237 of their tags are distinct.
func Records(tb testing.TB) []labels.Record {
	tb.Helper()
	rows := Table(tb, ',', goldens.Shared(tb, "data", "wikimedia", "real_rows.csv"))
	var records []labels.Record
	for _, row := range rows[1:] {
		id := must.Get(strconv.Atoi(row[1]))(tb)
		r := labels.Record{Split: labels.Split(row[0]), Landmark: labels.LandmarkID(id), Category: row[2],
			Outcome: labels.NoTag, Tag: row[4]}
		if r.Tag != "" {
			r.Outcome = labels.OK
		}
		records = append(records, r)
	}
	return records
}

// Table returns the rows of a CSV file, the header first; comma is a comma or a tab.
func Table(tb testing.TB, comma rune, path string) [][]string {
	tb.Helper()
	f := must.Get(os.Open(path))(tb)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, comma == '\t', -1
	rows := must.Get(r.ReadAll())(tb)
	return rows
}

// Draft clusters 3,358 labels of "instance of" by their MiniLM vectors into 150 clusters. The
// tags of the records are among them.
func Draft(tb testing.TB, records []labels.Record) *labels.Draft {
	tb.Helper()
	dir := goldens.Dir(tb, "cluster")
	landmarks := map[string]int{}
	for _, tag := range cluster.Tags(records) {
		landmarks[tag.Name] = tag.Landmarks
	}
	if len(landmarks) != 237 {
		tb.Fatalf("%d distinct real tags, want 237", len(landmarks))
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "label_embeddings.txt")))(tb)
	var tags []labels.DraftTag
	for name := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: landmarks[name]})
		delete(landmarks, name)
	}
	if len(landmarks) > 0 {
		tb.Fatalf("real tags without a vector: %v", landmarks)
	}
	f := must.Get(tensorfile.OpenSafetensors(filepath.Join(dir, "label_embeddings.safetensors")))(tb)
	defer f.Close()
	data := must.Get(f.Float32("photo"))(tb)
	x := cluster.Matrix{Rows: len(tags), Cols: len(data) / len(tags), Data: data}
	lib := must.Get(blas.Default())(tb)
	r := must.Get((cluster.KMeans{K: 150, Spherical: true, BLAS: lib}).Run(context.Background(), x, 1))(tb)
	draft := must.Get(cluster.NewDraft(tags, x, r,
		labels.Origin{Encoder: "all-MiniLM-L6-v2", Prompt: "a photo of a {}", Seed: 1}))(tb)
	return draft
}
