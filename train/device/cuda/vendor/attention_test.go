package vendor

import "testing"

// The gradient's workspace is bounded by halving the images, which then lie one part behind the other.
func TestPartsOfAnAttention(t *testing.T) {
	for _, c := range []struct {
		of            Attention
		images, parts int
	}{
		{Attention{Gradient: true, Images: 256, Tokens: 197, Heads: 12, Size: 64}, 128, 2},
		{Attention{Gradient: true, Images: 256, Tokens: 197, Heads: 6, Size: 64}, 256, 1},
		{Attention{Images: 4096, Tokens: 197, Heads: 12, Size: 64}, 4096, 1},
		{Attention{Gradient: true, Images: 257, Tokens: 197, Heads: 12, Size: 64}, 257, 1}, // too much: it is refused
	} {
		a, parts := c.of.Within()
		if a.Images != c.images || parts != c.parts {
			t.Errorf("%v: %d parts of %d images, want %d of %d", c.of, parts, a.Images, c.parts, c.images)
		}
	}
	a := Attention{Images: 2, Tokens: 3, Heads: 5, Size: 8}
	const token, rows = 2 * 5 * 8, 2 * 3
	got := a.Of(a.Part(Sequences{QKV: 1e6, Y: 2e6, LSE: 3e6, DY: 4e6, DQKV: 5e6, Delta: 6e6}, 2))
	for id, want := range map[tensor]uint64{
		tensorQ: 1e6 + 2*rows*3*token, tensorK: 1e6 + 2*rows*3*token + token, tensorV: 1e6 + 2*rows*3*token + 2*token,
		tensorO: 2e6 + 2*rows*token, tensorLSE: 3e6 + 2*rows*5*4, tensorDO: 4e6 + 2*rows*token,
		tensorDQ: 5e6 + 2*rows*3*token, tensorDV: 5e6 + 2*rows*3*token + 2*token, tensorDelta: 6e6,
	} {
		if got.of(id) != want {
			t.Errorf("tensor %d is at %d, want %d", id, got.of(id), want)
		}
	}
}
