package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"hgld/internal/budget"
	"hgld/internal/testing/must"
)

// archive returns a file of torch.save with this pickle and one storage of four float32.
func archive(t testing.TB, pickle string) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, text := range map[string]string{"a/data.pkl": pickle, "a/data/0": strings.Repeat("\x00", 16)} {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))(t)
		w.Write([]byte(text))
	}
	must.Do(t, z.Close())
	return file.Bytes()
}

// number is the opcode LONG1 with eight bytes.
func number(n int64) string {
	return string(binary.LittleEndian.AppendUint64([]byte("\x8a\x08"), uint64(n)))
}

// tensorPickle is {"x": tensor} over four float32, with these operands of shape and strides.
func tensorPickle(offset int64, shape, stride string) string {
	return "\x80\x02}X\x01\x00\x00\x00xctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage" +
		"ctorch\nFloatStorage\n" +
		"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ" + number(offset) + "(" + shape + "t(" + stride + "t\x89)tRs."
}

// A lazily negated tensor, as torch._neg_view and the imaginary part of a conjugate are, has the opposite
// of what its storage holds.
func TestViewsThatNegateTheirStorageAreRefused(t *testing.T) {
	one := number(1)
	plain := tensorPickle(0, number(2), one)
	for _, view := range []string{"neg", "conj"} {
		// (…, hooks, {view: True})
		facts := ")}X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(view)))) + view + "\x88st"
		file := archive(t, strings.Replace(plain, "t\x89)t", "t\x89"+facts, 1))
		_, err := weightsFrom(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), "save x.resolve_conj().resolve_neg()") {
			t.Errorf("%s: %v", view, err)
		}
	}
}

// hostile are files that a program would like to spend hours, gigabytes or a panic on.
func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	read := func(name string) []byte {
		data := must.Get(os.ReadFile("testdata/" + name))(t)
		return data
	}
	one, many := number(1), strings.Repeat("K\x00", 1<<16)
	const long = 1 << 20
	return map[string][]byte{
		"begins at -1 of 4":               read("damaged-empty-tensor-offset.pth"),
		"at state_dict is one that conta": read("damaged-dictionary-in-itself.pth"),
		"begins at 5 of 4":                archive(t, tensorPickle(5, number(0), one)),
		"begins at 9223372036854775807":   archive(t, tensorPickle(1<<63-1, number(0), one)),
		"strides [1 -1]":                  archive(t, tensorPickle(0, number(0)+one, one+number(-1))),
		"strides [1 9223372036854775807]": archive(t, tensorPickle(0, number(0)+number(2), one+number(1<<63-1))),
		"shape [0 -2]":                    archive(t, tensorPickle(0, number(0)+number(-2), one+one)),
		"shape [0 2147483647 2147483647 2147483647": archive(t, tensorPickle(0,
			number(0)+strings.Repeat(number(1<<31-1), 3), strings.Repeat(one, 4))),
		"65536 dimensions":        archive(t, tensorPickle(0, many, many)),
		"a number of 1048576 byt": archive(t, "\x80\x02\x8b\x00\x00\x10\x00"+strings.Repeat("\x7f", long)+"."),
		"more than 1048576 steps": archive(t, "\x80\x02"+strings.Repeat("]", budget.Items)+"."),
	}
}

func TestHostileFilesEndWithAnErrorAtOnce(t *testing.T) {
	for want, file := range hostile(t) {
		start := time.Now()
		_, err := weightsFrom(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %v", want, took)
		}
	}
}

// A storage is read once, whatever order its tensors have.
func TestEachStorageIsReadOnce(t *testing.T) {
	a, b := &storage{"a", storageKind{"U8", 1}, 2}, &storage{"b", storageKind{"U8", 1}, 2}
	var list []entry
	for i := range 4 {
		from := []*storage{a, b}[i%2]
		list = append(list, entry{string(rune('p' + i)), &tensor{from, int64(i / 2), []int{1}, []int64{1}}})
	}
	data := &counted{data: map[string]string{"a": "02", "b": "13"}}
	tensors := must.Get(gather(list, data, 100))(t)
	text := ""
	for _, tensor := range tensors {
		text += tensor.Name + string(tensor.Data)
	}
	if text != "p0q1r2s3" || data.changes != 2 {
		t.Errorf("%s after %d changes of storage, want p0q1r2s3 after 2", text, data.changes)
	}
}

// counted counts how often another storage is asked for.
type counted struct {
	data    map[string]string
	key     string
	changes int
}

func (c *counted) bytes(key string, _ int64) ([]byte, error) {
	if key != c.key {
		c.key = key
		c.changes++
	}
	return []byte(c.data[key]), nil
}
