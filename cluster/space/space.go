// Package space answers what the page of stage 3 asks about the vectors of the tags:
// the groups nearest to a tag, the tags nearest to a group, a division of a group by
// k-means, and a map of all tags. It reads vectors.safetensors, which stage 2 writes.
//
// The interfaces that it satisfies are declared in curate/serve, in plain types.
package space

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/half"
	"hgld/internal/tensorfile"
	"hgld/labels"
)

// Space holds the vectors of a draft's tags and the centroid of each group. Distances
// are Euclidean, as in k-means; for a draft that was clustered by direction, vectors
// are scaled to unit length first. Once a group has a name with a vector (see named.go),
// distances are those of directions. A Space is used by one goroutine at a time, except
// that Split and Map may run beside the other methods.
//
// Vectors are stored as binary16: 44 MB for 57,000 tags of 384 values. The relative
// error is below 5e-4, far below the difference between neighbours. For each group the
// sum of its vectors is kept, so that an edit only adds and subtracts what moved.
type Space struct {
	draft *labels.Draft
	cols  int
	rows  []uint16  // [tags, cols] binary16
	wide  []float32 // value of every binary16

	of      []int32 // group of each tag, −1 for none
	decided []bool  // tags that a curator placed
	named   int     // groups with the vector of a name
	groups  []centroid
	byName  map[string]int // tags by their text
	learner *learner       // of the present state; nil before a proposal is asked for
}

// near is a group or a tag and its distance from what was asked about.
type near struct {
	at       int
	distance float64
}

// centroid is the sum of the vectors of a group's tags.
type centroid struct {
	name string
	n    int
	sum  []float64
	norm float64 // ‖sum/n‖²

	prototype *prototype // nil for a group without the vector of a name
}

// Open reads the vectors of d from the safetensors file at path. draft is the name of
// the draft's file, for errors. It returns a *cluster.OtherTagsError if the vectors
// belong to other tags.
func Open(path, draft string, d *labels.Draft) (*Space, error) {
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
		return nil, fmt.Errorf("%s: tensor \"vectors\" has the shape %v, want [tags, values]", path, t.Shape)
	}
	if err := cluster.CheckTags(path, t.Shape[0], f.Metadata["tags"], draft, d); err != nil {
		return nil, err
	}
	s := empty(d, t.Shape[1])
	if err := s.fill(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// empty makes a Space whose vectors are not set yet.
func empty(d *labels.Draft, cols int) *Space {
	s := &Space{draft: d, cols: cols, wide: halves(), byName: make(map[string]int, len(d.Tags)),
		rows: make([]uint16, len(d.Tags)*cols)}
	for i, tag := range d.Tags {
		s.byName[tag.Name] = i
	}
	return s
}

// halves returns the float32 value of every binary16.
func halves() []float32 {
	wide := make([]float32, 1<<16)
	for h := range wide {
		wide[h] = half.F16(uint16(h))
	}
	return wide
}

// fillRows is the number of rows that are read before their pages are released.
const fillRows = 2048

// fill narrows the vectors row by row and releases the pages it has read: the file is
// twice the size of what a Space keeps.
func (s *Space) fill(t tensorfile.Tensor) error {
	width := len(t.Data) / len(s.draft.Tags)
	for i := range s.draft.Tags {
		one := tensorfile.Tensor{Name: t.Name, DType: t.DType, Shape: []int{s.cols}, Data: t.Data[i*width : (i+1)*width]}
		row, err := one.Float32()
		if err != nil {
			return err
		}
		if err := s.setRow(i, row); err != nil {
			return err
		}
		if (i+1)%fillRows == 0 {
			release(t.Data[:(i+1)*width])
		}
	}
	return nil
}

// setRow stores the vector of tag i as binary16.
func (s *Space) setRow(i int, row []float32) error {
	scale := 1.0
	if s.spherical() {
		norm := 0.0
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		scale = 1 / math.Sqrt(norm)
	}
	for k, v := range row {
		x := half.ToF16(float32(float64(v) * scale))
		if w := s.wide[x]; w-w != 0 {
			return fmt.Errorf("vector %d has the value %v, which a binary16 cannot hold", i, v)
		}
		s.rows[i*s.cols+k] = x
	}
	return nil
}

// spherical reports whether the draft was clustered by direction.
func (s *Space) spherical() bool { return strings.Contains(s.draft.Origin.Algorithm, "spherical") }

func (s *Space) row(i int) []uint16 { return s.rows[i*s.cols : (i+1)*s.cols] }

// Place records where tags are and what groups are called: everything at first, then
// what each edit changed. groups is the number of groups, those that are gone
// included. names gives groups their names; a group named "" is gone. Tag tags[i] is
// now in group in[i], or in none if that is −1, and decided[i] says whether a curator put
// it there. The rest stays as it was. The cost is proportional to the number of tags that
// moved.
func (s *Space) Place(groups int, names map[int]string, tags, in []int, decided []bool) {
	if s.of == nil {
		s.of, s.decided = slices.Repeat([]int32{-1}, len(s.draft.Tags)), make([]bool, len(s.draft.Tags))
	}
	for g := len(s.groups); g < groups; g++ {
		s.groups = append(s.groups, centroid{sum: make([]float64, s.cols)})
	}
	s.learner = nil
	changed := map[int32]bool{}
	for i, tag := range tags {
		from, to := s.of[tag], int32(in[i])
		if from == to && s.decided[tag] == decided[i] {
			continue
		}
		s.learn(from, tag, -1)
		if from != to {
			s.add(from, tag, -1)
			s.add(to, tag, 1)
		}
		s.of[tag], s.decided[tag] = to, decided[i]
		s.learn(to, tag, 1)
		changed[from], changed[to] = true, true
	}
	s.truncate(groups)
	for g, name := range names {
		s.groups[g].name = name
	}
	for g := range changed {
		if g >= 0 && int(g) < len(s.groups) {
			s.groups[g].measure()
		}
	}
}

// add adds tag i to the sum of a group; with sign −1 it subtracts it.
func (s *Space) add(group int32, i int, sign float64) {
	if group < 0 {
		return
	}
	c := &s.groups[group]
	c.n += int(sign)
	for k, h := range s.row(i) {
		c.sum[k] += sign * float64(s.wide[h])
	}
	if c.n == 0 { // no rounding error may remain
		clear(c.sum)
	}
}

// measure computes norm, and the direction of the prototype.
func (c *centroid) measure() {
	c.norm = 0
	for _, v := range c.sum {
		c.norm += v * v
	}
	if c.n > 0 {
		c.norm /= float64(c.n) * float64(c.n)
	}
	if c.prototype != nil {
		c.prototype.updateDirection()
	}
}

// mean returns the mean vector of tags and its squared length.
func (s *Space) mean(tags []int) ([]float64, float64) {
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

// Nearest returns the n groups whose centroids are nearest to the mean of the tags,
// and their distances, nearest first. Groups for which skip returns true are left out.
// A group without tags is placed at its name, or at the tag that has its name, and left
// out if there is neither.
func (s *Space) Nearest(tags []int, n int, skip func(group int) bool) (groups []int, distances []float64) {
	x, xx := s.mean(tags)
	distance := func(c *centroid) (float64, bool) { return s.euclideanDistance(c, x, xx) }
	if s.named > 0 {
		cluster.Normalize(x)
		distance = func(c *centroid) (float64, bool) { return s.directionDistance(c, x) }
	}
	best := make([]near, 0, n+1) // in order
	for g := range s.groups {
		c := &s.groups[g]
		if c.name == "" || skip(g) {
			continue
		}
		if d, known := distance(c); known {
			x := near{g, d}
			i, _ := slices.BinarySearchFunc(best, x, byDistance)
			if i < n {
				best = slices.Insert(best, i, x)[:min(n, len(best)+1)]
			}
		}
	}
	return unzip(best)
}

// euclideanDistance returns the Euclidean distance from x, with the squared length xx, to a group. It
// returns false for a group without tags that has the name of none.
func (s *Space) euclideanDistance(c *centroid, x []float64, xx float64) (float64, bool) {
	if c.n > 0 {
		return math.Sqrt(max(0, xx-2*dot(c.sum, x)/float64(c.n)+c.norm)), true
	}
	tag, known := s.byName[c.name]
	if !known {
		return 0, false
	}
	along, norm := 0.0, 0.0
	for k, h := range s.row(tag) {
		v := float64(s.wide[h])
		along += v * x[k]
		norm += v * v
	}
	return math.Sqrt(max(0, xx-2*along+norm)), true
}

// dot adds in four chains, because each addition waits for the one before it.
func dot(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		a += x[k] * y[k]
		b += x[k+1] * y[k+1]
		c += x[k+2] * y[k+2]
		d += x[k+3] * y[k+3]
	}
	for ; k < len(x); k++ {
		a += x[k] * y[k]
	}
	return a + b + (c + d)
}

func byDistance(a, b near) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.at, b.at))
}

// unzip splits a list into numbers and distances.
func unzip(list []near) (at []int, distances []float64) {
	at, distances = make([]int, len(list)), make([]float64, len(list))
	for i, x := range list {
		at[i], distances[i] = x.at, x.distance
	}
	return at, distances
}

// Candidates returns the n tags nearest to the centroid of a group, among those for
// which take returns true, and their distances, nearest first.
func (s *Space) Candidates(group, n int, take func(tag int) bool) (tags []int, distances []float64) {
	centre := s.centre(&s.groups[group])
	if centre == nil {
		return nil, nil
	}
	return s.nearestTags(centre, n, take)
}

// Like returns the n tags nearest to the mean of some tags, among those for which take returns true, and
// their distances, nearest first.
func (s *Space) Like(tags []int, n int, take func(tag int) bool) (like []int, distances []float64) {
	mean, _ := s.mean(tags)
	centre := make([]float32, s.cols)
	for k, v := range mean {
		centre[k] = float32(v)
	}
	return s.nearestTags(centre, n, take)
}

// nearestTags returns the n tags nearest to a point, among those for which take returns true.
func (s *Space) nearestTags(centre []float32, n int, take func(tag int) bool) (tags []int, distances []float64) {
	var best []near
	most := float32(math.Inf(1))
	for i := range s.of {
		if !take(i) {
			continue
		}
		d := s.distance2(i, centre, most)
		if d > most {
			continue
		}
		found := near{i, float64(d)}
		at, _ := slices.BinarySearchFunc(best, found, byDistance)
		if best = slices.Insert(best, at, found); len(best) >= n {
			best = best[:n]
			most = float32(best[n-1].distance)
		}
	}
	for i := range best {
		best[i].distance = math.Sqrt(best[i].distance)
	}
	return unzip(best)
}

// centre returns where a group is: the direction of its prototype, the mean of its tags, or
// the tag that has its name. It returns nil if there is none of them.
func (s *Space) centre(c *centroid) []float32 {
	if c.prototype != nil {
		return c.prototype.unit
	}
	centre := make([]float32, s.cols)
	if c.n > 0 {
		for k, v := range c.sum {
			centre[k] = float32(v / float64(c.n))
		}
		return centre
	}
	tag, known := s.byName[c.name]
	if !known {
		return nil
	}
	for k, h := range s.row(tag) {
		centre[k] = s.wide[h]
	}
	return centre
}

// distance2 returns the squared distance from a tag to a vector. It stops early, with
// a value above most, once the distance exceeds most.
func (s *Space) distance2(i int, to []float32, most float32) float32 {
	total := float32(0)
	for row := s.row(i); len(row) > 0 && total <= most; {
		n := min(len(row), 64)
		total += s.part(row[:n], to[:n])
		row, to = row[n:], to[n:]
	}
	return total
}

// part returns the sum of squared differences. It uses four running sums, because the
// additions of a single one would wait for each other.
func (s *Space) part(row []uint16, to []float32) float32 {
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

// Distance returns the distance from a tag to the centroid of its group, 0 for a tag
// without one.
func (s *Space) Distance(tag int) float64 {
	g := s.of[tag]
	if g < 0 {
		return 0
	}
	sum, c := 0.0, s.centre(&s.groups[g])
	for k, h := range s.row(tag) {
		d := float64(s.wide[h]) - float64(c[k])
		sum += d * d
	}
	return math.Sqrt(sum)
}

// splitStarts is the number of k-means starts that a split tries: groups are small,
// and a preview should not make the curator wait.
const splitStarts = 10

// Split divides tags into at most k parts by the k-means of `hgld cluster run`: the
// largest part first, and within a part the tags nearest to its centroid first. There
// are fewer parts if there are fewer than k different vectors.
func (s *Space) Split(ctx context.Context, tags []int, k int, seed uint64) ([][]int, error) {
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
	r, err := cluster.KMeans{K: k, NInit: splitStarts, Spherical: s.spherical(), BLAS: lib}.Run(ctx, x, seed)
	if err != nil {
		return nil, err
	}
	parts := make([][]near, k)
	for i, p := range r.Labels {
		d := 0.0
		for c, v := range x.Row(i) {
			diff := float64(v) - r.Centroids[int(p)*s.cols+c]
			d += diff * diff
		}
		parts[p] = append(parts[p], near{tags[i], d})
	}
	slices.SortStableFunc(parts, func(a, b []near) int { return cmp.Compare(len(b), len(a)) })
	var lists [][]int
	for _, p := range parts {
		if len(p) == 0 {
			continue // fewer different vectors than parts
		}
		slices.SortFunc(p, byDistance)
		list := make([]int, len(p))
		for i := range p {
			list[i] = p[i].at
		}
		lists = append(lists, list)
	}
	return lists, nil
}
