package text

import (
	"slices"

	"hgld/train/device"
)

// causalNet is a tower with a causal mask: a token attends to itself and the tokens before it.
// Texts with a common prefix therefore have the same vectors there, in every layer, so a batch is
// computed as the prefix tree of its texts. A node of the tree is a token that follows those on
// the path from the root, and is one row of the matrices. For example, 5,700 labels in "A picture
// of a {}" have 9.3 tokens each, but only 3.0 nodes.
type causalNet struct {
	tower
	words, positions device.Array
	last             layerNorm
	project          linear // of the end token: [N,D] → [N,vector]
}

// prefixes is the prefix tree of a batch.
type prefixes struct {
	ids, positions []int32    // of each node: the token, and its depth
	mask           raggedMask // of the attention
	ends           []int32    // last node of each text
}

// prefixesOf builds the prefix tree of texts sorted by ids.
func prefixesOf(jobs []job) *prefixes {
	p := &prefixes{}
	before := 0 // start of the previous text's keys
	for i, j := range jobs {
		from, shared := len(p.mask.keys), 0
		if i > 0 {
			shared = common(jobs[i-1].ids, j.ids)
			p.mask.keys = append(p.mask.keys, p.mask.keys[before:][:shared]...)
		}
		for at := shared; at < len(j.ids); at++ {
			p.mask.keys = append(p.mask.keys, int32(len(p.ids)))
			p.mask.spans = append(p.mask.spans, int32(from), int32(len(p.mask.keys)))
			p.ids, p.positions = append(p.ids, j.ids[at]), append(p.positions, int32(at))
		}
		p.ends = append(p.ends, p.mask.keys[len(p.mask.keys)-1])
		before = from
	}
	return p
}

// common returns the length of the longest common prefix.
func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func (c *causalNet) compare(a, b job) int { return slices.Compare(a.ids, b.ids) }

// batch returns how many texts fit in batchTokens nodes.
func (c *causalNet) batch(jobs []job) int {
	nodes, n := len(jobs[0].ids), 1
	for n < len(jobs) {
		nodes += len(jobs[n].ids) - common(jobs[n-1].ids, jobs[n].ids)
		if nodes > batchTokens {
			break
		}
		n++
	}
	return n
}

func (c *causalNet) forward(p *pass, jobs []job) device.Array {
	tree := prefixesOf(jobs)
	r := c.newRows(p, len(tree.ids))
	p.gather(r.x, c.words, tree.ids)
	p.gather(r.spare, c.positions, tree.positions)
	p.b.Axpby(r.x, 1, r.x, 1, r.spare)
	p.shows(r.x)
	for i := range c.blocks {
		w := &tree.mask
		if i == len(c.blocks)-1 {
			w = w.pick(tree.ends) // of the last block, only the end tokens are needed
		}
		c.block(p, r, &c.blocks[i], w)
	}
	end := r.normalise(p, &c.last)
	p.shows(end)
	y := p.array(device.F32, len(jobs), c.project.out())
	p.linear(y, end, &c.project, device.Identity, 0)
	p.shows(y)
	return p.unit(y)
}
