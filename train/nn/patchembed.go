package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// PatchEmbed turns images into the tokens of a vision transformer (Dosovitskiy et al., "An Image
// is Worth 16x16 Words", ICLR 2021). A convolution whose stride is its size maps each patch, row
// after row. The class token is put in front and, if there are any, the distillation token of a
// distilled DeiT or the registers of DINOv2. Positions are added to all tokens, or only to the
// patches if there are registers.
type PatchEmbed struct {
	Proj      *Conv    // of each patch
	Front     []*Param // tokens in front, the class token first, D numbers or several times D
	Positions *Param   // [..., T, D]

	onPatches bool // positions are added only to the patches
}

// PatchShape is the geometry of a PatchEmbed.
type PatchShape struct {
	Patch, Width int  // the side of a patch; D
	H, W         int  // of images, in pixels
	Distilled    bool // with a distillation token
	NoClass      bool // without a class token
	Registers    int  // tokens after the class token, without positions (Darcet et al., ICLR 2024)
	NoBias       bool // the convolution has no bias
}

// NewPatchEmbed declares patch_embed.proj, cls_token, dist_token if distilled, reg_token if there
// are registers, and pos_embed, with timm's names and initial values: tokens normal with
// deviation 1e-6, positions with 0.02.
func NewPatchEmbed(c Scope, s PatchShape) *PatchEmbed {
	if s.Patch < 1 || s.H%s.Patch != 0 || s.W%s.Patch != 0 {
		panic(fmt.Sprintf("nn: images of %d×%d do not divide into patches of %d", s.H, s.W, s.Patch))
	}
	tokens := s.H / s.Patch * (s.W / s.Patch)
	e := &PatchEmbed{onPatches: s.NoClass || s.Registers > 0}
	if !s.NoClass {
		e.Front = append(e.Front, c.Param("cls_token", Normal(1e-6), 1, 1, s.Width))
	}
	if s.Distilled {
		e.Front = append(e.Front, c.Param("dist_token", Normal(0.02), 1, 1, s.Width))
	}
	if s.Registers > 0 {
		e.Front = append(e.Front, c.Param("reg_token", Normal(1e-6), 1, s.Registers, s.Width))
	}
	if !e.onPatches {
		tokens += len(e.Front)
	}
	e.Positions = c.Param("pos_embed", Normal(0.02), 1, tokens, s.Width)
	proj := c.In("patch_embed").In("proj")
	shape := device.ConvShape{StrideH: s.Patch, StrideW: s.Patch}
	if e.Proj = NewConv(proj, 3, s.Width, s.Patch, shape); !s.NoBias {
		e.Proj = e.Proj.WithBias(proj)
	}
	return e
}

// Forward maps [N,H,W,4] to [N,T,D].
func (e *PatchEmbed) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	pixels := e.Proj.Forward(t, x)
	if e.onPatches {
		d := pixels.Value.Dims
		placed := AddPositions(t, t.View(pixels, d[0], d[1]*d[2], d[3]), e.Positions)
		t.Done(pixels)
		if len(e.Front) == 0 {
			return placed
		}
		y := e.tokens(t, placed)
		t.Done(placed)
		return y
	}
	tokens := e.tokens(t, pixels)
	t.Done(pixels)
	y := AddPositions(t, tokens, e.Positions)
	t.Done(tokens)
	return y
}

// tokens puts the tokens in front of the patches [N,…,D].
func (e *PatchEmbed) tokens(t *grad.Tape, pixels *grad.Var) *grad.Var {
	n, d, rest := pixels.Value.Dims[0], pixels.Value.Cols(), pixels.Value.Len()/pixels.Value.Dims[0]
	var front []*grad.Var
	ends := []int{0}
	for _, p := range e.Front {
		v := p.As(t, pixels.Value.Type)
		front, ends = append(front, v), append(ends, ends[len(ends)-1]+v.Value.Len())
	}
	ahead := ends[len(ends)-1]
	width := ahead + rest
	y := t.New(pixels.Value.Type, n, width/d, d)
	part := func(all device.Array, from, to int) device.Array { return all.Reshape(n, width).ColRange(from, to) }
	t.Do(func(b device.Backend) {
		b.Copy(part(y.Value, ahead, width), pixels.Value.Reshape(n, rest))
		for i, v := range front {
			into := part(y.Value, ends[i], ends[i+1])
			b.Fill(into, 0)
			b.Axpby(into, 1, into, 1, v.Value.Reshape(v.Value.Len()))
		}
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		if dx := t.Into(pixels); !dx.Absent() {
			b.Copy(dx.Reshape(n, rest), part(dy, ahead, width))
		}
		for i, v := range front {
			if dv, acc := t.Onto(v); !dv.Absent() {
				b.Sums(dv.Reshape(dv.Len()), part(dy, ends[i], ends[i+1]), device.SumCols, acc)
			}
		}
	})
	return y
}
