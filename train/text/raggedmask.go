package text

import (
	"slices"

	"hgld/train/device"
)

// raggedMask says which tokens each query attends to. Row i of the result belongs to the query in
// row rows[i] of the tokens and to the keys in rows keys[from:upto]. spans holds from and upto of
// every query. Without rows, every token is a query.
type raggedMask struct {
	rows, keys, spans []int32
	uploaded          *uploadedMask
}

// uploadedMask is a ragged mask in a device's memory.
type uploadedMask struct{ rows, keys, spans device.Array }

// queries returns the number of rows of the result.
func (w *raggedMask) queries() int { return len(w.spans) / 2 }

// pick returns the mask of some of the results.
func (w *raggedMask) pick(wanted []int32) *raggedMask {
	p := &raggedMask{keys: w.keys}
	for _, i := range wanted {
		row := i
		if w.rows != nil {
			row = w.rows[i]
		}
		p.rows, p.spans = append(p.rows, row), append(p.spans, w.spans[2*i], w.spans[2*i+1])
	}
	return p
}

// upload copies w to the device, once per pass.
func (p *pass) upload(w *raggedMask) *uploadedMask {
	if w.uploaded == nil {
		w.uploaded = &uploadedMask{keys: p.index(w.keys, len(w.keys)), spans: p.index(w.spans, w.queries(), 2)}
		if w.rows != nil {
			w.uploaded.rows = p.index(w.rows, len(w.rows))
		}
	}
	return w.uploaded
}

// attend computes attention before its projection: a row of dst [Q,D] for each query of w, from
// the packed queries, keys and values qkv [N,3D]. A device that does not implement Ragged
// computes it with padding.
func (p *pass) attend(dst, qkv device.Array, w *raggedMask, heads int) {
	on, able := p.b.(device.Ragged)
	if !able {
		p.attendPadded(dst, qkv, w, heads)
		return
	}
	a := p.upload(w)
	on.RaggedAttention(dst, qkv, a.rows, a.keys, a.spans, heads)
}

// paddedTokens bounds the number of tokens that attendPadded holds at once.
const paddedTokens = 1 << 13

// attendPadded makes a text of each query's keys, which include the query, padded to the longest.
func (p *pass) attendPadded(dst, qkv device.Array, w *raggedMask, heads int) {
	longest := 0
	for i := range w.queries() {
		longest = max(longest, int(w.spans[2*i+1]-w.spans[2*i]))
	}
	step := max(1, paddedTokens/longest)
	for lo := 0; lo < w.queries(); lo += step {
		hi := min(lo+step, w.queries())
		n := hi - lo
		var tokens, lengths, wanted []int32
		for i := lo; i < hi; i++ {
			row := int32(i)
			if w.rows != nil {
				row = w.rows[i]
			}
			keys := w.keys[w.spans[2*i]:w.spans[2*i+1]]
			wanted = append(wanted, int32(len(tokens)+slices.Index(keys, row)))
			tokens, lengths = append(tokens, keys...), append(lengths, int32(len(keys)))
			for range longest - len(keys) {
				tokens = append(tokens, keys[0])
			}
		}
		part := &pass{b: p.b, arena: p.arena}
		d := dst.Dims[1]
		all, y := part.array(device.F32, len(tokens), 3*d), part.array(device.F32, len(tokens), d)
		part.gather(all, qkv, tokens)
		p.b.Attention(y.Reshape(n, longest, d), part.array(device.F32, n, heads, longest), all.Reshape(n, longest, 3*d),
			part.index(lengths, n), device.Heads{Heads: heads})
		part.gather(dst.RowRange(lo, hi), y, wanted)
		part.end()
	}
}
