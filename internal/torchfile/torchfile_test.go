package torchfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
)

// The files of testdata were made by PyTorch; make.py says how.
func TestTensorsAreThoseThatTorchSaved(t *testing.T) {
	files, err := filepath.Glob("testdata/*.safetensors")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d files, expected 10: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		t.Run(name, func(t *testing.T) {
			got, err := Read(filepath.Join("testdata", name+".pth"))
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := tensorfile.ReadAll(file)
			if err != nil {
				t.Fatal(err)
			}
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
		})
	}
}

func TestDictionariesOfACheckpointAreChosenByTheirKeys(t *testing.T) {
	data, err := os.ReadFile("testdata/dictionaries.pth")
	if err != nil {
		t.Fatal(err)
	}
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
		_, err := Read("testdata/refused-" + name + ".pth")
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
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile("testdata/module.pth")
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile("testdata/module-old.pth")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"testdata/refused-list.pth":               "a list, expected a dictionary",
		write("text.pth", []byte("weights\n")):    "neither a zip archive nor a pickle",
		write("empty.pth", nil):                   "neither a zip archive nor a pickle",
		write("cut.pth", whole[:len(whole)-100]):  "cut or damaged",
		write("cut-old.pth", old[:len(old)-5]):    "ends in the middle",
		write("pickle.pth", []byte("\x80\x02}.")): "not of torch.save",
	} {
		var format *FormatError
		if _, err := Read(path); !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
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
		if _, err := ReadFrom(strings.NewReader(header+body), int64(len(header+body))); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// The second entry of the archive's directory points to the data of the first.
func TestOverlappingMembersAreRefused(t *testing.T) {
	whole, err := os.ReadFile("testdata/module.pth")
	if err != nil {
		t.Fatal(err)
	}
	const entry, offset = "PK\x01\x02", 42 // of a local header in an entry
	first := bytes.Index(whole, []byte(entry))
	second := first + 1 + bytes.Index(whole[first+1:], []byte(entry))
	copy(whole[second+offset:][:4], whole[first+offset:][:4])
	_, err = ReadFrom(bytes.NewReader(whole), int64(len(whole)))
	if err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("%v, want the members that overlap", err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pth")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, data := range hostile(f) {
		if len(data) < 64<<10 { // mutations of a large one take the time of many small ones
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadFrom(bytes.NewReader(data), int64(len(data)))
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
