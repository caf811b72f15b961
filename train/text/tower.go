package text

import "hgld/train/device"

// tower is a transformer (Vaswani et al., "Attention Is All You Need", NeurIPS 2017) over packed
// texts: a matrix x [M,D] with a row for each token and no padding. Every layer except attention
// works on single rows, so texts of all lengths share its products. A ragged mask says what a
// token attends to.
//
// A block with pre-norms, as in CLIP, is
//
//	x += Attention(Norm1(x)), x += MLP(Norm2(x)),
//
// and a block with post-norms, as in BERT, is
//
//	x = Norm1(x + Attention(x)), x = Norm2(x + MLP(x)).
type tower struct {
	blocks []block
	heads  int
	behind bool
	act    device.Func
}

// block holds the parameters of one layer of a transformer.
type block struct {
	norm1, norm2        layerNorm
	qkv, proj, fc1, fc2 linear
}

// linear is x·W + b. The weight is [out,in], or [in,out] if transposed.
type linear struct {
	weight, bias device.Array // bias may be absent
	transposed   bool
}

func (l *linear) out() int {
	if l.transposed {
		return l.weight.Dims[1]
	}
	return l.weight.Dims[0]
}

// layerNorm is layer normalisation.
type layerNorm struct {
	gamma, beta device.Array
	eps         float32
}

// rows holds the memory of a batch in a tower, large enough for all its layers. x holds the
// tokens; the others are scratch of a block.
type rows struct {
	n                         int // number in use
	x, spare, y, wide, square device.Array
}

// newRows makes memory for n tokens.
func (t *tower) newRows(p *pass, n int) *rows {
	b := &t.blocks[0]
	d := b.qkv.weight.Len() / b.qkv.out()
	wide := b.qkv.out()
	for i := range t.blocks {
		wide = max(wide, t.blocks[i].fc1.out())
	}
	return &rows{n: n, x: p.array(device.F32, n, d), spare: p.array(device.F32, n, d), y: p.array(device.F32, n, d),
		wide: p.array(device.F32, n, wide), square: p.array(device.F32, n, 2)}
}

// of returns the rows of a buffer that are in use, with cols columns.
func (r *rows) of(a device.Array, cols int) device.Array {
	return device.Make(a.Buf, a.Off, device.F32, r.n, cols)
}

// tokens returns the rows of x in use.
func (r *rows) tokens() device.Array { return r.of(r.x, r.x.Dims[1]) }

// normalise writes n of the tokens to the spare rows.
func (r *rows) normalise(p *pass, n *layerNorm) device.Array {
	h := r.of(r.spare, r.spare.Dims[1])
	p.b.LayerNorm(h, r.of(r.square, 2), r.tokens(), n.gamma, n.beta, n.eps)
	return h
}

// swap exchanges the tokens and the spare rows.
func (r *rows) swap() { r.x, r.spare = r.spare, r.x }

// block computes the tokens of the next layer, one for each query of w.
func (t *tower) block(p *pass, r *rows, b *block, w *raggedMask) {
	d := r.x.Dims[1]
	h := r.tokens()
	if !t.behind {
		h = r.normalise(p, &b.norm1)
	}
	qkv := r.of(r.wide, 3*d)
	p.linear(qkv, h, &b.qkv, device.Identity, 0)
	y := device.Make(r.y.Buf, r.y.Off, device.F32, w.queries(), d)
	p.attend(y, qkv, w, t.heads)
	if w.rows != nil {
		p.b.Gather(device.Make(r.spare.Buf, r.spare.Off, device.F32, w.queries(), d), r.tokens(), p.upload(w).rows)
		r.swap()
	}
	r.n = w.queries()
	p.linear(r.tokens(), y, &b.proj, device.Identity, 1)
	if t.behind {
		h = r.normalise(p, &b.norm1)
		r.swap()
	} else {
		h = r.normalise(p, &b.norm2)
	}
	hidden := r.of(r.wide, b.fc1.out())
	p.linear(hidden, h, &b.fc1, t.act, 0)
	p.linear(r.tokens(), hidden, &b.fc2, device.Identity, 1)
	if t.behind {
		r.normalise(p, &b.norm2)
		r.swap()
	}
	p.shows(r.tokens())
}
