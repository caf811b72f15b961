package tensor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/tensor"
)

func counted(dims ...int) *tensor.Tensor {
	t := tensor.New(dims...)
	for i := range t.Data {
		t.Data[i] = float32(i)
	}
	return t
}

func TestViewsShareElements(t *testing.T) {
	a := counted(4, 3, 2)
	if a.Rows() != 12 || a.Cols() != 2 || !slices.Equal(a.Row(5), []float32{10, 11}) {
		t.Errorf("rows %d, columns %d, row 5 %v", a.Rows(), a.Cols(), a.Row(5))
	}
	part := a.Slice(1, 3)
	part.Data[0] = -1
	if a.Data[6] != -1 || !slices.Equal(part.Dims, []int{2, 3, 2}) {
		t.Errorf("slice %v, element %v", part.Dims, a.Data[6])
	}
	if one := tensor.New(); one.Rows() != 1 || one.Cols() != 1 || len(one.Data) != 1 {
		t.Error("a tensor without dimensions is not one number")
	}
	for name, f := range map[string]func(){
		"From":    func() { tensor.From(make([]float32, 5), 2, 3) },
		"Reshape": func() { a.Reshape(5) },
		"Slice":   func() { a.Slice(2, 5) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a wrong shape did not panic", name)
				}
			}()
			f()
		}()
	}
}

func TestFilesRoundTrip(t *testing.T) {
	dir, want := t.TempDir(), counted(3, 4)
	write := func(name string, data *bytes.Buffer, err error) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, data.Bytes(), 0o644)
		}
		must.Do(t, err)
		return path
	}
	var npy, one, two bytes.Buffer
	paths := []string{
		write("e.npy", &npy, tensorfile.WriteNPY(&npy, want.File(""))),
		write("one.safetensors", &one, tensorfile.WriteSafetensors(&one, []tensorfile.Tensor{want.File("x")}, nil)),
	}
	several := write("two.safetensors", &two,
		tensorfile.WriteSafetensors(&two, []tensorfile.Tensor{want.File("x"), want.File("y")}, nil))
	for _, path := range paths {
		got, err := tensor.Read(path, "")
		if err != nil || !slices.Equal(got.Dims, want.Dims) || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := tensor.Read(several, "y"); err != nil || len(got.Data) != 12 {
		t.Errorf("y: %v, %v", got, err)
	}
	for want, f := range map[string]func() (*tensor.Tensor, error){
		"want the name of one":      func() (*tensor.Tensor, error) { return tensor.Read(several, "") },
		"no tensor":                 func() (*tensor.Tensor, error) { return tensor.Read(several, "z") },
		"want .npy or .safetensors": func() (*tensor.Tensor, error) { return tensor.Read("x.csv", "") },
		"missing.npy":               func() (*tensor.Tensor, error) { return tensor.Read("missing.npy", "") },
		"one.safetensors":           func() (*tensor.Tensor, error) { return tensor.Read(paths[1], "z") },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestDeviceRoundTrips(t *testing.T) {
	b, want := cpu.New(1), counted(5, 7)
	// all hold 0 … 34
	for _, d := range []device.DType{device.F32, device.BF16, device.F16, device.I32, device.U8} {
		a := device.New(b, d, 5, 7)
		want.Upload(b, a)
		got, err := tensor.FromDevice(b, a)
		if err != nil || !slices.Equal(got.Data, want.Data) || !slices.Equal(got.Dims, want.Dims) {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
}
