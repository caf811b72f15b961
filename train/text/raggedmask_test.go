package text

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// plain is the CPU without what other devices may lack.
type plain struct{ device.Backend }

// 1e-5 is the tolerance of the goldens: the sums are in another order.
func TestDevicesWithoutWaysGiveTheSameVectors(t *testing.T) {
	want := both(t, 1)
	clip, err := OpenCLIP(plain{cpu.New(1)}, folder(t, smallCLIP(), nil),
		CLIPOptions{Activation: "gelu", Heads: smallHeads})
	must.Do(t, err)
	bert, err := OpenBERT(plain{cpu.New(1)}, folder(t, smallBERT(), bertFiles))
	must.Do(t, err)
	texts := odd()[:30]
	for name, e := range map[string]*encoder{"clip": &clip.encoder, "bert": &bert.encoder} {
		a, err := e.Encode(t.Context(), texts)
		must.Do(t, err)
		b, err := want[name].Encode(t.Context(), texts)
		must.Do(t, err)
		for i := range a {
			near(t, name+": "+texts[i][:min(20, len(texts[i]))], a[i], b[i], tiny)
		}
	}
}

func TestPairsOfTokenAndPlaceAreThereOnce(t *testing.T) {
	s := sentencesOf([]job{{ids: []int32{1, 5, 9}}, {ids: []int32{1, 6, 9}}, {ids: []int32{1, 5, 5, 9}}})
	if !slices.Equal(s.ids, []int32{1, 5, 9, 6, 5, 9}) || !slices.Equal(s.positions, []int32{0, 1, 2, 1, 2, 3}) {
		t.Errorf("pairs of %v at %v", s.ids, s.positions)
	}
	if want := []int32{0, 1, 2, 0, 3, 2, 0, 1, 4, 5}; !slices.Equal(s.pairs, want) {
		t.Errorf("tokens %v, want %v", s.pairs, want)
	}
	if want := []int32{0, 3, 6}; !slices.Equal(s.heads, want) {
		t.Errorf("first tokens %v, want %v", s.heads, want)
	}
}

// With the first token pooled, the last block computes that one alone.
func TestFirstTokenIsPooledWhereTheModelSaysSo(t *testing.T) {
	files := map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`}
	for name, text := range bertFiles {
		files[name] = text
	}
	f := folder(t, smallBERT(), files)
	e, err := OpenBERT(cpu.New(1), f)
	must.Do(t, err)
	got, err := e.Encode(t.Context(), []string{"church of saints", "road"})
	must.Do(t, err)
	mean := both(t, 1)["bert"]
	all := states(t, mean.b, mean.net, e.tokens()("church of saints"))
	first := all[len(all)-3][:smallWidth] // before mean and length
	near(t, "first token", got[0], ofLengthOne(first), tiny)
}

func ofLengthOne(x []float32) []float32 {
	n := 0.0
	for _, v := range x {
		n += float64(v) * float64(v)
	}
	y := slices.Clone(x)
	for i := range y {
		y[i] = float32(float64(y[i]) / math.Sqrt(n))
	}
	return y
}
