package space

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/cluster"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// published holds the 753 labels with a known group among the 78 published ones, and the vectors of
// the names of these groups.
type published struct {
	*Space
	names  []string
	vector [][]float32
	truth  []int  // of each label, among names
	hand   []bool // labels of a real scrape, mapped by hand
}

func readPublished(t *testing.T) *published {
	t.Helper()
	p := &published{}
	p.names = lines(t, filepath.Join("testdata", "names", "names.txt"))
	named := matrixOf(t, filepath.Join("testdata", "names", "photo.safetensors"), "vectors", len(p.names))
	for i := range p.names {
		p.vector = append(p.vector, named.Row(i))
	}
	dir := goldens.Dir(t, "cluster")
	rows := map[string]int{}
	texts := lines(t, filepath.Join(dir, "label_embeddings.txt"))
	for i, text := range texts {
		rows[text] = i
	}
	all := matrixOf(t, filepath.Join(dir, "label_embeddings.safetensors"), "photo", len(texts))
	d := &labels.Draft{Version: labels.DraftVersion}
	var x cluster.Matrix
	for _, line := range lines(t, filepath.Join(dir, "tag_pairs.tsv"))[1:] {
		f := strings.Split(line, "\t")
		group := slices.Index(p.names, f[1])
		if group < 0 {
			continue // no group fits
		}
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: f[0]}})
		x.Data = append(x.Data, all.Row(rows[f[0]])...)
		p.truth, p.hand = append(p.truth, group), append(p.hand, f[3] == "hand")
	}
	x.Rows, x.Cols = len(d.Tags), all.Cols
	var err error
	if p.Space, err = inMemory(d, x); err != nil {
		t.Fatal(err)
	}
	p.begin()
	return p
}

// begin removes every label from its group and gives the groups their names.
func (p *published) begin() {
	names, tags, in := map[int]string{}, []int{}, []int{}
	for g, name := range p.names {
		names[g] = name
	}
	for i := range p.truth {
		tags, in = append(tags, i), append(in, -1)
	}
	p.Place(len(p.names), names, tags, in, make([]bool, len(tags)))
	for g, v := range p.vector {
		p.Name(g, v)
	}
}

// decide tells the space the true groups of labels.
func (p *published) decide(tags []int) {
	in, decided := []int{}, []bool{}
	for _, i := range tags {
		in, decided = append(in, p.truth[i]), append(decided, true)
	}
	p.Place(len(p.names), nil, tags, in, decided)
}

// right returns the share of labels whose group is among the n nearest.
func (p *published) right(tags []int, n int) float64 {
	right := 0
	for _, i := range tags {
		near, _ := p.Nearest([]int{i}, n, func(int) bool { return false })
		if slices.Contains(near, p.truth[i]) {
			right++
		}
	}
	return float64(right) / float64(len(tags))
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func matrixOf(t *testing.T, path, tensor string, rows int) cluster.Matrix {
	t.Helper()
	f := must.Get(tensorfile.OpenSafetensors(path))(t)
	defer f.Close()
	data := must.Get(f.Float32(tensor))(t)
	return cluster.Matrix{Rows: rows, Cols: len(data) / rows, Data: data}
}

// The values of docs/benchmarks.md, which NumPy computes from the same vectors. binary16 may change
// one label of 753.
func TestTheNearestNameIsRightForMostLabels(t *testing.T) {
	p := readPublished(t)
	var all, hand []int
	for i := range p.truth {
		if all = append(all, i); p.hand[i] {
			hand = append(hand, i)
		}
	}
	for _, c := range []struct {
		what string
		tags []int
		n    int
		want float64
	}{{"all", all, 1, 0.732}, {"all", all, 5, 0.892}, {"by hand", hand, 1, 0.800}, {"by hand", hand, 5, 0.940}} {
		if got := p.right(c.tags, c.n); got < c.want-0.006 || got > c.want+0.006 {
			t.Errorf("%s (%d labels): among %d nearest %.3f, want %.3f", c.what, len(c.tags), c.n, got, c.want)
		}
	}
	groups, leads, err := p.Proposals(all, 1)(t.Context())
	must.Do(t, err)
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b int) int { return int((leads[b] - leads[a]) * 1e9) })
	for share, want := range map[float64]float64{0.5: 0.979, 0.6: 0.956, 0.7: 0.909} {
		right := 0
		first := order[:int(share*float64(len(order)))]
		for _, i := range first {
			if groups[i][0] == p.truth[i] {
				right++
			}
		}
		if got := float64(right) / float64(len(first)); got < want-0.006 || got > want+0.006 {
			t.Errorf("the clearest %.0f %% of proposals are right by %.3f, want %.3f", 100*share, got, want)
		}
	}
}

// The values of docs/benchmarks.md are means of five random orders. NumPy drew other orders, so the
// values may differ by the deviation of such means.
func TestDecisionsMakeSuggestionsBetterThanNamesAlone(t *testing.T) {
	p := readPublished(t)
	for _, c := range []struct {
		decided   int
		one, five float64
	}{{20, 0.754, 0.900}, {75, 0.769, 0.911}, {150, 0.784, 0.916}, {375, 0.805, 0.928}} {
		one, five := 0.0, 0.0
		for seed := range uint64(5) {
			order := rand.New(rand.NewPCG(seed, 1)).Perm(len(p.truth))
			p.begin()
			p.decide(order[:c.decided])
			one += p.right(order[c.decided:], 1) / 5
			five += p.right(order[c.decided:], 5) / 5
		}
		t.Logf("%d decided: nearest %.3f, among five %.3f", c.decided, one, five)
		if one < c.one-0.02 || five < c.five-0.02 {
			t.Errorf("%d decided: nearest %.3f, among five %.3f; want %.3f and %.3f", c.decided, one, five, c.one, c.five)
		}
	}
}
