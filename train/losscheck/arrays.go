package losscheck

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/loss"
)

// readTensors reads parameters of a loss. A .npy file holds a single parameter, which gets the
// given name.
func readTensors(path string, params int, name string) ([]tensorfile.Tensor, error) {
	if filepath.Ext(path) != ".npy" {
		tensors, _, err := tensorfile.ReadAll(path)
		return tensors, err
	}
	if params != 1 {
		return nil, fmt.Errorf("%s is one array, but the loss has %d: want .safetensors with their names", path, params)
	}
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if len(a.Shape) != 2 {
		return nil, fmt.Errorf("%s: its shape is %v, want rows and columns", path, a.Shape)
	}
	list := make([]float32, a.Shape[0]*a.Shape[1])
	if err := a.ReadRows(list, 0); err != nil {
		return nil, err
	}
	return []tensorfile.Tensor{tensorfile.NewF32(name, a.Shape, list)}, nil
}

// WriteGradient writes the gradient by the vectors as .npy, or everything that Tensors returns
// as .safetensors.
func (r *Report) WriteGradient(w io.Writer, path string) error {
	switch filepath.Ext(path) {
	case ".npy":
		return tensorfile.WriteNPY(w, r.tensors[0])
	case ".safetensors":
		return tensorfile.WriteSafetensors(w, r.tensors, map[string]string{"hgld_export": "gradient"})
	}
	return CheckFile(path)
}

// CheckFile returns an error for a file that WriteGradient cannot write.
func CheckFile(path string) error {
	if ext := filepath.Ext(path); ext != ".npy" && ext != ".safetensors" {
		return fmt.Errorf("%s: want a .npy file, or .safetensors for the proxies and theirs too", path)
	}
	return nil
}

// paths uploads labels.
func paths(b device.Backend, list []labels.Path) device.Array {
	var flat []int32
	for _, p := range list {
		flat = append(flat, p...)
	}
	return vector(b, flat).Reshape(len(list), len(list[0]))
}

// gallery returns labels as those of a gallery.
func gallery(list []labels.Path) []labels.Path {
	items := make([]labels.Path, len(list))
	for i, p := range list {
		items[i] = loss.GalleryPath(p)
	}
	return items
}

// vector uploads integers. An empty list gives an absent array.
func vector(b device.Backend, list []int32) device.Array {
	if list == nil {
		return device.Array{}
	}
	var data []byte
	for _, v := range list {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	a := device.New(b, device.I32, len(list))
	b.Upload(a, data)
	return a
}

// values downloads an array.
func values(b device.Backend, a device.Array) ([]float32, error) {
	data := make([]byte, 4*a.Len())
	if err := b.Wait(b.Download(data, a)); err != nil {
		return nil, err
	}
	list := make([]float32, a.Len())
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return list, nil
}

// wide downloads a matrix as float64 rows.
func wide(b device.Backend, a device.Array) ([][]float64, error) {
	list, err := values(b, a)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, a.Rows())
	for i := range rows {
		rows[i] = make([]float64, a.Cols())
		for j := range rows[i] {
			rows[i][j] = float64(list[i*a.Cols()+j])
		}
	}
	return rows, nil
}
