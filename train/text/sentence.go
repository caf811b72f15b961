package text

import (
	"cmp"
	"slices"

	"hgld/train/device"
)

// sentenceNet is a tower in which all tokens of a text attend to one another. Before the first
// block, the vector of a token depends only on the token and its position. The first product is
// therefore computed once for what texts have in common, such as a prompt.
type sentenceNet struct {
	tower
	words, positions device.Array // positions includes the vector of the first sentence
	front            layerNorm
	first            bool // the vector of a text is that of its first token instead of the mean
}

// sentences is a batch: the concatenated tokens of its texts.
type sentences struct {
	ids, positions []int32 // of each distinct pair, in order of first occurrence
	pairs          []int32 // pair of each token
	spans          []int32 // for each token, the tokens of its text
	text           []int32 // text of each token
	heads          []int32 // first token of each text
	share          []float32
}

func sentencesOf(jobs []job) *sentences {
	s := &sentences{}
	type pair struct{ id, position int32 }
	seen := map[pair]int32{}
	for i, j := range jobs {
		from := int32(len(s.pairs))
		s.heads = append(s.heads, from)
		s.share = append(s.share, 1/float32(len(j.ids)))
		for position, id := range j.ids {
			at, known := seen[pair{id, int32(position)}]
			if !known {
				at = int32(len(s.ids))
				seen[pair{id, int32(position)}] = at
				s.ids, s.positions = append(s.ids, id), append(s.positions, int32(position))
			}
			s.pairs = append(s.pairs, at)
			s.spans = append(s.spans, from, from+int32(len(j.ids)))
			s.text = append(s.text, int32(i))
		}
	}
	return s
}

// masks returns the masks of the first block, whose rows are pairs, of the blocks between, and of
// the last.
func (s *sentences) masks(blocks int, first bool) []*raggedMask {
	all := make([]int32, len(s.pairs))
	for i := range all {
		all[i] = int32(i)
	}
	masks := make([]*raggedMask, blocks)
	between := &raggedMask{keys: all, spans: s.spans}
	for i := range masks {
		masks[i] = between
	}
	masks[0] = &raggedMask{rows: s.pairs, keys: s.pairs, spans: s.spans}
	if first {
		masks[blocks-1] = masks[blocks-1].pick(s.heads)
	}
	return masks
}

func (s *sentenceNet) compare(a, b job) int {
	return cmp.Or(cmp.Compare(len(a.ids), len(b.ids)), slices.Compare(a.ids, b.ids))
}

// batch returns how many texts fit in batchTokens tokens.
func (s *sentenceNet) batch(jobs []job) int {
	tokens, n := len(jobs[0].ids), 1
	for n < len(jobs) && tokens+len(jobs[n].ids) <= batchTokens {
		tokens += len(jobs[n].ids)
		n++
	}
	return n
}

func (s *sentenceNet) forward(p *pass, jobs []job) device.Array {
	in := sentencesOf(jobs)
	r := s.newRows(p, len(in.pairs))
	r.n = len(in.ids)
	p.gather(r.tokens(), s.words, in.ids)
	positions := r.of(r.spare, r.x.Dims[1])
	p.gather(positions, s.positions, in.positions)
	p.b.Axpby(r.tokens(), 1, r.tokens(), 1, positions)
	p.shows(r.tokens())
	r.normalise(p, &s.front)
	r.swap()
	p.shows(r.tokens())
	for i, w := range in.masks(len(s.blocks), s.first) {
		s.block(p, r, &s.blocks[i], w)
	}
	if s.first {
		return p.unit(r.tokens())
	}
	mean := p.array(device.F32, len(jobs), r.x.Dims[1])
	p.b.ScatterAdd(mean, r.tokens(), p.index(in.text, len(in.text)), 0)
	p.b.Scale(mean, mean, p.floats(in.share))
	p.shows(mean)
	return p.unit(mean)
}
