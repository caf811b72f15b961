package torchfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// weights selects the dictionary of weights of a file.
func weights(path string) ([]tensorfile.Tensor, error) { return readFile(path, weightsFrom) }

func weightsFrom(r io.ReaderAt, size int64) ([]tensorfile.Tensor, error) {
	c, err := Select(r, size, "")
	return c.Tensors, err
}

// The files of testdata were made by PyTorch; make.py says how.
func TestTensorsAreThoseThatTorchSaved(t *testing.T) {
	files, err := filepath.Glob("testdata/*.safetensors")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, expected 12: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		if name == "arrays" {
			continue // not weights
		}
		t.Run(name, func(t *testing.T) {
			got := must.Get(weights(filepath.Join("testdata", name+".pth")))(t)
			compare(t, got, file)
		})
	}
}

// compare compares tensors with those of a file.
func compare(t *testing.T, got []tensorfile.Tensor, file string) {
	t.Helper()
	want, _, err := tensorfile.ReadAll(file)
	must.Do(t, err)
	if len(got) != len(want) {
		t.Errorf("%d tensors, expected %d", len(got), len(want))
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(g tensorfile.Tensor) bool { return g.Name == w.Name })
		if i < 0 {
			t.Errorf("%s is missing", w.Name)
			continue
		}
		if g := got[i]; g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s is %s %v of %d bytes, expected %s %v of %d, with the same values",
				w.Name, g.DType, g.Shape, len(g.Data), w.DType, w.Shape, len(w.Data))
		}
	}
}

// NumPy writes an array in another way in each protocol, and NumPy 1 under other names.
func TestArraysAreThoseThatNumPySaved(t *testing.T) {
	files, err := filepath.Glob("testdata/arrays*.pth")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, expected 5: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			all := must.Get(ReadValues(file))(t)
			got, lists := map[string]string{}, 0
			for _, v := range all {
				if texts, err := v.Texts(); err == nil {
					got[v.Name] = strings.Join(texts, "|")
					lists++
				}
			}
			compare(t, all[:len(all)-lists], "testdata/arrays.safetensors")
			want := map[string]string{"paths": "a|bé|c", "objects": "x|1|None", "scalars": "0.5|-3|true"}
			if !maps.Equal(got, want) {
				t.Errorf("the lists are %v, want %v", got, want)
			}
		})
	}
}

func TestDictionariesOfACheckpointAreChosenByTheirKeys(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/dictionaries.pth"))(t)
	for key, want := range map[string]string{
		"":            "1 state_dict [state_dict_ema teacher.model]",
		"state_dict":  "1 state_dict [state_dict_ema teacher.model]",
		"mine":        "5 mine [state_dict state_dict_ema teacher.model]",
		"teacher":     "the dictionary \"teacher\" does not hold tensors alone; it has the keys \"model\"",
		"student":     "no dictionary \"student\" in it; it has the keys \"epoch\", \"state_dict_ema\"",
		"state_dict.": "no dictionary \"state_dict.\" in it", "state_dict_ema": "2 state_dict_ema [state_dict teacher.model]",
		"teacher.model": "3 teacher.model [state_dict state_dict_ema]",
	} {
		c, err := Select(bytes.NewReader(data), int64(len(data)), key)
		got := fmt.Sprint(err)
		if err == nil {
			values, _ := c.Tensors[0].Float32()
			got = fmt.Sprint(values[0], " ", c.Key, " ", c.Others)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}

func TestFilesThatAskForCodeAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"call": "posix.system", "module": "torch.nn.modules.container.Sequential", "namespace": "argparse.Namespace",
		"numpy": "numpy", "script": "TorchScript",
	} {
		_, err := weights("testdata/refused-" + name + ".pth")
		var refused *FormatError
		if !errors.As(err, &refused) || !strings.Contains(refused.Refused, want) {
			t.Errorf("%s: %v, expected a refusal of %s", name, err, want)
		}
	}
	if _, err := os.Stat("evil-was-here"); err == nil {
		t.Error("the call was made")
	}
}

func TestErrorsNameTheContentOfOtherPickles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	whole := must.Get(os.ReadFile("testdata/module.pth"))(t)
	old := must.Get(os.ReadFile("testdata/module-old.pth"))(t)
	for path, want := range map[string]string{
		"testdata/refused-list.pth":               "a list, expected a dictionary",
		write("text.pth", []byte("weights\n")):    "neither a zip archive nor a pickle",
		write("empty.pth", nil):                   "neither a zip archive nor a pickle",
		write("cut.pth", whole[:len(whole)-100]):  "cut or damaged",
		write("cut-old.pth", old[:len(old)-5]):    "ends in the middle",
		write("pickle.pth", []byte("\x80\x02}.")): "no dictionary of tensors in it",
		write("more.pth", []byte("\x80\x02}.}.")): "2 bytes follow its pickle",
	} {
		var format *FormatError
		if _, err := weights(path); !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", filepath.Base(path), err, want)
		}
	}
}

// A pickle can contain itself, share values exponentially often, and describe tensors larger than
// their storage.
func TestMaliciousPicklesEndWithAnError(t *testing.T) {
	header := "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}X\x0d\x00\x00\x00little_endian\x88s."
	doubled := "\x80\x02)q\x00" + strings.Repeat("h\x00h\x00\x86q\x00", 100) + "."
	for name, body := range map[string]string{
		"a dictionary in itself": "\x80\x02}q\x00X\x05\x00\x00\x00modelh\x00s.\x80\x02].",
		"shared values":          doubled + "\x80\x02].",
		"no mark":                "\x80\x02}u.",
		"no value":               "\x80\x020.",
		"a long memo":            "\x80\x02j\xff\xff\xff\x7f.",
		"a long text":            "\x80\x02X\xff\xff\xff\x7fa.",
		"an unknown storage":     "\x80\x02]X\x01\x00\x00\x00ka.",
	} {
		if _, err := weightsFrom(strings.NewReader(header+body), int64(len(header+body))); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// The second entry of the archive's directory points to the data of the first.
func TestOverlappingMembersAreRefused(t *testing.T) {
	whole, err := os.ReadFile("testdata/module.pth")
	must.Do(t, err)
	const entry, offset = "PK\x01\x02", 42 // of a local header in an entry
	first := bytes.Index(whole, []byte(entry))
	second := first + 1 + bytes.Index(whole[first+1:], []byte(entry))
	copy(whole[second+offset:][:4], whole[first+offset:][:4])
	_, err = weightsFrom(bytes.NewReader(whole), int64(len(whole)))
	if err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("%v, want the members that overlap", err)
	}
}

// Python 2 wrote texts and bytes alike.
func TestValuesBecomeJSON(t *testing.T) {
	array := "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btRq\x01(K\x01(K\x02t" +
		"cnumpy\ndtype\n(U\x02i4K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" +
		"U\x08\x05\x00\x00\x00\xff\xff\xff\xfftb"
	for name, want := range map[string]string{
		"testdata/gnd.pkl": `{"gnd":[{"bbx":[1.5,2,3,4],"easy":[0,2],"hard":[],"junk":[1]},` +
			`{"bbx":[1,1,1,1],"easy":[],"hard":[1],"junk":[]}],"imlist":["a","b","c"],"qimlist":["q","r"]}`,
		"\x80\x02}(U\x01a" + array + "U\x01bh\x01u.":                        `{"a":[5,-1],"b":[5,-1]}`,
		"\x80\x02]q\x00h\x00a.":                                             "use one another too often",
		"\x80\x02)q\x00" + strings.Repeat("h\x00h\x00\x86q\x00", 100) + ".": "use one another too often",
		"\x80\x02}(K\x01K\x02u.":                                            "a dictionary has a key that is a number",
		"\x80\x02cnumpy\ndtype\n.":                                          "it holds the name numpy.dtype",
	} {
		path := name
		if name[0] == '\x80' {
			path = filepath.Join(t.TempDir(), "x.pkl")
			must.Do(t, os.WriteFile(path, []byte(name), 0o600))
		}
		data, err := JSON(path)
		got := string(data)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*.p*"))(f)
	for _, file := range files {
		data := must.Get(os.ReadFile(file))(f)
		f.Add(data)
	}
	for _, data := range hostile(f) {
		if len(data) < 64<<10 { // mutations of a large one take the time of many small ones
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		size := int64(len(data))
		if root, storages, err := load(bytes.NewReader(data), size); err == nil {
			if found, _, err := valuesOf(root); err == nil {
				gather(found, storages, mostTimes*size)
			}
			p := plain{left: size}
			p.of(root, 0)
		}
		list, err := weightsFrom(bytes.NewReader(data), size)
		if err != nil {
			return
		}
		for _, tensor := range list {
			if _, err := tensor.Float32(); err != nil {
				t.Errorf("%s: %v", tensor.Name, err)
			}
		}
	})
}
