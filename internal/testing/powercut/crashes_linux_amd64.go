package powercut

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// mostOf bounds the number of prefixes tried for the changes of one file or folder. If there
// are more, an evenly spread selection is tried.
const mostOf = 12

// crashes calls visit for the folders that a power cut at this point may leave. Some of them
// are equal. random is the number of random folders in addition to the systematic ones.
func (d *disk) crashes(cut int, call, acknowledged string, random int, rng *rand.Rand, visit func(*Crash) bool) bool {
	dirty := d.dirty()
	make := func(what string, in []bool, of func(n *node) reached) bool {
		c := &Crash{Cut: cut, Call: call, What: what, Acknowledged: acknowledged, disk: d, in: in, data: map[*node]reached{}}
		for _, n := range dirty {
			c.data[n] = of(n)
		}
		return visit(c)
	}
	is := func(r reached) func(*node) reached { return func(*node) reached { return r } }
	every, none := d.closed(func(int) bool { return true }), d.closed(func(int) bool { return false })
	if !make("all of it", every, is(everything)) || !make("what was synced alone", none, is(nothing)) ||
		!make("all names, and of files what was synced", every, is(nothing)) ||
		!make("all names and sizes, and of data what was synced", every, is(sizeAlone)) ||
		!make("all data, and of names what was synced", none, is(everything)) {
		return false
	}
	for f, folder := range d.moved() {
		for _, p := range spread(d.movesIn(folder)) {
			in := d.prefix(map[*node]int{folder: p})
			what := fmt.Sprintf("all but the changes of names from number %d on in folder %d", p, f)
			if !make(what+", all data", in, is(everything)) || !make(what+", synced data", in, is(nothing)) {
				return false
			}
		}
	}
	for i, n := range dirty {
		for _, r := range n.reaches() {
			of := func(other *node) reached {
				if other == n {
					return r
				}
				return everything
			}
			if !make(fmt.Sprintf("all but: file %d has %s", i, r.what), every, of) {
				return false
			}
		}
	}
	for k := range random {
		in := d.prefix(d.drawn(rng))
		if !make(fmt.Sprintf("drawn at random, number %d", k), in, func(n *node) reached { return n.draw(rng) }) {
			return false
		}
	}
	return true
}

// dirty returns the files with changes, in a fixed order.
func (d *disk) dirty() []*node {
	var list []*node
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if len(n.changes) > 0 {
			list = append(list, n)
		}
		for _, names := range []map[string]*node{n.names, n.now} {
			for _, base := range slices.Sorted(maps.Keys(names)) {
				walk(names[base])
			}
		}
	}
	walk(d.root)
	for _, m := range d.moves { // nodes without a name now may have one after the crash
		for _, p := range m {
			walk(p.to)
		}
	}
	return list
}

// moved returns the folders in which names have changed.
func (d *disk) moved() []*node {
	var list []*node
	for _, m := range d.moves {
		for _, p := range m {
			if !slices.Contains(list, p.folder) {
				list = append(list, p.folder)
			}
		}
	}
	return list
}

func (d *disk) movesIn(folder *node) int {
	n := 0
	for _, m := range d.moves {
		if m.touches(folder) {
			n++
		}
	}
	return n
}

// prefix returns which moves reach the disk if each folder in most keeps only its first moves,
// as many as given. A move between folders reaches the disk in both or in neither.
func (d *disk) prefix(most map[*node]int) []bool {
	in := make([]bool, len(d.moves))
	count, ended := map[*node]int{}, map[*node]bool{}
	for i, m := range d.moves {
		in[i] = true
		for _, p := range m {
			limit, has := most[p.folder]
			if ended[p.folder] || has && count[p.folder] >= limit {
				in[i] = false
			}
		}
		touched := map[*node]bool{}
		for _, p := range m {
			if !in[i] {
				ended[p.folder] = true
			} else if !touched[p.folder] {
				touched[p.folder] = true
				count[p.folder]++
			}
		}
	}
	return in
}

// drawn draws a random prefix for each folder.
func (d *disk) drawn(rng *rand.Rand) map[*node]int {
	most := map[*node]int{}
	for _, folder := range d.moved() {
		most[folder] = rng.IntN(d.movesIn(folder) + 1)
	}
	return most
}

// spread returns 0 to n−1, or mostOf of these numbers.
func spread(n int) []int {
	var list []int
	for i := range min(n, mostOf) {
		list = append(list, i*n/min(n, mostOf))
	}
	return list
}

// reaches returns the possible states of a file's changes on the disk.
func (n *node) reaches() []reached {
	list := []reached{nothing, sizeAlone}
	for _, i := range spread(len(n.changes)) {
		list = append(list, first(i, 0, false), without(i))
	}
	last := len(n.changes) - 1
	if size := len(n.changes[last].data); size > 1 {
		tears := []int{1, size / 2, size - 1}
		if size > blockSize {
			tears = append(tears, blockSize, size/2/blockSize*blockSize)
		}
		for _, b := range tears {
			list = append(list, first(last, b, false), first(last, b, true))
		}
	}
	return list
}

// draw returns one of these states at random.
func (n *node) draw(rng *rand.Rand) reached {
	i := rng.IntN(len(n.changes))
	torn := rng.IntN(len(n.changes[i].data) + 1)
	all := []reached{everything, nothing, sizeAlone, first(i, torn, false), first(i, torn, true), without(i),
		blocks(rng.Uint64())}
	return all[rng.IntN(len(all))]
}
