package curate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Stratum is a part of the tags that a proposal has left, in the order of their scores.
type Stratum struct {
	Left     int     `json:"left"`     // number of its tags
	Checked  int     `json:"checked"`  // number of checked tags with scores like theirs
	Wrong    int     `json:"wrong"`    // number of those that are wrong
	Expected float64 `json:"expected"` // number of tags of Left that are expected to be wrong: Left·Wrong/Checked
	// Low is the lower end of its 95 % interval, by Wilson (Journal of the American Statistical
	// Association 22, 1927).
	Low  float64 `json:"low"`
	High float64 `json:"high"` // upper end
}

// strata is the largest number of strata. Five of equal size remove most of the difference between
// what was checked and what is left (Cochran, Biometrics 24, 1968).
const strata = 5

// leastChecked is the number of checked tags that every stratum needs if there are several.
const leastChecked = 4

// draw lists the tags of a proposal in the order in which they are checked: one of each fifth by
// score, then another of each.
func (p proposed) draw(shuffle *rand.Rand) []int32 {
	tags := slices.Clone(p.tags)
	if len(p.scores) == 0 {
		shuffle.Shuffle(len(tags), func(a, b int) { tags[a], tags[b] = tags[b], tags[a] })
		return tags
	}
	p.sort(tags)
	var blocks [strata][]int32
	for b := range blocks {
		blocks[b] = tags[b*len(tags)/strata : (b+1)*len(tags)/strata]
		block := blocks[b]
		shuffle.Shuffle(len(block), func(x, y int) { block[x], block[y] = block[y], block[x] })
	}
	order := make([]int32, 0, len(tags))
	for k := range len(tags) {
		for _, block := range blocks {
			if k < len(block) {
				order = append(order, block[k])
			}
		}
	}
	return order
}

// sort sorts tags by their scores, the surest first.
func (p proposed) sort(tags []int32) {
	slices.SortStableFunc(tags, func(a, b int32) int { return cmp.Compare(p.scores[b], p.scores[a]) })
}

// stratify computes Strata, Expected and its interval from the verdicts on checked tags.
//
// A checked tag says something about the tags that are left only if it could be one of them: if
// its group has tags left, and if its score is within the range of theirs. After the surest have
// been confirmed, the tags that were checked among them no longer count. The tags that are left are
// divided by score into strata of equal size, as many as have enough checked tags each. The
// interval of the sum combines those of the strata by the distances of their ends (Zou and Donner,
// Statistics in Medicine 27, 2008).
func (c *ProposalCheck) stratify(p proposed, left []int, verdicts map[int32]bool) {
	c.Strata, c.High = []Stratum{}, float64(len(left))
	open := make([]int32, len(left))
	groups := map[string]bool{}
	for i, tag := range left {
		open[i] = int32(tag)
		groups[p.into[int32(tag)]] = true
	}
	p.sort(open)
	var checked []int32
	for tag := range verdicts {
		score := p.scores[tag]
		if groups[p.into[tag]] && score <= p.scores[open[0]] && score >= p.scores[open[len(open)-1]] {
			checked = append(checked, tag)
		}
	}
	if len(checked) == 0 {
		return
	}
	n := 1
	if len(p.scores) > 0 {
		n = min(strata, len(open))
	}
	for ; n > 0; n-- {
		c.Strata = p.divide(open, checked, verdicts, n)
		if n == 1 || !slices.ContainsFunc(c.Strata, func(s Stratum) bool { return s.Checked < leastChecked }) {
			break
		}
	}
	var expected, low, high float64
	for i := range c.Strata {
		s := &c.Strata[i]
		s.estimate()
		expected += s.Expected
		low += (s.Expected - s.Low) * (s.Expected - s.Low)
		high += (s.High - s.Expected) * (s.High - s.Expected)
	}
	c.Expected = new(expected)
	c.Low, c.High = max(0, expected-math.Sqrt(low)), min(float64(len(open)), expected+math.Sqrt(high))
}

// divide makes n strata of the open tags, which are sorted, and counts the checked tags in them.
func (p proposed) divide(open, checked []int32, verdicts map[int32]bool, n int) []Stratum {
	list := make([]Stratum, n)
	least := make([]float64, n) // the scores that divide a stratum from the next
	for k := range list {
		from, to := k*len(open)/n, (k+1)*len(open)/n
		list[k].Left, least[k] = to-from, math.Inf(-1)
		if to < len(open) {
			least[k] = (p.scores[open[to-1]] + p.scores[open[to]]) / 2
		}
	}
	for _, tag := range checked {
		k := slices.IndexFunc(least, func(score float64) bool { return p.scores[tag] >= score })
		list[k].Checked++
		if !verdicts[tag] {
			list[k].Wrong++
		}
	}
	return list
}

// estimate computes Expected and its interval.
func (s *Stratum) estimate() {
	const z = 1.959963984540054 // the normal distribution's quantile of 0.975
	n, left := float64(s.Checked), float64(s.Left)
	p := float64(s.Wrong) / n
	s.Expected = p * left
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	s.Low, s.High = max(0, middle-half)*left, min(1, middle+half)*left
}
