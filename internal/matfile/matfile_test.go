package matfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/budget"
	"hgld/internal/testing/must"
)

// The files of testdata were written by SciPy; make.py says how.
func TestVariablesAreThoseThatSciPySaved(t *testing.T) {
	for _, name := range []string{"plain", "compressed"} {
		f := must.Get(os.Open("testdata/" + name + ".mat"))(t)
		got, err := Read(f)
		f.Close()
		must.Do(t, err)
		number := func(x ...float64) []float64 { return x }
		car := func(path string, x, class, test float64) map[string]Value {
			return map[string]Value{"relative_im_path": path, "bbox_x1": number(x), "class": number(class), "test": number(test)}
		}
		want := map[string]Value{
			"annotations": []map[string]Value{car("car_ims/000001.jpg", 112, 1, 0), car("car_ims/000002.jpg", 113, 98, 1),
				car("car_ims/000003.jpg", 114, 99, 0)},
			"class_names": []Value{"AM General Hummer SUV 2000", "Citroën C3", "x"},
			"numbers":     number(1.5, 3, -2, 4), "long": number(0, 1, 2, 3, 4, 5, 6, 7, 8), "single": number(0.25),
			"flag": number(1), "none": []float64{},
		}
		for key, w := range want {
			if !reflect.DeepEqual(got[key], w) {
				t.Errorf("%s: %s is %#v, want %#v", name, key, got[key], w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d variables, want %d", name, len(got), len(want))
		}
	}
}

// A text in place of an array, cut at any byte or with any byte changed, is read or is an error.
func TestDamagedFilesEndWithAnError(t *testing.T) {
	whole := must.Get(os.ReadFile("testdata/plain.mat"))(t)
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil && n < 128 {
			t.Errorf("%d bytes were read", n)
		}
		for _, bit := range []byte{1, 0x80, 0xff} {
			changed := bytes.Clone(whole)
			changed[n] ^= bit
			Read(bytes.NewReader(changed)) // it must not panic
		}
	}
	for want, text := range map[string]string{
		"MATLAB 7.3": "MATLAB 7.3 MAT-file", "not a MATLAB file": strings.Repeat("x", 200), "": string(whole[:128]),
	} {
		if _, err := Read(strings.NewReader(text)); (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%.10q: %v, want %q", text, err, want)
		}
	}
}

// A small file must not claim billions of elements, or cells within cells for ever.
func TestHostileFilesEndAtOnce(t *testing.T) {
	matrix := func(class byte, dims []int32, parts ...[]byte) []byte {
		var b bytes.Buffer
		tag := func(kind uint32, data []byte) {
			binary.Write(&b, binary.LittleEndian, []uint32{kind, uint32(len(data))})
			b.Write(data)
			b.Write(make([]byte, (8-len(data)%8)%8))
		}
		var shape bytes.Buffer
		binary.Write(&shape, binary.LittleEndian, dims)
		tag(typeUint32, []byte{class, 0, 0, 0, 0, 0, 0, 0})
		tag(typeInt32, shape.Bytes())
		tag(typeInt8, nil)
		for _, p := range parts {
			b.Write(p)
		}
		body := b.Bytes()
		head := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, typeMatrix), uint32(len(body)))
		return append(head, body...)
	}
	header := append(bytes.Repeat([]byte{' '}, 126), 'I', 'M')
	deep := matrix(classChar, []int32{0, 0}, []byte{typeUint8, 0, 0, 0, 0, 0, 0, 0})
	for range budget.Depth + 1 {
		deep = matrix(classCell, []int32{1, 1}, deep)
	}
	for name, text := range map[string][]byte{
		"cells": matrix(classCell, []int32{1 << 30, 1}), "many": matrix(classCell, []int32{1 << 30, 1 << 30, 1 << 30}),
		"negative": matrix(classCell, []int32{-1, 1}), "deep": deep,
		"fields": matrix(classStruct, []int32{1 << 29, 1}, []byte{typeInt32, 0, 4, 0, 1, 0, 0, 0},
			[]byte{typeInt8, 0, 1, 0, 'a', 0, 0, 0}),
	} {
		if _, err := Read(bytes.NewReader(append(bytes.Clone(header), text...))); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"plain", "compressed"} {
		data := must.Get(os.ReadFile("testdata/" + name + ".mat"))(f)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { Read(bytes.NewReader(data)) })
}
