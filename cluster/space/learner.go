package space

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"hgld/cluster"
	"hgld/internal/blas"
)

// A learner proposes groups from what is decided. A tag scores with a group
//
//	cos(x, prototype) + ridgeWeight · x·W + wordWeight · Σ log(p(group | word) / p(group)) + votes
//
// where x is its direction. W is ridge regression of the groups on the decided tags, in which each name counts as
// nameWeight tags. The words are the head word of the tag and its last two words, with their groups among the decided
// tags. Dropping is a group like any other once a tag is dropped; it has no name. Without a decided tag, the score is
// the cosine alone. On 3,191 names of 5,652 labels (one expert's groups and drops; names folded, a screen of one
// group at a time), 919 proposals were wrong with these weights; 1,115 without W, 1,188 without W and words, and 926
// to 1,003 with a half, twice or three times one of the weights. The votes are those of the voters decided tags with
// the largest cosines, each e^((cos − 1) / voteHeat), as shares of their sum and a prior, times n / (n + voteHalf) for
// n decided tags. With 4,029 labels on the lines of class screens, 1,016 corrections were needed with votes, 1,067
// without them, and 996 to 1,049 with other weights.
const (
	ridgeWeight = 2
	ridge       = 1 // added to the diagonal
	wordWeight  = 0.1
	wordPrior   = 2 // tags that the shares of all groups count as beside those of a word

	voters    = 10
	voteHeat  = 0.1
	votePrior = 0.012   // three votes at a cosine of .45
	voteHalf  = 1000    // decided tags with which the votes have half their weight
	mostVotes = 1 << 23 // pairs of tags that are compared at once; with more, nobody votes
)

// Dropping stands for the drop of a tag where a group is proposed.
const Dropping = -1

// learner is a copy of what a space has learnt.
type learner struct {
	s       *Space
	groups  []int          // of each row of names and prototypes, and Dropping at the end if a tag is dropped
	names   cluster.Matrix // directions of the names; no row for dropping
	nearest cluster.Matrix // prototypes
	decided []int          // tags
	class   []int          // of each decided tag: a row of nearest

	mu      sync.Mutex
	weights cluster.Matrix // by which directions are multiplied; without rows before it is fitted
	words   [2]map[string][]float32
	known   cluster.Matrix // directions of the decided tags, if there are few enough to vote
}

// newLearner copies the prototypes and the decided tags. It has no groups if fewer than two have a name.
func (s *Space) newLearner() *learner {
	l := &learner{s: s}
	row := map[int32]int{}
	for g := range s.groups {
		if c := &s.groups[g]; c.prototype != nil && c.name != "" {
			row[int32(g)] = len(l.groups)
			l.groups = append(l.groups, g)
			l.nearest.Data = append(l.nearest.Data, c.prototype.unit...)
			for _, v := range c.prototype.name {
				l.names.Data = append(l.names.Data, float32(v))
			}
		}
	}
	if len(l.groups) < 2 {
		return &learner{s: s}
	}
	l.names.Rows, l.names.Cols = len(l.groups), s.cols
	dropped := make([]float64, s.cols)
	for tag, g := range s.of {
		if !s.decided[tag] {
			continue
		}
		class, known := row[g]
		switch {
		case g < 0:
			class = len(l.names.Data) / s.cols
			for k, v := range s.unitRow(tag) {
				dropped[k] += v
			}
		case !known:
			continue // of a cluster without a name
		}
		l.decided, l.class = append(l.decided, tag), append(l.class, class)
	}
	if cluster.Normalize(dropped) {
		l.groups = append(l.groups, Dropping)
		for _, v := range dropped {
			l.nearest.Data = append(l.nearest.Data, float32(v))
		}
	}
	l.nearest.Rows, l.nearest.Cols = len(l.groups), s.cols
	return l
}

// Proposals prepares to propose groups: it copies what is known, and the returned function may run beside other calls.
// For each tag that function returns the n groups with the highest scores, best first, of which Dropping may be one,
// and by how much the first exceeds the second. Without two groups with a name it returns nil.
func (s *Space) Proposals(tags []int, n int) func(ctx context.Context) (groups [][]int, leads []float64, err error) {
	if s.learner == nil {
		s.learner = s.newLearner()
	}
	l, tags := s.learner, slices.Clone(tags)
	return func(ctx context.Context) ([][]int, []float64, error) {
		if len(l.groups) < 2 {
			return nil, nil, nil
		}
		return l.propose(ctx, tags, n)
	}
}

// leadTags is the number of tags whose vectors are widened at once.
const leadTags = 2048

func (l *learner) propose(ctx context.Context, tags []int, n int) (groups [][]int, leads []float64, err error) {
	lib, err := blas.Default()
	if err != nil {
		return nil, nil, err
	}
	if err := l.fit(ctx, lib); err != nil {
		return nil, nil, err
	}
	scores, order := cluster.NewMatrix(leadTags, len(l.groups)), make([]int, len(l.groups))
	for part := range slices.Chunk(tags, leadTags) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		x := l.s.directions(part)
		lib.Sgemm(false, true, len(part), len(l.groups), x.Cols, 1, x.Data, x.Cols, l.weights.Data, x.Cols, 0,
			scores.Data, scores.Cols)
		if l.known.Rows*len(tags) <= mostVotes {
			l.vote(lib, x, scores)
		}
		for i, tag := range part {
			row, name := scores.Row(i), l.s.draft.Tags[tag].Name
			addTo(row, l.words[0][cluster.HeadWord(name)])
			addTo(row, l.words[1][cluster.LastTwo(name)])
			at, by := cluster.Lead(row)
			best := []int{l.groups[at]}
			if n > 1 {
				for k := range order {
					order[k] = k
				}
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
				for _, k := range order[1:min(n, len(order))] {
					best = append(best, l.groups[k])
				}
			}
			groups, leads = append(groups, best), append(leads, by)
		}
	}
	return groups, leads, nil
}

// fit learns from the decided tags, once.
func (l *learner) fit(ctx context.Context, lib blas.Library) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.weights.Rows > 0:
	case len(l.decided) == 0:
		l.weights = l.nearest
	default:
		l.words = [2]map[string][]float32{l.countWords(cluster.HeadWord), l.countWords(cluster.LastTwo)}
		if len(l.decided) <= mostVotes/512 {
			l.known = l.s.directions(l.decided)
		}
		if l.weights, err = l.regress(ctx, lib); err != nil {
			l.weights = cluster.Matrix{}
		}
	}
	return err
}

// vote adds the votes of decided tags to the scores of the tags with the directions x.
func (l *learner) vote(lib blas.Library, x, scores cluster.Matrix) {
	if l.known.Rows == 0 {
		return
	}
	trust := float64(l.known.Rows) / float64(l.known.Rows+voteHalf)
	cosines := cluster.NewMatrix(x.Rows, l.known.Rows)
	lib.Sgemm(false, true, x.Rows, l.known.Rows, x.Cols, 1, x.Data, x.Cols, l.known.Data, x.Cols, 0, cosines.Data,
		cosines.Cols)
	for i := range x.Rows {
		row, sum := cosines.Row(i), votePrior
		var near []int // the nearest first
		for j, v := range row {
			if len(near) == voters && v <= row[near[voters-1]] {
				continue
			}
			at, _ := slices.BinarySearchFunc(near, v, func(k int, v float32) int { return cmp.Compare(v, row[k]) })
			near = slices.Insert(near[:min(len(near), voters-1)], at, j)
		}
		weights := make([]float64, len(near))
		for k, j := range near {
			weights[k] = math.Exp((float64(row[j]) - 1) / voteHeat)
			sum += weights[k]
		}
		for k, j := range near {
			scores.Row(i)[l.class[j]] += float32(trust * weights[k] / sum)
		}
	}
}

func addTo(row, more []float32) {
	for k, v := range more {
		row[k] += v
	}
}

// regress returns the rows by which directions are multiplied: prototype + ridgeWeight · W.
func (l *learner) regress(ctx context.Context, lib blas.Library) (cluster.Matrix, error) {
	n := l.s.cols
	gram, to := make([]float32, n*n), cluster.NewMatrix(l.nearest.Rows, n)
	add := func(x cluster.Matrix, weight float32, class func(i int) int) {
		lib.Sgemm(true, false, n, n, x.Rows, weight, x.Data, n, x.Data, n, 1, gram, n)
		for i := range x.Rows {
			sum := to.Row(class(i))
			for k, v := range x.Row(i) {
				sum[k] += weight * v
			}
		}
	}
	add(l.names, nameWeight, func(i int) int { return i })
	from := 0
	for part := range slices.Chunk(l.decided, leadTags) {
		if err := ctx.Err(); err != nil {
			return to, err
		}
		add(l.s.directions(part), 1, func(i int) int { return l.class[from+i] })
		from += len(part)
	}
	for k := range n {
		gram[k*n+k] += ridge
	}
	factor(gram, n)
	for g := range to.Rows {
		solve(gram, n, to.Row(g))
		for k, v := range l.nearest.Row(g) {
			to.Row(g)[k] = v + ridgeWeight*to.Row(g)[k]
		}
	}
	return to, nil
}

// factor replaces the lower triangle of a positive definite matrix, [n,n], by its Cholesky factor.
func factor(a []float32, n int) {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i + 1 {
			sum := row[j] - dot32(row[:j], a[j*n:j*n+j])
			if i == j {
				row[j] = float32(math.Sqrt(float64(sum)))
			} else {
				row[j] = sum / a[j*n+j]
			}
		}
	}
}

// solve replaces b by the solution of L·Lᵀ x = b, where L is what factor has left.
func solve(l []float32, n int, b []float32) {
	for i := range n {
		b[i] = (b[i] - dot32(l[i*n:i*n+i], b[:i])) / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		b[i] /= l[i*n+i]
		for j, v := range l[i*n : i*n+i] {
			b[j] -= v * b[i]
		}
	}
}

// dot32 is the product of two vectors of one length, in four sums.
func dot32(x, y []float32) float32 {
	var a, b, c, d float32
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
	return a + b + c + d
}

// countWords returns, for each word of decided tags, the weighted logarithm of how much more often each group has it
// than any tag.
func (l *learner) countWords(word func(string) string) map[string][]float32 {
	counts, all := map[string][]float64{}, make([]float64, l.nearest.Rows)
	for i, tag := range l.decided {
		w := word(l.s.draft.Tags[tag].Name)
		if counts[w] == nil {
			counts[w] = make([]float64, len(all))
		}
		counts[w][l.class[i]]++
		all[l.class[i]]++
	}
	total := float64(len(l.decided) + len(all))
	logs := map[string][]float32{}
	for w, of := range counts {
		n := 0.0
		for _, c := range of {
			n += c
		}
		logs[w] = make([]float32, len(all))
		for g, c := range of {
			share := (all[g] + 1) / total
			logs[w][g] = wordWeight * float32(math.Log((c+wordPrior*share)/(n+wordPrior)/share))
		}
	}
	return logs
}

// directions returns the directions of tags.
func (s *Space) directions(tags []int) cluster.Matrix {
	x := cluster.NewMatrix(len(tags), s.cols)
	for i, tag := range tags {
		for k, v := range s.unitRow(tag) {
			x.Row(i)[k] = float32(v)
		}
	}
	return x
}
