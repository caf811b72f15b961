package provenance

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/filehash"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// noRecords is a project folder without stages.
type noRecords struct{}

func (noRecords) Changed(string) (string, error) { return "", nil }
func (noRecords) Draft() (string, error)         { return "", nil }
func (noRecords) Labels(string) (*LabelsRecord, string, error) {
	return nil, "no project is here", nil
}

func TestProvenanceEndsAtLabelsWithoutARecord(t *testing.T) {
	got, err := Of(t.Context(), noRecords{}, Settings{Labels: "some/labels.csv"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels != nil || !slices.Equal(got.Unknown, []string{"labels.csv: no project is here"}) {
		t.Errorf("%+v", got)
	}
}

// The encoder's name contains the hash of its weights. A draft is followed only to exactly the tags
// that it was made of.
func TestDraftIsFollowedByItsHashes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	tags := write("tags.jsonl", `{"hgld_tags":1}`+"\n"+
		`{"landmark_id":1,"split":"train","category":"c","outcome":"ok","tag":"lake","source":"page"}`+"\n")
	sum, _, err := filehash.SHA256(t.Context(), tags)
	must.Do(t, err)
	weights := strings.Repeat("0123456789abcdef", 4)
	encoder := "clip(12 layers of 512,sha256=" + weights + ")"
	var text bytes.Buffer
	err = labels.WriteDraft(&text, &labels.Draft{Version: labels.DraftVersion, Origin: labels.Origin{
		Encoder: encoder, Weights: Weights(encoder), K: 1, Input: "tags.jsonl", InputSHA256: sum},
		Tags:     []labels.DraftTag{{Tag: labels.Tag{Name: "lake"}, Landmarks: 1}},
		Clusters: []labels.Cluster{{Name: "lake", Members: []labels.Member{{}}}}})
	must.Do(t, err)
	draft := write("draft.json", text.String())
	follow := func() shards.Provenance {
		found := &trace{records: noRecords{}}
		if err := found.draft(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
		return found.made
	}
	made := follow()
	if made.Clusters.Weights != weights || made.Scrape == nil || made.Scrape.Sources["page"] != 1 ||
		len(made.Unknown) > 0 {
		t.Errorf("%+v, %+v, %v", made.Clusters, made.Scrape, made.Unknown)
	}
	write("tags.jsonl", `{"hgld_tags":1}`+"\n")
	made = follow()
	if made.Scrape != nil || !slices.Equal(made.Unknown, []string{"tags.jsonl: the version that draft.json was made " +
		"from was not found"}) {
		t.Errorf("%+v, %v", made.Scrape, made.Unknown)
	}
	write("draft.json", strings.NewReplacer(`"tags.jsonl"`, `""`, sum, "").Replace(text.String()))
	if made = follow(); !slices.Equal(made.Unknown, []string{"draft.json: does not record which tags it was made from"}) {
		t.Errorf("a draft of no tags file: %v", made.Unknown)
	}
	if same, err := hasHash(t.Context(), dir, sum); same || err != nil {
		t.Errorf("a folder is a file with this hash: %v, %v", same, err)
	}
}
