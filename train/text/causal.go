package text

import (
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// causalNet is a transformer in which a token sees itself and the tokens before it.
// Texts that begin alike have tokens with equal vectors there, in every layer; so a
// batch is computed as the tree of its texts' beginnings. A node of the tree is a
// token behind those on the way from the root, and a row of the matrices: 5,700
// labels in "A picture of a {}" have 9.3 tokens each, and 3.0 nodes.
//
// All layers work on nodes, but for the attention, for which the keys and values of
// each text's way are gathered.
type causalNet struct {
	words, places *nn.Param
	blocks        []causalBlock
	head          []nn.Layer // of the end token: [N,D] → [N,vector]
}

// causalBlock is a block with the norms in front (see nn.Block) and its attention in
// parts.
type causalBlock struct {
	norm1     *nn.LayerNorm
	qkv, proj *nn.Linear
	norm2     *nn.LayerNorm
	mlp       *nn.MLP
	heads     int
}

// prefixes is the tree of a batch.
type prefixes struct {
	ids, places []int32 // of each node: the token, and how many are before it
	longest     int     // tokens in a text
	ways        []int32 // nodes of each text, [N, longest], −1 beyond its end
	first       []int32 // of each node a place in ways that has it
	ends        []int32 // the last node of each text
	endsAt      []int32 // its place in ways
}

// prefixesOf builds the tree of texts that are sorted by their ids.
func prefixesOf(jobs []job) *prefixes {
	p := &prefixes{}
	for _, j := range jobs {
		p.longest = max(p.longest, len(j.ids))
	}
	for i, j := range jobs {
		shared := 0
		if i > 0 {
			shared = common(jobs[i-1].ids, j.ids)
			p.ways = append(p.ways, p.ways[(i-1)*p.longest:][:shared]...)
		}
		for at := shared; at < len(j.ids); at++ {
			p.first = append(p.first, int32(len(p.ways)))
			p.ways = append(p.ways, int32(len(p.ids)))
			p.ids, p.places = append(p.ids, j.ids[at]), append(p.places, int32(at))
		}
		p.endsAt = append(p.endsAt, int32(len(p.ways)-1))
		p.ends = append(p.ends, p.ways[len(p.ways)-1])
		for len(p.ways) < (i+1)*p.longest {
			p.ways = append(p.ways, -1)
		}
	}
	return p
}

// common is the length of the longest common beginning.
func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func (c *causalNet) compare(a, b job) int { return slices.Compare(a.ids, b.ids) }

// batch takes texts until they have batchTokens nodes.
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

func (c *causalNet) forward(p *pass, jobs []job) *grad.Var {
	tree := prefixesOf(jobs)
	ways := p.index(tree.ways, len(tree.ways))
	first := p.index(tree.first, len(tree.first))
	gather := func(table *nn.Param, index []int32) *grad.Var {
		return nn.Gather(p.Tape, table.Var(p.Tape), p.index(index, len(index)))
	}
	words, places := gather(c.words, tree.ids), gather(c.places, tree.places)
	x := p.then(words, func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Add(t, x, places) })
	p.Done(places)
	for _, block := range c.blocks[:len(c.blocks)-1] {
		x = p.then(x, func(t *grad.Tape, x *grad.Var) *grad.Var {
			y := block.attend(t, x, len(jobs), ways, first)
			return block.add(t, x, y)
		})
	}
	// Of the last block the end tokens alone are wanted.
	ends, endsAt := p.index(tree.ends, len(tree.ends)), p.index(tree.endsAt, len(tree.endsAt))
	last := c.blocks[len(c.blocks)-1]
	x = p.then(x, func(t *grad.Tape, x *grad.Var) *grad.Var {
		y := last.attend(t, x, len(jobs), ways, endsAt)
		end := nn.Gather(t, x, ends)
		z := last.add(t, end, y)
		t.Done(end)
		return z
	})
	for _, layer := range c.head {
		x = p.then(x, layer)
	}
	return x
}

// attend is the attention over the nodes x [M,D] of n texts, before its projection:
// rows rows of what ways [N·T] gives.
func (l *causalBlock) attend(t *grad.Tape, x *grad.Var, n int, ways, rows device.Array) *grad.Var {
	d := x.Value.Dims[1]
	qkv := nn.Chain(t, x, l.norm1.Forward, l.qkv.Forward)
	all := nn.Gather(t, qkv, ways)
	t.Done(qkv)
	tokens := ways.Len() / n
	y, lse := t.New(device.F32, n*tokens, d), t.New(device.F32, n, l.heads, tokens)
	t.Do(func(b device.Backend) {
		b.Attention(y.Value.Reshape(n, tokens, d), lse.Value, all.Value.Reshape(n, tokens, 3*d), device.Array{},
			device.Heads{Heads: l.heads, Causal: true})
	})
	t.Done(all)
	t.Done(lse)
	z := nn.Gather(t, y, rows)
	t.Done(y)
	return z
}

// add is the block behind the attention y of the nodes x, which the caller keeps.
func (l *causalBlock) add(t *grad.Tape, x, y *grad.Var) *grad.Var {
	change := l.proj.Forward(t, y)
	t.Done(y)
	z := nn.Add(t, x, change)
	t.Done(change)
	change = nn.Chain(t, z, l.norm2.Forward, l.mlp.Forward)
	w := nn.Add(t, z, change)
	t.Done(z)
	t.Done(change)
	return w
}
