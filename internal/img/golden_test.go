package img

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// visionCases holds goldens/vision/cases.json.
type visionCases struct {
	Images map[string]struct {
		File     string `json:"file"`
		RuleName string `json:"rule_name"`
		Size     [2]int `json:"size_wh"`
		SHA256   string `json:"sha256_rgb"`
	} `json:"images"`
	Cases             []visionCase `json:"cases"`
	RandomResizedCrop []struct {
		W, H                     int
		Scale, Ratio             [2]float64
		Draws                    []float64
		Top, Left, Height, Width int
		DrawsUsed                int `json:"draws_used"`
	} `json:"random_resized_crop"`
	ShortSide struct {
		Rows [][5]int `json:"rows"`
	} `json:"short_side_sizes"`
	CenterCrop struct {
		Rows [][]json.RawMessage `json:"rows"`
	} `json:"center_crop_1d"`
}

type visionCase struct {
	Name, Op, Image string
	Settings        struct {
		Width, Height, Size int
		Filter              string
		Box                 *[4]float32
		Steps               []json.RawMessage
	}
	Size   [2]int `json:"out_size_wh"`
	SHA256 string `json:"sha256_rgb"`
}

// TestGoldenVision compares with Pillow 12 and torchvision bit for bit, because the arithmetic is
// integer.
func TestGoldenVision(t *testing.T) {
	dir := goldens.Dir(t, "vision")
	var all visionCases
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &all)
	for _, c := range all.Cases {
		t.Run("vision/"+c.Name, func(t *testing.T) {
			src := visionImage(t, dir, &all, c.Image)
			got, grey := runVisionCase(t, src, &c)
			if [2]int{got.W, got.H} != c.Size {
				t.Fatalf("size %d×%d, want %v", got.W, got.H, c.Size)
			}
			pix := got.Pix
			if grey {
				pix = firstChannel(got)
			}
			if sum := sha256.Sum256(pix); hex.EncodeToString(sum[:]) != c.SHA256 {
				t.Errorf("pixels differ from the reference")
			}
		})
	}
}

func runVisionCase(t *testing.T, src *RGB, c *visionCase) (out *RGB, grey bool) {
	t.Helper()
	s := c.Settings
	switch c.Op {
	case "resize":
		return Resize(src, s.Width, s.Height, filterNamed(t, s.Filter)), false
	case "resize_gray":
		return Resize(greyOf(src), s.Width, s.Height, filterNamed(t, s.Filter)), true
	case "resize_box":
		out := new(RGB)
		new(Resampler).ResizeBox(out, src, Box{s.Box[0], s.Box[1], s.Box[2], s.Box[3]}, s.Width, s.Height,
			filterNamed(t, s.Filter))
		return out, false
	case "resize_short_side":
		w, h := ShortSide(src.W, src.H, s.Size)
		return Resize(src, w, h, filterNamed(t, s.Filter)), false
	case "center_crop":
		return centred(src, s.Width, s.Height), false
	case "hflip":
		return mirrored(src), false
	case "transform":
		for _, step := range s.Steps {
			src = runVisionStep(t, src, step)
		}
		return src, false
	}
	t.Fatalf("unknown op %q", c.Op)
	return nil, false
}

func runVisionStep(t *testing.T, m *RGB, raw json.RawMessage) *RGB {
	t.Helper()
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word != "to_tensor" && word != "normalize" { // both are checked on the result
			t.Fatalf("unknown step %q", word)
		}
		return m
	}
	var step struct {
		ShortSide  int     `json:"resize_short_side"`
		Resize     *[2]int `json:"resize_hw"`
		CenterCrop int     `json:"center_crop"`
		Flip       *bool   `json:"hflip"`
		Random     *struct {
			Size         [2]int `json:"size_hw"`
			Scale, Ratio [2]float64
			DrawsRule    string `json:"draws_rule_name"`
			Want         [4]int `json:"top_left_height_width"`
		} `json:"random_resized_crop"`
	}
	if err := json.Unmarshal(raw, &step); err != nil {
		t.Fatalf("step %s: %v", raw, err)
	}
	switch {
	case step.ShortSide > 0:
		w, h := ShortSide(m.W, m.H, step.ShortSide)
		return Resize(m, w, h, Bilinear)
	case step.Resize != nil:
		return Resize(m, step.Resize[1], step.Resize[0], Bilinear)
	case step.CenterCrop > 0:
		return centred(m, step.CenterCrop, step.CenterCrop)
	case step.Flip != nil:
		if *step.Flip {
			m = mirrored(m)
		}
		return m
	case step.Random != nil:
		i := -1
		rule := ruleOf(step.Random.DrawsRule)
		crop := RandomCrop(m.W, m.H, step.Random.Scale, step.Random.Ratio, func() float64 {
			i++
			return (float64(int64(rule(i)>>40)-1<<23)/(1<<23) + 1) / 2
		})
		if got := [4]int{crop.Min.Y, crop.Min.X, crop.Dy(), crop.Dx()}; got != step.Random.Want {
			t.Fatalf("crop %v, want %v", got, step.Random.Want)
		}
		out := new(RGB)
		new(Resampler).ResizeCrop(out, m, crop, step.Random.Size[1], step.Random.Size[0], Bilinear)
		return out
	}
	t.Fatalf("unknown step %s", raw)
	return nil
}

func TestGoldenRandomCropDraws(t *testing.T) {
	dir := goldens.Dir(t, "vision")
	var all visionCases
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &all)
	for k, c := range all.RandomResizedCrop {
		used := 0
		got := RandomCrop(c.W, c.H, c.Scale, c.Ratio, func() float64 { used++; return c.Draws[used-1] })
		want := image.Rect(c.Left, c.Top, c.Left+c.Width, c.Top+c.Height)
		if got != want || used != c.DrawsUsed {
			t.Errorf("entry %d: %v after %d draws, want %v after %d", k, got, used, want, c.DrawsUsed)
		}
	}
	for _, r := range all.ShortSide.Rows {
		if w, h := ShortSide(r[0], r[1], r[2]); w != r[3] || h != r[4] {
			t.Errorf("ShortSide(%d, %d, %d) = %d, %d, want %d, %d", r[0], r[1], r[2], w, h, r[3], r[4])
		}
	}
}

func TestGoldenCenterCropPairs(t *testing.T) {
	dir := goldens.Dir(t, "vision")
	var all visionCases
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &all)
	for _, row := range all.CenterCrop.Rows {
		var n, crop int
		var want []byte
		var values []int
		for i, to := range []any{&n, &crop, &values} {
			must.Do(t, json.Unmarshal(row[i], to))
		}
		for _, v := range values {
			want = append(want, byte(v))
		}
		line := NewRGB(n, 1)
		for i := range n {
			line.Pix[3*i] = byte(i)
		}
		if got := firstChannel(centred(line, crop, 1)); string(got) != string(want) {
			t.Errorf("crop of %d to %d = %v, want %v", n, crop, got, want)
		}
	}
}

// centred is the crop of an evaluation: the middle w×h pixels, black where there are none.
func centred(m *RGB, w, h int) *RGB {
	var across, down Taps
	across.Set(m.W, m.W, Bilinear, CenterWindow(m.W, w))
	down.Set(m.H, m.H, Bilinear, CenterWindow(m.H, h))
	out := NewRGB(w, h)
	new(Resampler).Apply(out, m, m.Bounds(), &across, &down)
	return out
}

// mirrored is m from right to left. A device does that in Pixels.
func mirrored(m *RGB) *RGB {
	out := NewRGB(m.W, m.H)
	for y := range m.H {
		copy(out.row(y), m.row(y))
		slices.Reverse(out.row(y))
	}
	return out
}

func visionImage(t *testing.T, dir string, all *visionCases, name string) *RGB {
	t.Helper()
	in, ok := all.Images[name]
	if !ok {
		t.Fatalf("unknown image %q", name)
	}
	if in.File != "" {
		data := must.Get(os.ReadFile(filepath.Join(dir, in.File)))(t)
		m := must.Get(new(Decoder).Decode(data))(t)
		return m
	}
	m := NewRGB(in.Size[0], in.Size[1])
	rule := ruleOf(in.RuleName)
	for i := range m.Pix {
		m.Pix[i] = byte(rule(i) >> 56)
	}
	if sum := sha256.Sum256(m.Pix); hex.EncodeToString(sum[:]) != in.SHA256 {
		t.Fatalf("image %s is not filled by the rule", name)
	}
	return m
}

// ruleOf returns the values of the fill rule in goldens/backbones/README.md, before rounding: 64
// bits for every element of the tensor called name.
func ruleOf(name string) func(i int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := h.Sum64()
	return func(i int) uint64 {
		z := seed + uint64(i+1)*0x9E3779B97F4A7C15
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
}

func filterNamed(t *testing.T, name string) Filter {
	t.Helper()
	for i, n := range []string{"bilinear", "bicubic", "lanczos"} {
		if n == name {
			return Filter(i)
		}
	}
	t.Fatal(fmt.Errorf("unknown filter %q", name))
	return 0
}

// greyOf sets all channels to Pillow's luma, (19595 R + 38470 G + 7471 B + 2¹⁵)/2¹⁶.
func greyOf(m *RGB) *RGB {
	out := NewRGB(m.W, m.H)
	src, dst := triples(m.Pix), triples(out.Pix)
	for i, p := range src {
		l := byte((19595*int(p[0]) + 38470*int(p[1]) + 7471*int(p[2]) + 32768) >> 16)
		dst[i] = [3]byte{l, l, l}
	}
	return out
}

func firstChannel(m *RGB) []byte {
	var out []byte
	for _, p := range triples(m.Pix) {
		out = append(out, p[0])
	}
	return out
}
