package cluster

import (
	"math"

	"hgld/internal/usage"
	"hgld/labels"
)

// leastShare is the share of a group's landmarks that a class must exceed to be above the group.
const leastShare = 0.5

// ParentProposal is a parent for a group of tags.
type ParentProposal struct {
	Group  int     // number of the group
	Parent string  // name of the parent
	Score  float64 // 0 to 1: how alike the classes are, or the share of the group's landmarks below the class
}

// ProposeParents proposes parents for groups of tags by the classes above the tags. of is the group of each tag, -1
// for none, and parents has the parent of each group, "" for none: these groups get a proposal.
//
// If some groups have a parent, each other gets the parent whose groups have the most similar classes: by the cosine
// of vectors of all classes, in which a class counts by its information content times the share of a group's landmarks
// below it. Otherwise at most k classes become parents. A class is above a group if it is above more than half of its
// landmarks; its content is then −ln of the share of groups that it is above. The classes are chosen one after the
// other, so that the sum over groups of the content of their best class rises most. A group that none is above gets no
// proposal. An error about items without any of the tags' classes is a usage error.
func ProposeParents(tags []labels.DraftTag, items *labels.Items, of []int32, parents []string,
	k int) ([]ParentProposal, error) {
	t := newTaxonomy(tags, items)
	if t.chained == 0 {
		return nil, usage.Errorf("none of the %d tags has a class with a class above it among the items", len(tags))
	}
	p := parentPlan{taxonomy: t, parents: parents, shares: make([]map[int32]float64, len(parents))}
	total := make([]float64, len(parents))
	for i, g := range of {
		if g < 0 || t.above[i] == nil {
			continue
		}
		if p.shares[g] == nil {
			p.shares[g] = map[int32]float64{}
		}
		w := float64(max(tags[i].Landmarks, 1))
		total[g] += w
		for _, class := range t.above[i] {
			p.shares[g][class] += w
		}
	}
	for g := range p.shares {
		for class := range p.shares[g] {
			p.shares[g][class] /= total[g]
		}
	}
	for _, name := range parents {
		if name != "" {
			return p.alike(), nil
		}
	}
	return p.chosen(k), nil
}

// parentPlan proposes parents.
type parentPlan struct {
	*taxonomy
	parents []string
	shares  []map[int32]float64 // of each group: of its landmarks with a chain, those below a class
}

// profile returns the classes of a group as a vector of unit length; zeros if it has none.
func (p *parentPlan) profile(group int) []float64 {
	x, square := make([]float64, len(p.classes)), 0.0
	for class := range x {
		x[class] = p.content[class] * p.shares[group][int32(class)]
		square += x[class] * x[class]
	}
	if square > 0 {
		scale := 1 / math.Sqrt(square)
		for class := range x {
			x[class] *= scale
		}
	}
	return x
}

// alike proposes the parents of the most similar groups.
func (p *parentPlan) alike() (list []ParentProposal) {
	var names []string
	sums := map[string][]float64{}
	for g, name := range p.parents {
		if name == "" {
			continue
		}
		if sums[name] == nil {
			names, sums[name] = append(names, name), make([]float64, len(p.classes))
		}
		for class, x := range p.profile(g) {
			sums[name][class] += x
		}
	}
	for g, name := range p.parents {
		if name != "" {
			continue
		}
		own, best := p.profile(g), ParentProposal{Group: g}
		for _, name := range names {
			along, square := 0.0, 0.0
			for class, x := range sums[name] {
				along += x * own[class]
				square += x * x
			}
			if along > 0 && along/math.Sqrt(square) > best.Score {
				best.Parent, best.Score = name, along/math.Sqrt(square)
			}
		}
		if best.Parent != "" {
			list = append(list, best)
		}
	}
	return list
}

// chosen proposes at most k classes.
func (p *parentPlan) chosen(k int) (list []ParentProposal) {
	below := p.below()
	best, class := make([]float64, len(p.parents)), make([]int32, len(p.parents))
	taken := make([]bool, len(p.classes))
	for range k {
		next := p.nextParent(below, taken, best)
		if next < 0 {
			break
		}
		taken[next] = true
		for _, g := range below[next] {
			if x := p.contentOf(below[next]); x > best[g] {
				best[g], class[g] = x, next
			}
		}
	}
	names := p.parentNames(taken)
	for g, x := range best {
		if x > 0 {
			list = append(list, ParentProposal{Group: g, Parent: names[class[g]], Score: p.shares[g][class[g]]})
		}
	}
	return list
}

// below lists the groups that each class is above.
func (p *parentPlan) below() [][]int {
	list := make([][]int, len(p.classes))
	for g, shares := range p.shares {
		for class, share := range shares {
			if share > leastShare {
				list[class] = append(list[class], g)
			}
		}
	}
	return list
}

// contentOf returns the information content of a class that is above groups.
func (p *parentPlan) contentOf(groups []int) float64 {
	placed := 0
	for _, shares := range p.shares {
		if shares != nil {
			placed++
		}
	}
	return math.Log(float64(placed) / float64(len(groups)))
}

// nextParent returns the class that adds most, or −1 if none adds anything. Of equal ones it is the one above most
// groups, and of these the one with most classes above it.
func (p *parentPlan) nextParent(below [][]int, taken []bool, best []float64) int32 {
	at, most := int32(-1), 0.0
	for n, groups := range below {
		if taken[n] || len(groups) == 0 || p.classes[n].Label == "" {
			continue
		}
		gain, content := 0.0, p.contentOf(groups)
		for _, g := range groups {
			gain += max(0, content-best[g])
		}
		const rounding = 1e-9 // equal sums of logarithms may differ by it
		switch {
		case gain > most+rounding:
		case at < 0 || gain < most-rounding || len(groups) < len(below[at]):
			continue
		case len(groups) == len(below[at]) && p.depth[n] <= p.depth[at]:
			continue
		}
		at, most = int32(n), gain
	}
	return at
}

// parentNames returns the names of the chosen classes.
func (p *parentPlan) parentNames(taken []bool) map[int32]string {
	names, used := map[int32]string{}, map[string]bool{}
	for n, is := range taken {
		if is {
			names[int32(n)] = className(p.classes[n], used)
		}
	}
	return names
}
