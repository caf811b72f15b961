package tensorfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// Another implementation wrote the file, which has every type.
func TestGoldenDTypes(t *testing.T) {
	t.Run("backbones/dtypes", func(t *testing.T) {
		dir := goldens.Dir(t, "backbones")
		var want map[string]struct {
			DType  string
			Shape  []int
			Values []any `json:"values_as_float64"`
		}
		goldens.ReadJSON(t, filepath.Join(dir, "dtypes.json"), &want)
		f := must.Get(OpenSafetensors(filepath.Join(dir, "dtypes.safetensors")))(t)
		defer f.Close()
		if len(want) == 0 || len(f.Names()) != len(want) {
			t.Errorf("%d tensors, want %d", len(f.Names()), len(want))
		}
		if f.Metadata["format"] != "pt" {
			t.Errorf("metadata = %v", f.Metadata)
		}
		for name, w := range want {
			wide, err := f.Float64(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			single, err := f.Float32(name)
			if err != nil {
				t.Error(err)
			}
			if _, shape, _ := f.Shape(name); !slices.Equal(shape, w.Shape) || len(wide) != len(w.Values) {
				t.Errorf("%s: shape %v with %d values, want %v with %d", name, shape, len(wide), w.Shape, len(w.Values))
				continue
			}
			for i, v := range w.Values {
				x := number(t, v)
				if !sameNumber(wide[i], x) || !sameNumber(float64(single[i]), float64(float32(x))) {
					t.Errorf("%s[%d] = %g and %g, want %g", name, i, wide[i], single[i], x)
				}
			}
		}
	})
}

// number reads a JSON number, or the name of one that JSON cannot write.
func number(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return v
	case string:
		switch v {
		case "inf":
			return math.Inf(1)
		case "-inf":
			return math.Inf(-1)
		case "nan":
			return math.NaN()
		}
	}
	t.Fatalf("no number: %v", v)
	return 0
}

func sameNumber(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
}

func written(t testing.TB, ts []Tensor, meta map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	must.Do(t, WriteSafetensors(&buf, ts, meta))
	return buf.Bytes()
}

var sample = []Tensor{
	NewF32("w", []int{2, 3}, []float32{1, -2, 3.5, 0, float32(math.Inf(1)), 1e-45}),
	NewI64("steps", nil, []int64{1 << 40}),
	{Name: "none", DType: "F16", Shape: []int{0, 7}},
	{Name: `a "quoted" <name> ß`, DType: "U8", Shape: []int{3}, Data: []byte{1, 2, 255}},
	{Name: "last", DType: "BF16", Shape: []int{1, 1, 2}, Data: []byte{0x80, 0x3f, 0, 0xc0}},
}

func TestSafetensorsKeepsOrderBytesAndMetadata(t *testing.T) {
	meta := map[string]string{"z": "1", "a": "ü\n"}
	data := written(t, sample, meta)
	if !bytes.Equal(data, written(t, sample, meta)) {
		t.Error("the same tensors gave other bytes")
	}
	if n := binary.LittleEndian.Uint64(data); n%8 != 0 {
		t.Errorf("the data begin at %d, not at a multiple of 8", n+8)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	must.Do(t, os.WriteFile(path, data, 0o644))
	mapped := must.Get(OpenSafetensors(path))(t)
	defer mapped.Close()
	read := must.Get(ReadSafetensors(bytes.NewReader(data), int64(len(data))))(t)
	for _, f := range []*File{mapped, read} {
		if f.Metadata["a"] != "ü\n" || len(f.Metadata) != 2 {
			t.Errorf("metadata = %v", f.Metadata)
		}
		for i, name := range f.Names() {
			got := must.Get(f.Tensor(name))(t)
			w := sample[i]
			if name != w.Name || got.DType != w.DType || !slices.Equal(got.Shape, w.Shape) || !bytes.Equal(got.Data, w.Data) {
				t.Errorf("tensor %d = %+v, want %+v", i, got, w)
			}
		}
	}
	all, _, err := ReadAll(path)
	if err != nil || len(all) != len(sample) {
		t.Errorf("ReadAll: %d tensors, %v", len(all), err)
	}
	if v, err := all[1].Int64(); err != nil || v[0] != 1<<40 {
		t.Errorf("Int64 = %v, %v", v, err)
	}
	if _, err := all[0].Int64(); err == nil {
		t.Error("Int64 of an F32 tensor is no error")
	}
}

func TestUnknownTensorIsAnErrorThatNamesSomeOfTheFile(t *testing.T) {
	data := written(t, []Tensor{NewF32("layer1.0.conv1.weight", []int{1}, []float32{1})}, nil)
	f := must.Get(ReadSafetensors(bytes.NewReader(data), int64(len(data))))(t)
	if _, err := f.Float32("layer1.0.conv2.weight"); err == nil ||
		!strings.Contains(err.Error(), "layer1.0.conv1.weight") {
		t.Errorf("error = %v, want one that shows layer1.0.conv1.weight", err)
	}
	if f.Has("x") || !f.Has("layer1.0.conv1.weight") {
		t.Error("Has is wrong")
	}
}

func TestWriteSafetensorsRefusesWhatCannotBeRead(t *testing.T) {
	one := []byte{1}
	for want, ts := range map[string][]Tensor{
		"taken":     {{Name: "a", DType: "U8", Data: one}, {Name: "a", DType: "U8", Data: one}},
		"reserved":  {{Name: "__metadata__", DType: "U8", Data: one}},
		"not UTF-8": {{Name: "\xff", DType: "U8", Data: one}},
		"unknown":   {{Name: "a", DType: "F8", Data: one}},
		"1 bytes":   {{Name: "a", DType: "U8", Shape: []int{2}, Data: one}},
		"negative":  {{Name: "a", DType: "U8", Shape: []int{-1, -1}, Data: one}},
		"bytes for": {{Name: "a", DType: "U8", Shape: []int{1 << 33, 1 << 33}, Data: one}},
	} {
		err := WriteSafetensors(&bytes.Buffer{}, ts, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

func TestTruncatedFileIsAnError(t *testing.T) {
	data := written(t, sample, map[string]string{"k": "v"})
	for n := range len(data) {
		if _, err := ReadSafetensors(bytes.NewReader(data[:n]), int64(n)); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(data))
		}
	}
	if _, err := ReadSafetensors(bytes.NewReader(append(data, 0)), int64(len(data)+1)); err == nil {
		t.Error("a byte behind the data was accepted")
	}
	// a file shorter than it declares is an error of reading, and no panic
	if f, err := ReadSafetensors(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Error(err)
	} else {
		f.data.at = bytes.NewReader(data[:len(data)-1])
		if _, err := f.Tensor("last"); err == nil {
			t.Error("a tensor beyond the end was read")
		}
	}
}
