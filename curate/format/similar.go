package format

import (
	"cmp"
	"slices"

	"hgld/internal/registry"
	"hgld/labels"
)

// similar finds the tag of a draft that a name may be a misspelling of. Edit distances
// to all tags of a large draft would take minutes for a file of another scrape, so they
// are computed only for the tags that share most trigrams.
type similar struct {
	names  []string
	having map[[3]rune][]int // names by their trigrams
}

// similarMeasured is the number of names whose edit distance is computed.
const similarMeasured = 50

func newSimilar(tags []labels.DraftTag) *similar {
	s := &similar{having: map[[3]rune][]int{}}
	for i, t := range tags {
		s.names = append(s.names, t.Name)
		for group := range threes(t.Name) {
			s.having[group] = append(s.having[group], i)
		}
	}
	return s
}

// threes returns the trigrams of a name, including its ends.
func threes(name string) map[[3]rune]bool {
	text := []rune(" " + folded(name) + " ")
	groups := map[[3]rune]bool{}
	for i := range len(text) - 2 {
		groups[[3]rune(text[i:i+3])] = true
	}
	return groups
}

// nearest returns the nearest name, "" if none is close enough.
func (s *similar) nearest(name string) string {
	shared := map[int]int{}
	for group := range threes(name) {
		for _, i := range s.having[group] {
			shared[i]++
		}
	}
	var order []int
	for i := range shared {
		order = append(order, i)
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(shared[j], shared[i]), cmp.Compare(i, j)) })
	var candidates []string
	for _, i := range order[:min(len(order), similarMeasured)] {
		candidates = append(candidates, s.names[i])
	}
	return registry.Nearest(name, candidates)
}
