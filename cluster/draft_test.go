package cluster

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func record(id labels.LandmarkID, split labels.Split, tag, qid string) labels.Record {
	return labels.Record{Landmark: id, Split: split, Outcome: labels.OK, Tag: tag, QID: qid}
}

func TestTagsCountsLandmarksAndKeepsBytes(t *testing.T) {
	tags := Tags([]labels.Record{
		record(1, labels.Train, "church", "Q16970"),
		record(2, labels.Train, "church", "Q16970"),
		record(2, labels.Index, "church", "Q16970"), // another landmark with the same number
		record(2, labels.Index, "church", "Q16970"), // the same once more
		record(3, labels.Train, "church", ""),
		record(4, labels.Train, "Church", "Q16970"),
		record(5, labels.Train, "quarter of  Hamburg", ""),
		{Landmark: 6, Split: labels.Train, Outcome: labels.NoInfobox},
	})
	var got []string
	for _, tag := range tags {
		got = append(got, strings.Join([]string{tag.Name, tag.QID, string(rune('0' + tag.Landmarks))}, "|"))
	}
	want := []string{"church|Q16970|3", "Church|Q16970|1", "church||1", "quarter of  Hamburg||1"}
	if !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	other := slices.Clone(tags)
	other[0], other[1] = other[1], other[0]
	if Fingerprint(tags) == Fingerprint(other) {
		t.Error("tags in another order have the same fingerprint")
	}
}

// line returns n tags on a line, with the given landmarks.
func line(positions []float32, landmarks []int) ([]labels.DraftTag, Matrix) {
	x := NewMatrix(len(positions), 1)
	copy(x.Data, positions)
	tags := make([]labels.DraftTag, len(positions))
	for i := range tags {
		tags[i] = labels.DraftTag{Tag: labels.Tag{Name: string(rune('a' + i))}, Landmarks: landmarks[i]}
	}
	return tags, x
}

func TestDraftNamesOrdersAndMarksOutliers(t *testing.T) {
	// Around 0, a is used most and e is an outlier. Around 50 there are more landmarks in total.
	tags, x := line([]float32{2, 0, 1, 1.5, 12, 50, 51}, []int{90, 2, 3, 1, 1, 60, 70})
	r := run(t, KMeans{K: 2, Start: Matrix{2, 1, []float32{0, 50}}}, x, 0)
	d := must.Get(NewDraft(tags, x, r, labels.Origin{Encoder: "test", Seed: 7}))(t)
	if len(d.Clusters) != 2 || d.Clusters[0].Name != "g" || d.Clusters[1].Name != "a" {
		t.Fatalf("clusters %+v, want g (130 landmarks) before a (97)", d.Clusters)
	}
	var order []int
	for _, m := range d.Clusters[1].Members { // the mean is 3.3
		order = append(order, m.Tag)
		if m.Outlier != (m.Tag == 4) {
			t.Errorf("member %s at %.2f: outlier %v", tags[m.Tag].Name, m.Distance, m.Outlier)
		}
		if want := math.Abs(float64(x.Data[m.Tag]) - 3.3); math.Abs(m.Distance-want) > 1e-6 {
			t.Errorf("member %s: distance %v, want %v", tags[m.Tag].Name, m.Distance, want)
		}
	}
	if !slices.Equal(order, []int{0, 3, 2, 1, 4}) {
		t.Errorf("members in the order %v, want the nearest first", order)
	}
	if o := d.Origin; o.K != 2 || o.NInit != 1 || o.Seed != 7 || o.Algorithm != "k-means" || o.Inertia != r.Inertia ||
		o.Iterations != r.Iterations {
		t.Errorf("origin %+v", o)
	}
	if !slices.Equal(d.Clusters[0].Nearest, []int{1}) {
		t.Errorf("nearest clusters %v", d.Clusters[0].Nearest)
	}
}

func TestDraftLeavesOutEmptyClustersAndGivesEachItsName(t *testing.T) {
	tags, x := line([]float32{0, 0, 5, 5}, []int{1, 1, 1, 1})
	for i := range tags {
		tags[i].Name, tags[i].QID = "church", string(rune('A'+i))
	}
	r := run(t, KMeans{K: 3}, x, 1)
	d := must.Get(NewDraft(tags, x, r, labels.Origin{}))(t)
	if len(d.Clusters) != 2 || d.Clusters[0].Name != "church" || d.Clusters[1].Name != "church (2)" {
		t.Errorf("clusters %+v, want two, church and church (2)", d.Clusters)
	}
}

func TestDraftIsTheSameBytesTwice(t *testing.T) {
	x := planted(200, 16, 12, 0.5, 4)
	tags := make([]labels.DraftTag, x.Rows)
	for i := range tags {
		tags[i] = labels.DraftTag{Tag: labels.Tag{Name: "tag " + string(rune(0x4e00+i))}, Landmarks: 1 + i%7}
	}
	var files [2]bytes.Buffer
	for i := range files {
		d := must.Get(NewDraft(tags, x, run(t, KMeans{K: 15, NInit: 2, Spherical: true}, x, 3), labels.Origin{}))(t)
		must.Do(t, labels.WriteDraft(&files[i], d))
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two runs wrote different drafts")
	}
}

func TestVectorsSurviveTheirFile(t *testing.T) {
	x := planted(9, 5, 2, 1, 1)
	origin := VectorsOrigin{Encoder: "hashing(dim=5)", Prompt: "a photo of a {}", Tags: "ab"}
	path := filepath.Join(t.TempDir(), VectorsFile)
	f := must.Get(os.Create(path))(t)
	must.Do(t, WriteVectors(f, x, origin))
	must.Do(t, f.Close())
	y, got, err := ReadVectors(path)
	if err != nil || got != origin || !reflect.DeepEqual(x, y) {
		t.Errorf("read %v (%v), error %v", got, y.Rows, err)
	}
}

var hashing = Hashing{Dim: 256, MinN: 2, MaxN: 4, IDF: true}

func TestHashingOfSimilarWordsIsSimilar(t *testing.T) {
	x, err := Embed(context.Background(), hashing, "{}",
		[]string{"road bridge", "railway bridge", "Road Bridge", "volcano", "pont"})
	must.Do(t, err)
	cos := func(i, j int) (c float64) {
		for l, v := range x.Row(i) {
			c += float64(v) * float64(x.Row(j)[l])
		}
		return c
	}
	if math.Abs(cos(0, 0)-1) > 1e-6 || math.Abs(cos(0, 2)-1) > 1e-6 {
		t.Errorf("a text and itself in capitals: cosines %v and %v, want 1", cos(0, 0), cos(0, 2))
	}
	if cos(0, 1) < 0.3 || cos(0, 3) > 0.2 {
		t.Errorf("road bridge is %v like railway bridge and %v like volcano", cos(0, 1), cos(0, 3))
	}
}

func TestHashingFeaturesStayWithinWords(t *testing.T) {
	h := Hashing{Dim: 64, MinN: 2, MaxN: 3}
	if a, b := h.features(nil, "old  mill"), h.features(nil, "mill old"); !slices.Equal(a, b) {
		t.Errorf("features depend on the order of words or on white space: %x and %x", a, b)
	}
	// " a " has two bigrams and one trigram.
	if n := len(h.features(nil, "ä")); n != 3 {
		t.Errorf("%d features of one letter, want 3", n)
	}
}

// The vectors are part of the draft format: with another hash it would be another encoder.
func TestHashingEqualsItsDefinition(t *testing.T) {
	v := must.Get(Hashing{Dim: 4, MinN: 2, MaxN: 2}.Encode(context.Background(), []string{"sea"}))(t)
	// FNV-1a of " s", "se", "ea" and "a ", mixed, computed by hand from the definition.
	want := hashedByHand(t, []string{" s", "se", "ea", "a "}, 4)
	if !slices.Equal(v[0], want) {
		t.Errorf("vector %v, want %v", v[0], want)
	}
}

func hashedByHand(t *testing.T, features []string, dim uint64) []float32 {
	t.Helper()
	sums := make([]float64, dim)
	for _, f := range features {
		h := uint64(0xcbf29ce484222325)
		for _, b := range []byte(f) {
			h = (h ^ uint64(b)) * 0x100000001b3
		}
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
		h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
		h ^= h >> 33
		sums[h%dim] += 1 - 2*float64(h>>63)
	}
	n := math.Sqrt(sums[0]*sums[0] + sums[1]*sums[1] + sums[2]*sums[2] + sums[3]*sums[3])
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(sums[i] / n)
	}
	return v
}

func TestPromptsAndTextsThatCannotBeEncodedAreErrors(t *testing.T) {
	for _, c := range []struct {
		e     Encoder
		p     Prompt
		texts []string
		want  string
	}{
		{hashing, "a photo", []string{"church"}, "{}"},
		{hashing, "{}", []string{"church", " \u00a0"}, "text 1"},
		{Hashing{Dim: 8, MinN: 3, MaxN: 2}, "{}", []string{"church"}, "n-grams 3 to 2"},
	} {
		if _, err := Embed(context.Background(), c.e, c.p, c.texts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	if _, err := Pack([][]float32{{1, 2}, {1}}); err == nil || !strings.Contains(err.Error(), "vector 1") {
		t.Errorf("vectors of different length: %v", err)
	}
	for _, p := range Prompts {
		if _, err := p.Value.Fill([]string{"church"}); err != nil {
			t.Errorf("prompt %s: %v", p.Name, err)
		}
	}
}

// The first two entries of nearest are those of the directions, although the third centroid is closer than the second.
func TestScatteredTagsAreNotTheNearestClusterOfAll(t *testing.T) {
	centroids := []float64{
		1, 0, 0,
		0.65, 0.7, 0, // 0.68 by cosine, at a distance of 0.78
		0.45, 0, 0.5, // scattered, so short: 0.67 by cosine, at a distance of 0.74
	}
	if got := nearestClusters(centroids, 3, []int{0, 1, 2}, 0); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("nearest to cluster 0: %v", got)
	}
}

// Beside its vector, a text leaves little to collect: 60,000 tags do not fill the memory with sums.
func TestHashingATextTakesItsVector(t *testing.T) {
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = fmt.Sprintf("church of kind %d station", i)
	}
	h := Hashing{Dim: 512, MinN: 2, MaxN: 4, IDF: true}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Get(h.Encode(context.Background(), texts))(t)
	runtime.ReadMemStats(&after)
	vector := uint64(4 * h.Dim)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(texts)); each > 2*vector {
		t.Errorf("%d bytes for a text, want at most twice the %d of its vector", each, vector)
	}
}
