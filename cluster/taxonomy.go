package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hgld/internal/usage"
	"hgld/labels"
)

// byTaxonomy is the algorithm that groups tags by the classes above them: Plan.Run knows these.
const byTaxonomy = "taxonomy"

// errNoItems is the error of a taxonomy without a plan that has items.
var errNoItems = errors.New("cluster: a taxonomy needs the classes above the tags (items.jsonl)")

func withoutItems(context.Context, KMeans, Matrix, uint64) (*Result, error) { return nil, errNoItems }

// taxonomy is the graph of the classes above the tags, by "subclass of".
type taxonomy struct {
	classes []*labels.Item // every class above a tag, and the classes of the tags themselves
	above   [][]int32      // of each tag: its class and those above, nearest first; nil for a tag without a chain
	under   [][]int32      // of each class: the tags below it, in order
	depth   []int          // of each class: number of classes above it
	content []float64      // of each class: information content, −ln of its share of the landmarks
	chained int            // tags with a chain
}

// UseItems gives a plan the items of stage 1, for the algorithm and the start called taxonomy. load is
// called when they are needed first.
func (p *Plan) UseItems(load func() (*labels.Items, error)) { p.items = load }

// graph returns the taxonomy of the tags. An error about items without any of the tags' classes is an
// usage error.
func (p *Plan) graph() (*taxonomy, error) {
	if p.taxonomy != nil {
		return p.taxonomy, nil
	}
	if p.items == nil {
		return nil, errNoItems
	}
	items, err := p.items()
	if err != nil {
		return nil, err
	}
	t := newTaxonomy(p.Tags, items)
	if t.chained == 0 {
		return nil, usage.Errorf("none of the %d tags has a class with a class above it among the items", len(p.Tags))
	}
	p.taxonomy = t
	return t, nil
}

// Chained returns the number of tags with a chain of classes, 0 if the plan has used none.
func (p *Plan) Chained() int {
	if p.taxonomy == nil {
		return 0
	}
	return p.taxonomy.chained
}

// newTaxonomy follows "subclass of" from the class of each tag. Circles end where they close. A tag
// has a chain if its class is known and is a subclass of another known one.
func newTaxonomy(tags []labels.DraftTag, items *labels.Items) *taxonomy {
	t := &taxonomy{above: make([][]int32, len(tags))}
	number := map[*labels.Item]int32{}
	total := 0.0
	var mass []float64
	for i, tag := range tags {
		chain := chainOf(items, tag.QID)
		if len(chain) < 2 {
			continue
		}
		t.chained++
		w := float64(max(tag.Landmarks, 1))
		total += w
		for _, class := range chain {
			n, known := number[class]
			if !known {
				n = int32(len(t.classes))
				number[class] = n
				t.classes, t.under, mass = append(t.classes, class), append(t.under, nil), append(mass, 0)
				t.depth = append(t.depth, len(chainOf(items, class.ID)))
			}
			t.above[i], t.under[n] = append(t.above[i], n), append(t.under[n], int32(i))
			mass[n] += w
		}
	}
	for _, m := range mass {
		t.content = append(t.content, math.Log(total/m))
	}
	return t
}

// chainOf lists an item and the classes above it, level by level.
func chainOf(items *labels.Items, id string) []*labels.Item {
	first := items.Get(id)
	if first == nil {
		return nil
	}
	chain, seen := []*labels.Item{first}, map[*labels.Item]bool{first: true}
	for at := 0; at < len(chain); at++ {
		for _, id := range chain[at].SubclassOf {
			if class := items.Get(id); class != nil && !seen[class] {
				seen[class] = true
				chain = append(chain, class)
			}
		}
	}
	return chain
}

// cut chooses at most k classes and puts every tag with a chain into the chosen class above it with the
// most information content; ties go to the nearest. It maximises
//
//	Σ_t w_t · content(class of t)
//
// greedily, which reaches at least 1 − 1/e of the best sum, because the sum is submodular (Nemhauser,
// Wolsey and Fisher, Mathematical Programming 14, 1978). Of classes that gain the same, the one with most
// classes above it is taken. A class whose tags all went to others is not counted; classes without a label
// are not chosen. group is −1 for tags without a chosen class.
func (t *taxonomy) cut(k int, weight func(int) float64) (chosen []int32, group []int32) {
	best := make([]float64, len(t.above)) // content of each tag's class so far
	group = make([]int32, len(t.above))   // that class
	for i := range group {
		group[i] = -1
	}
	taken := make([]bool, len(t.classes))
	sizes := map[int32]int{}
	for len(sizes) < k {
		next := t.next(taken, best, weight)
		if next < 0 {
			break
		}
		taken[next] = true
		for _, i := range t.under[next] {
			old := group[i]
			if t.content[next] < best[i] || old >= 0 && t.content[next] == best[i] && !t.nearer(int(i), next, old) {
				continue
			}
			if old >= 0 {
				if sizes[old]--; sizes[old] == 0 {
					delete(sizes, old)
				}
			}
			best[i], group[i] = t.content[next], next
			sizes[next]++
		}
	}
	for n := range t.classes {
		if sizes[int32(n)] > 0 {
			chosen = append(chosen, int32(n))
		}
	}
	return chosen, group
}

// next returns the class that adds most to the sum, or −1 if none adds anything.
func (t *taxonomy) next(taken []bool, best []float64, weight func(int) float64) int32 {
	at, most := int32(-1), 0.0
	for n := range t.classes {
		if taken[n] || t.classes[n].Label == "" {
			continue
		}
		gain := 0.0
		for _, i := range t.under[n] {
			gain += weight(int(i)) * max(0, t.content[n]-best[i])
		}
		if gain > most || gain == most && at >= 0 && t.depth[n] > t.depth[at] {
			at, most = int32(n), gain
		}
	}
	return at
}

// nearer reports whether class a comes before class b among those above a tag.
func (t *taxonomy) nearer(tag int, a, b int32) bool {
	return slices.Index(t.above[tag], a) < slices.Index(t.above[tag], b)
}

// runTaxonomy is Run of the algorithm taxonomy. Of the k clusters, tags with a chain get a share that
// corresponds to their number, at least one; the other tags join the nearest group or one of the clusters
// that are left, by k-means with known groups.
func (p *Plan) runTaxonomy(ctx context.Context, k int, seed uint64, watch func(Iteration)) (*Result, error) {
	if p.base.Known != nil || p.named != nil {
		return nil, usage.Errorf("a taxonomy takes neither known groups nor names of groups; use k-means for these")
	}
	t, err := p.graph()
	if err != nil {
		return nil, err
	}
	weight := func(i int) float64 { return 1 }
	if p.base.Weights != nil {
		weight = func(i int) float64 { return p.base.Weights[i] }
	}
	n := len(p.Tags)
	chosen, group := t.cut(max(1, (k*t.chained+n/2)/n), weight)
	known := &Known{Of: make([]int32, n)}
	classes := make([]*labels.Item, k)
	number := map[int32]int32{-1: -1}
	for g, class := range chosen {
		number[class], classes[g] = int32(g), t.classes[class]
		known.Names = append(known.Names, t.classes[class].Label)
	}
	for i, class := range group {
		known.Of[i] = number[class]
	}
	x, err := p.rows(k)
	if err != nil {
		return nil, err
	}
	o := p.base
	o.K, o.Watch, o.Known, o.Algorithm = k, watch, known, Elkan
	if o.Init == TaxonomyMeans {
		o.Init = WardMeans
	}
	r, err := o.Run(ctx, x, seed)
	if err != nil {
		return nil, err
	}
	r.Known, r.Classes, r.Algorithm = nil, classes, byTaxonomy
	if t.chained < n {
		r.Algorithm += ", " + o.name()
	}
	return r, nil
}

// taxonomyStart returns the means of the taxonomy's clusters of rows, to start k-means from.
func (p *Plan) taxonomyStart(ctx context.Context, k int, seed uint64) (Matrix, error) {
	r, err := p.runTaxonomy(ctx, k, seed, nil)
	if err != nil {
		return Matrix{}, err
	}
	start := NewMatrix(k, len(r.Centroids)/k)
	for i, v := range r.Centroids {
		start.Data[i] = float32(v)
	}
	return start, nil
}

// className returns the label of a class as the name of a cluster. Labels that are taken get their item.
func className(class *labels.Item, taken map[string]bool) string {
	name := class.Label
	if taken[name] {
		name = fmt.Sprintf("%s (%s)", class.Label, class.ID)
	}
	taken[name] = true
	return cmp.Or(name, class.ID)
}
