// Package propagate gives landmarks without a class that of the landmarks whose images look like theirs. Each image
// takes the vote of its nearest labelled images, and a landmark the mean of its images' votes. Labels that
// were left out measure how often the vote is right.
package propagate

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"hgld/train/device"
	"hgld/train/retrieval"
)

// Input are images and their landmarks.
type Input struct {
	// Vectors are those of the images, of unit length, [N,D].
	Vectors *retrieval.Matrix

	// Owner is the landmark of each image.
	Owner []int32

	// Class is the class of each landmark, −1 for those without one.
	Class []int32
}

// Options say how votes are counted.
type Options struct {
	// K is the number of neighbours of an image that vote.
	K int

	// Heat is the temperature: a neighbour of cosine s votes with exp(s/Heat), as in the classifier of DINO
	// (Caron et al., 2021).
	Heat float64

	// PerOwner bounds the images of a landmark that count, spread evenly over its rows; 0: all.
	PerOwner int

	// Estimate bounds the labelled landmarks that are asked as a test, chosen by Seed; 0: all.
	Estimate int
	Seed     uint64 // of the choice

	// Threads that select neighbours; 0: all processors.
	Threads int

	// Progress is told how many images were asked; nil: nobody is.
	Progress func(done, total int)
}

// Vote is what the neighbours of a landmark's images say.
type Vote struct {
	Landmark int     // its number
	Class    int32   // the class of most votes
	Share    float64 // of the votes, 0 to 1
	Second   int32   // the next class, −1: none
	Images   int     // images that voted
}

// Result are the votes of the landmarks without a class, and of those with one that were asked as a test. A labelled
// landmark is asked as if it had no class: its own images do not vote.
type Result struct {
	Votes []Vote // of landmarks without a class, by number
	Test  []Vote // of labelled landmarks, by number
}

// Run counts the votes. It fails if no landmark has a class.
func Run(ctx context.Context, b device.Backend, in Input, o Options) (*Result, error) {
	p := &plan{Input: in, Options: o}
	p.choose()
	if len(p.voters) == 0 {
		return nil, errors.New("no image belongs to a landmark with a class")
	}
	return p.run(ctx, b)
}

// plan is a Run in progress.
type plan struct {
	Input
	Options
	asked, voters []int // images
	most          int   // images of a landmark among the voters
}

// choose selects the images that ask and those that vote.
func (p *plan) choose() {
	images := make([][]int, len(p.Class))
	for i, l := range p.Owner {
		if l >= 0 {
			images[l] = append(images[l], i)
		}
	}
	var labelled []int
	for l, list := range images {
		if n := len(list); p.PerOwner > 0 && n > p.PerOwner {
			some := make([]int, p.PerOwner)
			for k := range some {
				some[k] = list[k*n/p.PerOwner]
			}
			images[l] = some
		}
		if p.Class[l] >= 0 && len(list) > 0 {
			labelled = append(labelled, l)
			p.voters = append(p.voters, images[l]...)
			p.most = max(p.most, len(images[l]))
		}
	}
	r := rand.New(rand.NewPCG(p.Seed, 0))
	r.Shuffle(len(labelled), func(i, j int) { labelled[i], labelled[j] = labelled[j], labelled[i] })
	if p.Estimate > 0 && len(labelled) > p.Estimate {
		labelled = labelled[:p.Estimate]
	}
	test := make([]bool, len(p.Class))
	for _, l := range labelled {
		test[l] = true
	}
	for l, list := range images {
		if p.Class[l] < 0 || test[l] {
			p.asked = append(p.asked, list...)
		}
	}
}

// run ranks the voters for the images that ask.
func (p *plan) run(ctx context.Context, b device.Backend) (*Result, error) {
	query, err := retrieval.SideOf(b, p.rows(p.asked), true)
	if err != nil {
		return nil, err
	}
	defer query.Free(b)
	gallery, err := retrieval.SideOf(b, p.rows(p.voters), true)
	if err != nil {
		return nil, err
	}
	defer gallery.Free(b)
	votes := map[int32]map[int32]float64{} // by landmark and class
	counted := map[int32]int{}
	s := retrieval.Search{Query: query, Gallery: gallery, K: p.K + p.most, Threads: p.Threads}
	err = s.Run(ctx, b, func(q int, rows []int32, scores []float32) error {
		own := p.Owner[p.asked[q]]
		if votes[own] == nil {
			votes[own] = map[int32]float64{}
		}
		if p.count(votes[own], own, rows, scores) {
			counted[own]++
		}
		if p.Progress != nil {
			p.Progress(q+1, len(p.asked))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{}
	for l, of := range votes {
		if counted[l] == 0 {
			continue
		}
		v := elect(of, counted[l])
		if v.Landmark = int(l); p.Class[l] < 0 {
			r.Votes = append(r.Votes, v)
		} else {
			r.Test = append(r.Test, v)
		}
	}
	byLandmark := func(a, b Vote) int { return cmp.Compare(a.Landmark, b.Landmark) }
	slices.SortFunc(r.Votes, byLandmark)
	slices.SortFunc(r.Test, byLandmark)
	return r, nil
}

func (p *plan) rows(list []int) *retrieval.Matrix {
	cols := p.Vectors.Cols
	m := &retrieval.Matrix{Cols: cols, Values: make([]float32, 0, len(list)*cols)}
	for _, i := range list {
		m.Values = append(m.Values, p.Vectors.Values[i*cols:][:cols]...)
	}
	return m
}

// count adds the vote of an image, 1 in total, of its K nearest voters that are not of its own landmark. It
// reports whether there are any.
func (p *plan) count(votes map[int32]float64, own int32, rows []int32, scores []float32) bool {
	weights, total := map[int32]float64{}, 0.0
	top, left := math.Inf(-1), p.K
	for i, row := range rows {
		of := p.Owner[p.voters[row]]
		if of == own || left == 0 {
			continue
		}
		left--
		score := float64(scores[i])
		if math.IsInf(top, -1) {
			top = score // the nearest; differences from it do not overflow
		}
		w := math.Exp((score - top) / p.Heat)
		weights[p.Class[of]] += w
		total += w
	}
	for class, w := range weights {
		votes[class] += w / total
	}
	return total > 0
}

// elect returns the class of most votes. Of equal ones the first class wins.
func elect(votes map[int32]float64, images int) Vote {
	v := Vote{Class: -1, Second: -1, Images: images}
	best, next := 0.0, 0.0
	classes := make([]int32, 0, len(votes))
	for class := range votes {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	for _, class := range classes {
		switch n := votes[class]; {
		case n > best:
			v.Second, next = v.Class, best
			v.Class, best = class, n
		case n > next:
			v.Second, next = class, n
		}
	}
	v.Share = best / float64(images)
	return v
}

// Level is how often votes of at least a share are right.
type Level struct {
	Least float64 // share of the votes
	Asked int     // labelled landmarks that were asked
	Given int     // of them, those with a vote of at least that share
	Right int     // of these, those whose own class it is
}

// Estimate compares the votes of labelled landmarks with their classes, at several shares.
func (r *Result) Estimate(class []int32, shares []float64) []Level {
	list := make([]Level, len(shares))
	for i, least := range shares {
		list[i] = Level{Least: least, Asked: len(r.Test)}
		for _, v := range r.Test {
			if v.Share < least {
				continue
			}
			if list[i].Given++; v.Class == class[v.Landmark] {
				list[i].Right++
			}
		}
	}
	return list
}

// Interval returns the share of right votes with its 95 % interval by Wilson's score.
func (l Level) Interval() (share, low, high float64) {
	n, z := float64(l.Given), 1.959963984540054
	if n == 0 {
		return math.NaN(), 0, 1
	}
	share = float64(l.Right) / n
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return share, max(middle-half, 0), min(middle+half, 1)
}
