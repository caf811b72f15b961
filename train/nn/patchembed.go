package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// PatchEmbed turns images into the tokens of a vision transformer (Dosovitskiy et al.,
// "An Image is Worth 16x16 Words", ICLR 2021). A convolution whose stride is its size
// maps each patch, row after row. The class token and, in a distilled DeiT, the
// distillation token are put in front. Positions are added to all.
type PatchEmbed struct {
	Proj      *Conv    // of each patch
	Class     *Param   // D numbers
	More      []*Param // tokens after the class token, D numbers each
	Positions *Param   // [..., T, D]
}

// PatchShape is the geometry of a PatchEmbed.
type PatchShape struct {
	Patch, Width int  // the side of a patch; D
	H, W         int  // of images, in pixels
	Distilled    bool // with a distillation token
}

// NewPatchEmbed declares patch_embed.proj, with bias, cls_token, dist_token if
// distilled, and pos_embed under timm's names, with timm's starts: tokens and
// positions normal with deviation 1e-6 and 0.02.
func NewPatchEmbed(c Scope, s PatchShape) *PatchEmbed {
	if s.Patch < 1 || s.H%s.Patch != 0 || s.W%s.Patch != 0 {
		panic(fmt.Sprintf("nn: images of %d×%d in patches of %d", s.H, s.W, s.Patch))
	}
	tokens := 1 + s.H/s.Patch*(s.W/s.Patch)
	e := &PatchEmbed{Class: c.Param("cls_token", Normal(1e-6), 1, 1, s.Width)}
	if s.Distilled {
		tokens++
		e.More = []*Param{c.Param("dist_token", Normal(0.02), 1, 1, s.Width)}
	}
	e.Positions = c.Param("pos_embed", Normal(0.02), 1, tokens, s.Width)
	proj := c.In("patch_embed").In("proj")
	shape := device.ConvShape{StrideH: s.Patch, StrideW: s.Patch}
	e.Proj = NewConv(proj, 3, s.Width, s.Patch, shape).WithBias(proj)
	return e
}

// Forward is [N,H,W,4] → [N,T,D].
func (e *PatchEmbed) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	pixels := e.Proj.Forward(t, x)
	tokens := e.tokens(t, pixels)
	t.Done(pixels)
	y := AddPositions(t, tokens, e.Positions)
	t.Done(tokens)
	return y
}

// tokens puts the class token, and the distillation token, in front of the pixels.
func (e *PatchEmbed) tokens(t *grad.Tape, pixels *grad.Var) *grad.Var {
	n, d := pixels.Value.Dims[0], pixels.Value.Dims[3]
	count, rest := 1+len(e.More), pixels.Value.Len()/n
	width := count*d + rest
	front := make([]*grad.Var, count)
	front[0] = e.Class.As(t, pixels.Value.Type)
	for i, p := range e.More {
		front[1+i] = p.As(t, pixels.Value.Type)
	}
	y := t.New(pixels.Value.Type, n, width/d, d)
	part := func(all device.Array, from, to int) device.Array { return all.Reshape(n, width).ColRange(from, to) }
	t.Do(func(b device.Backend) {
		b.Copy(part(y.Value, count*d, width), pixels.Value.Reshape(n, rest))
		for i, v := range front {
			into := part(y.Value, i*d, (i+1)*d)
			b.Fill(into, 0)
			b.Axpby(into, 1, into, 1, v.Value.Reshape(d))
		}
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		if dx := t.Into(pixels); !dx.Absent() {
			b.Copy(dx.Reshape(n, rest), part(dy, count*d, width))
		}
		for i, v := range front {
			if dv, acc := t.Onto(v); !dv.Absent() {
				b.Sums(dv.Reshape(d), part(dy, i*d, (i+1)*d), device.SumCols, acc)
			}
		}
	})
	return y
}
