package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/curate/serve"
	"hgld/internal/blas"
	"hgld/internal/half"
	"hgld/internal/tensorfile"
	"hgld/labels"
)

// space is what the page of `hgld curate serve` knows of the tags' vectors: the
// groups nearest to a tag, and what k-means makes of a group. Distances are
// Euclidean, as in k-means; of directions, where the draft was clustered by them.
//
// The vectors are kept as halves, 44 MB for 57,000 tags of 384 values: they differ
// from their floats by less than 5e-4 relative, far less than neighbours do. Each
// group has the sum of its vectors, from which an edit takes what it moves.
type space struct {
	draft *labels.Draft
	cols  int
	rows  []uint16  // [tags, cols] binary16
	wide  []float32 // value of every binary16

	of     []int32
	groups []centroid
	byName map[string]int // tags by their text
}

// centroid is the sum of the vectors of a group's tags.
type centroid struct {
	name string
	n    int
	sum  []float64
	norm float64 // ‖sum/n‖²
}

// openSpace reads the vectors of a draft, whose file is called draft.
func openSpace(path, draft string, d *labels.Draft) (*space, error) {
	f, err := tensorfile.OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Tensor("vectors")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(t.Shape) != 2 || t.Shape[1] == 0 {
		return nil, fmt.Errorf("%s has vectors of the shape %v; want [tags, values]", path, t.Shape)
	}
	if err := sameTags(path, t.Shape[0], f.Metadata["tags"], draft, d); err != nil {
		return nil, err
	}
	s := &space{draft: d, cols: t.Shape[1], wide: halves(), byName: make(map[string]int, len(d.Tags))}
	for i, tag := range d.Tags {
		s.byName[tag.Name] = i
	}
	if err := s.fill(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// halves is the value of every binary16.
func halves() []float32 {
	wide := make([]float32, 1<<16)
	for h := range wide {
		wide[h] = half.F16(uint16(h))
	}
	return wide
}

// fillRows is how many rows are read before their pages are let go.
const fillRows = 2048

// fill narrows the vectors, row by row, and lets go of what it has read: the file
// is twice as large as what the server keeps.
func (s *space) fill(t tensorfile.Tensor) error {
	width := len(t.Data) / len(s.draft.Tags)
	s.rows = make([]uint16, len(s.draft.Tags)*s.cols)
	spherical := strings.Contains(s.draft.Origin.Algorithm, "spherical")
	for i := range s.draft.Tags {
		row, err := tensorfile.Tensor{Name: t.Name, DType: t.DType, Shape: []int{s.cols}, Data: t.Data[i*width : (i+1)*width]}.Float32()
		if err != nil {
			return err
		}
		scale := 1.0
		if spherical {
			norm := 0.0
			for _, v := range row {
				norm += float64(v) * float64(v)
			}
			scale = 1 / math.Sqrt(norm)
		}
		for k, v := range row {
			x := half.ToF16(float32(float64(v) * scale))
			if w := s.wide[x]; w-w != 0 {
				return fmt.Errorf("vector %d has the value %v, which is no half", i, v)
			}
			s.rows[i*s.cols+k] = x
		}
		if (i+1)%fillRows == 0 {
			letGo(t.Data[:(i+1)*width])
		}
	}
	return nil
}

func (s *space) row(i int) []uint16 { return s.rows[i*s.cols : (i+1)*s.cols] }

// Place implements serve.Suggester. Only what moved is added up anew.
func (s *space) Place(p serve.Placement) {
	if s.of == nil {
		s.of = slices.Repeat([]int32{-1}, len(s.draft.Tags))
	}
	for g := len(s.groups); g < p.Groups; g++ {
		s.groups = append(s.groups, centroid{sum: make([]float64, s.cols)})
	}
	changed := map[int32]bool{}
	for _, t := range p.Tags {
		from, to := s.of[t.Tag], int32(t.Group)
		if from == to {
			continue
		}
		s.add(from, t.Tag, -1)
		s.add(to, t.Tag, 1)
		s.of[t.Tag] = to
		changed[from], changed[to] = true, true
	}
	s.groups = s.groups[:p.Groups]
	for _, n := range p.Names {
		s.groups[n.Group].name = n.Name
	}
	for g := range changed {
		if g >= 0 && int(g) < len(s.groups) {
			s.groups[g].measure()
		}
	}
}

// add adds tag i to the sum of a group, or with −1 takes it away.
func (s *space) add(group int32, i int, sign float64) {
	if group < 0 {
		return
	}
	c := &s.groups[group]
	c.n += int(sign)
	for k, h := range s.row(i) {
		c.sum[k] += sign * float64(s.wide[h])
	}
	if c.n == 0 { // nothing of rounding stays behind
		clear(c.sum)
	}
}

func (c *centroid) measure() {
	c.norm = 0
	for _, v := range c.sum {
		c.norm += v * v
	}
	if c.n > 0 {
		c.norm /= float64(c.n) * float64(c.n)
	}
}

// mean returns the mean vector of tags and its squared length.
func (s *space) mean(tags []int) ([]float64, float64) {
	c := centroid{n: len(tags), sum: make([]float64, s.cols)}
	for _, i := range tags {
		for k, h := range s.row(i) {
			c.sum[k] += float64(s.wide[h])
		}
	}
	c.measure()
	for k := range c.sum {
		c.sum[k] /= float64(c.n)
	}
	return c.sum, c.norm
}

// Nearest implements serve.Suggester. A group without tags stands where the tag
// with its name does, if there is one.
func (s *space) Nearest(tags []int, n int, skip func(int) bool) []serve.Near {
	x, xx := s.mean(tags)
	var all []serve.Near
	for g := range s.groups {
		c := &s.groups[g]
		if c.name == "" || skip(g) {
			continue
		}
		dot, norm := 0.0, c.norm
		if c.n > 0 {
			for k, v := range c.sum {
				dot += v * x[k]
			}
			dot /= float64(c.n)
		} else {
			tag, known := s.byName[c.name]
			if !known {
				continue
			}
			norm = 0
			for k, h := range s.row(tag) {
				v := float64(s.wide[h])
				dot += v * x[k]
				norm += v * v
			}
		}
		all = append(all, serve.Near{At: g, Distance: math.Sqrt(max(0, xx-2*dot+norm))})
	}
	slices.SortFunc(all, byDistance)
	return all[:min(n, len(all))]
}

func byDistance(a, b serve.Near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.At, b.At))
}

// Candidates implements serve.Suggester.
func (s *space) Candidates(group, n int, take func(int) bool) []serve.Near {
	c := &s.groups[group]
	near := make([]float32, s.cols)
	if tag, known := s.byName[c.name]; known && c.n == 0 {
		for k, h := range s.row(tag) {
			near[k] = s.wide[h]
		}
	} else if c.n > 0 {
		for k, v := range c.sum {
			near[k] = float32(v / float64(c.n))
		}
	} else {
		return nil
	}
	var best []serve.Near
	most := float32(math.Inf(1))
	for i := range s.of {
		if !take(i) {
			continue
		}
		d := s.distance2(i, near, most)
		if d > most {
			continue
		}
		found := serve.Near{At: i, Distance: float64(d)}
		at, _ := slices.BinarySearchFunc(best, found, byDistance)
		if best = slices.Insert(best, at, found); len(best) >= n {
			best = best[:n]
			most = float32(best[n-1].Distance)
		}
	}
	for i := range best {
		best[i].Distance = math.Sqrt(best[i].Distance)
	}
	return best
}

// distance2 is the squared distance of a tag to a vector, or, where that is more
// than most, something that is more, too.
func (s *space) distance2(i int, to []float32, most float32) float32 {
	total := float32(0)
	for row := s.row(i); len(row) > 0 && total <= most; {
		n := min(len(row), 64)
		total += s.part(row[:n], to[:n])
		row, to = row[n:], to[n:]
	}
	return total
}

// part sums squares of differences in four sums: one after the other would wait
// for one another.
func (s *space) part(row []uint16, to []float32) float32 {
	wide, to := (*[1 << 16]float32)(s.wide), to[:len(row)]
	var a, b, c, d float32
	k := 0
	for ; k+4 <= len(row); k += 4 {
		da, db, dc, dd := wide[row[k]]-to[k], wide[row[k+1]]-to[k+1], wide[row[k+2]]-to[k+2], wide[row[k+3]]-to[k+3]
		a, b, c, d = a+da*da, b+db*db, c+dc*dc, d+dd*dd
	}
	for ; k < len(row); k++ {
		da := wide[row[k]] - to[k]
		a += da * da
	}
	return a + b + c + d
}

// Distance implements serve.Suggester.
func (s *space) Distance(tag int) float64 {
	g := s.of[tag]
	if g < 0 {
		return 0
	}
	sum, c := 0.0, &s.groups[g]
	for k, h := range s.row(tag) {
		d := float64(s.wide[h]) - c.sum[k]/float64(c.n)
		sum += d * d
	}
	return math.Sqrt(sum)
}

// splitStarts is how many starts of k-means a split tries: groups are small, and
// a preview should not wait.
const splitStarts = 10

// Split implements serve.Splitter by the k-means of `hgld cluster run`, most
// members first.
func (s *space) Split(ctx context.Context, tags []int, k int, seed uint64) ([][]int, error) {
	x := cluster.NewMatrix(len(tags), s.cols)
	for i, tag := range tags {
		for c, h := range s.row(tag) {
			x.Row(i)[c] = s.wide[h]
		}
	}
	lib, err := blas.Default()
	if err != nil {
		return nil, err
	}
	r, err := cluster.KMeans{K: k, NInit: splitStarts, Spherical: strings.Contains(s.draft.Origin.Algorithm, "spherical"), BLAS: lib}.Run(ctx, x, seed)
	if err != nil {
		return nil, err
	}
	parts := make([][]serve.Near, k)
	for i, p := range r.Labels {
		d := 0.0
		for c, v := range x.Row(i) {
			diff := float64(v) - r.Centroids[int(p)*s.cols+c]
			d += diff * diff
		}
		parts[p] = append(parts[p], serve.Near{At: tags[i], Distance: d})
	}
	slices.SortStableFunc(parts, func(a, b []serve.Near) int { return cmp.Compare(len(b), len(a)) })
	var lists [][]int
	for _, p := range parts {
		if len(p) == 0 {
			continue // fewer different tags than parts
		}
		slices.SortFunc(p, byDistance)
		list := make([]int, len(p))
		for i := range p {
			list[i] = p[i].At
		}
		lists = append(lists, list)
	}
	return lists, nil
}
