package text

import (
	"cmp"
	"slices"

	"hgld/train/device"
)

// sentenceNet is a tower in which all tokens of a text see each other. Before its
// first block the vector of a token depends on the token and its place alone, so
// that what texts have in common, a prompt first of all, meets the first product
// once.
type sentenceNet struct {
	tower
	words, places device.Array // places hold the vector of the first sentence, too
	front         layerNorm
	first         bool // the vector of a text is that of its first token, and not the mean
}

// sentences is a batch: the tokens of its texts one after the other.
type sentences struct {
	ids, places []int32 // of each pair that occurs, in the order of the first
	pairs       []int32 // of each token: its pair
	spans       []int32 // of each token: the tokens of its text
	text        []int32 // of each token
	heads       []int32 // the first token of each text
	share       []float32
}

func sentencesOf(jobs []job) *sentences {
	s := &sentences{}
	type pair struct{ id, place int32 }
	seen := map[pair]int32{}
	for i, j := range jobs {
		from := int32(len(s.pairs))
		s.heads = append(s.heads, from)
		s.share = append(s.share, 1/float32(len(j.ids)))
		for place, id := range j.ids {
			at, known := seen[pair{id, int32(place)}]
			if !known {
				at = int32(len(s.ids))
				seen[pair{id, int32(place)}] = at
				s.ids, s.places = append(s.ids, id), append(s.places, int32(place))
			}
			s.pairs = append(s.pairs, at)
			s.spans = append(s.spans, from, from+int32(len(j.ids)))
			s.text = append(s.text, int32(i))
		}
	}
	return s
}

// ways are those of the first block, whose rows are pairs, of the ones between, and
// of the last.
func (s *sentences) ways(blocks int, first bool) []*way {
	all := make([]int32, len(s.pairs))
	for i := range all {
		all[i] = int32(i)
	}
	ways := make([]*way, blocks)
	between := &way{keys: all, spans: s.spans}
	for i := range ways {
		ways[i] = between
	}
	ways[0] = &way{rows: s.pairs, keys: s.pairs, spans: s.spans}
	if first {
		ways[blocks-1] = ways[blocks-1].pick(s.heads)
	}
	return ways
}

func (s *sentenceNet) compare(a, b job) int {
	return cmp.Or(cmp.Compare(len(a.ids), len(b.ids)), slices.Compare(a.ids, b.ids))
}

// batch takes texts until they have batchTokens tokens.
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
	places := r.of(r.spare, r.x.Dims[1])
	p.gather(places, s.places, in.places)
	p.b.Axpby(r.tokens(), 1, r.tokens(), 1, places)
	p.shows(r.tokens())
	r.normalise(p, &s.front)
	r.swap()
	p.shows(r.tokens())
	for i, w := range in.ways(len(s.blocks), s.first) {
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
