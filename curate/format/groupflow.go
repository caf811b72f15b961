package format

import (
	"maps"
	"slices"
)

// groupFlow says how the tags of A's groups are spread over those of B.
type groupFlow struct {
	born, gone map[string]bool
	out, in    map[string]map[string]int // number of tags of each group of A in each of B's, and vice versa
	flow       map[pairKey][]int
	renamed    map[string]string
}

func newGroupFlow(a, b map[string]bool, flow map[pairKey][]int) *groupFlow {
	g := &groupFlow{map[string]bool{}, map[string]bool{}, map[string]map[string]int{}, map[string]map[string]int{}, flow,
		map[string]string{}}
	for name := range a {
		g.gone[name] = !b[name]
	}
	for name := range b {
		g.born[name] = !a[name]
	}
	for key, tags := range flow {
		if !a[key.a] || !b[key.b] {
			continue // dropped, or without a group
		}
		count(g.out, key.a, key.b, len(tags))
		count(g.in, key.b, key.a, len(tags))
	}
	return g
}

func count(of map[string]map[string]int, from, to string, n int) {
	if of[from] == nil {
		of[from] = map[string]int{}
	}
	of[from][to] += n
}

// most returns the group that has more than half of a group's tags, "" if there is
// none.
func most(spread map[string]int) string {
	all, at := 0, ""
	for name, n := range spread {
		all += n
		if at == "" || n > spread[at] {
			at = name
		}
	}
	if at == "" || 2*spread[at] <= all {
		return ""
	}
	return at
}

// mains lists, for each group of the other side, the groups that have most of their
// tags in it.
func mains(spread map[string]map[string]int) map[string][]string {
	of := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(spread)) {
		if m := most(spread[name]); m != "" {
			of[m] = append(of[m], name)
		}
	}
	return of
}

// explain finds the groups that were merged, split, renamed, born and gone, and returns
// the flows of tags that these changes account for. A flow that belongs to two changes,
// as when a part of a split group is merged, is reported with the first.
func (g *groupFlow) explain(c *comparison, d *Difference) map[pairKey]bool {
	explained, told := map[pairKey]bool{}, [2]map[string]bool{{}, {}}
	tell := func(from, to []string) GroupChange {
		var tags []int
		for _, a := range from {
			told[0][a] = true
			for _, b := range to {
				told[1][b] = true
				if key := (pairKey{a, b}); !explained[key] {
					explained[key] = true
					tags = append(tags, g.flow[key]...)
				}
			}
		}
		return c.change(from, to, tags)
	}
	sources, parts := mains(g.out), mains(g.in)
	for _, b := range slices.Sorted(maps.Keys(sources)) {
		if from := sources[b]; len(from) > 1 && slices.ContainsFunc(from, func(a string) bool { return g.gone[a] }) {
			d.Merged = append(d.Merged, tell(from, []string{b}))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(parts)) {
		if to := parts[a]; len(to) > 1 && slices.ContainsFunc(to, func(b string) bool { return g.born[b] }) {
			d.Split = append(d.Split, tell([]string{a}, to))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(g.gone)) {
		if b := most(g.out[a]); g.gone[a] && b != "" && g.born[b] && most(g.in[b]) == a && !told[0][a] && !told[1][b] {
			g.renamed[a] = b
			d.Renamed = append(d.Renamed, tell([]string{a}, []string{b}))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(g.gone)) {
		if g.gone[a] && !told[0][a] {
			d.Removed = append(d.Removed, c.change([]string{a}, nil, c.members(0, a)))
		}
	}
	for _, b := range slices.Sorted(maps.Keys(g.born)) {
		if g.born[b] && !told[1][b] {
			d.Added = append(d.Added, c.change(nil, []string{b}, c.members(1, b)))
		}
	}
	return explained
}

// members lists the tags of a group.
func (c *comparison) members(side int, group string) []int {
	var tags []int
	for i := range c.draft.Tags {
		if c.group(side, i) == group {
			tags = append(tags, i)
		}
	}
	return tags
}
