package pretrained

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/filehash"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/torchfile"
	"hgld/train/backbone"
)

const torchFiles = "../../internal/torchfile/testdata"

// The expected tensors were written by PyTorch's safetensors from the same net.
func TestFileOfTorchBecomesTheSafetensorsThatPythonMakes(t *testing.T) {
	for _, name := range []string{"module", "module-old", "checkpoint", "parameters", "types"} {
		out := filepath.Join(t.TempDir(), "w", name+".safetensors")
		r, err := Fetch(t.Context(), Options{From: filepath.Join(torchFiles, name+".pth"), Out: out})
		must.Do(t, err)
		got, meta, err := tensorfile.ReadAll(out)
		must.Do(t, err)
		want, _, err := tensorfile.ReadAll(filepath.Join(torchFiles, name+".safetensors"))
		if err != nil || len(got) != len(want) || r.Tensors != len(want) || !r.Converted || meta["format"] != "pt" {
			t.Errorf("%s: %d tensors, want %d, %v; %+v, %v", name, len(got), len(want), err, r, meta)
		}
		for _, w := range want {
			i := slices.IndexFunc(got, func(g tensorfile.Tensor) bool { return g.Name == w.Name })
			if i < 0 || got[i].DType != w.DType || !slices.Equal(got[i].Shape, w.Shape) || !bytes.Equal(got[i].Data, w.Data) {
				t.Errorf("%s: %s differs", name, w.Name)
			}
		}
		sum, _, err := filehash.SHA256(t.Context(), out)
		record, readErr := ReadRecord(out)
		if err != nil || readErr != nil || !reflect.DeepEqual(record, r.Record) || record.Stored != sum {
			t.Errorf("%s: %v, %v, the record is %+v, want %+v and %s", name, err, readErr, record, r.Record, sum)
		}
	}
}

// weights is a file of zeros that fits convnet.
func weights(t *testing.T) []byte {
	t.Helper()
	list, err := backbone.KnownNetworks()
	must.Do(t, err)
	var tensors []tensorfile.Tensor
	at := slices.IndexFunc(list, func(k backbone.Known) bool { return k.Name == "convnet" })
	for _, x := range list[at].Store.Layout() {
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		tensors = append(tensors, tensorfile.NewF32(x.Name, x.Dims, make([]float32, n)))
	}
	var b bytes.Buffer
	must.Do(t, tensorfile.WriteSafetensors(&b, tensors, nil))
	return b.Bytes()
}

// folder lists what lies in a folder.
func folder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must.Do(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestSafetensorsAreKeptByteForByte(t *testing.T) {
	data, requests := weights(t), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Write(data)
	}))
	defer s.Close()
	o := Options{Name: "convnet", From: s.URL + "/model", Out: filepath.Join(t.TempDir(), "convnet.safetensors")}
	for range 2 {
		if _, err := Fetch(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(o.Out)
	if err != nil || !bytes.Equal(got, data) || requests != 1 {
		t.Errorf("%v, %d bytes after %d requests, want %d after one", err, len(got), requests, len(data))
	}
	if got, want := folder(t, filepath.Dir(o.Out)), "convnet.json convnet.safetensors"; got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
}

func TestExistingWeightsAreNotReplacedUnasked(t *testing.T) {
	from := filepath.Join(t.TempDir(), "a.safetensors")
	must.Do(t, os.WriteFile(from, weights(t), 0o644))
	o := Options{Name: "convnet", From: from, Out: filepath.Join(t.TempDir(), "convnet.safetensors")}
	must.Do(t, os.WriteFile(o.Out, []byte("mine"), 0o644))
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrExists) {
		t.Errorf("a file without a record: %v", err)
	}
	o.Replace = true
	if _, err := Fetch(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Replace, o.From = false, from+"x"
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrExists) {
		t.Errorf("another origin: %v", err)
	}
	o.From = from
	must.Do(t, os.WriteFile(o.Out, []byte("changed"), 0o644))
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a changed file: %v", err)
	}
}

func TestWrongFilesLeaveNothing(t *testing.T) {
	data := weights(t)
	for name, c := range map[string]struct {
		body  []byte
		o     Options
		is    error
		named string
	}{
		"another sum":     {data, Options{Name: "convnet", SHA256: strings.Repeat("0", 64)}, ErrSum, "want 0000"},
		"another network": {data, Options{Name: "resnet18"}, ErrFit, "they fit convnet"},
		"cut":             {data[:len(data)-1], Options{Name: "convnet"}, nil, "safetensors"},
		"a web page":      {[]byte("<!doctype html>"), Options{Name: "convnet"}, nil, "a web page"},
		"empty":           {nil, Options{Name: "convnet"}, nil, "neither a zip archive nor a pickle"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(c.body) }))
		c.o.From, c.o.Out = s.URL, filepath.Join(t.TempDir(), "w.safetensors")
		_, err := Fetch(t.Context(), c.o)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s: %v", name, err)
		}
		if got := folder(t, filepath.Dir(c.o.Out)); c.is != ErrFit && got != "" {
			t.Errorf("%s left %s", name, got)
		}
		s.Close()
	}
	_, err := Fetch(t.Context(), Options{From: filepath.Join(torchFiles, "refused-call.pth"),
		Out: filepath.Join(t.TempDir(), "w.safetensors")})
	var refused *torchfile.FormatError
	if !errors.As(err, &refused) || !strings.Contains(refused.Refused, "posix.system") {
		t.Errorf("%v, want a refusal of posix.system", err)
	}
}

// The bytes of a good file for another network need not be fetched again under its own name.
func TestFileForAnotherNetworkIsNotFetchedTwice(t *testing.T) {
	data, sent := weights(t), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes */"+r.Header.Get("Range")[len("bytes="):len(r.Header.Get("Range"))-1])
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		sent++
		w.Write(data)
	}))
	defer s.Close()
	dir := t.TempDir()
	o := Options{Name: "resnet18", From: s.URL, Out: filepath.Join(dir, "resnet18.safetensors")}
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrFit) {
		t.Errorf("%v", err)
	}
	o.Name, o.Out = "convnet", filepath.Join(dir, "convnet.safetensors")
	r, err := Fetch(t.Context(), o)
	if err != nil || sent != 1 || r.Transfer.Kept != int64(len(data)) {
		t.Errorf("%v, sent %d times, %d bytes kept", err, sent, r.Transfer.Kept)
	}
}

// An address may hold a password or a signature. Neither is recorded, so that such an address alone
// does not tell whether an existing file is the one that it names.
func TestSecretsOfAnAddressAreNotRecorded(t *testing.T) {
	data := weights(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	defer s.Close()
	from := strings.Replace(s.URL, "//", "//me:SECRET@", 1) + "/w?download=true&sig=SECRET"
	o := Options{Name: "convnet", From: from, Out: filepath.Join(t.TempDir(), "w.safetensors")}
	r, err := Fetch(t.Context(), o)
	if want := s.URL + "/w?download=true&sig=…"; err != nil || r.From != want {
		t.Fatalf("%v, from %s, want %s", err, r.From, want)
	}
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrUnrecorded) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the same address again: %v", err)
	}
	o.SHA256 = r.SHA256
	if again, err := Fetch(t.Context(), o); err != nil || !again.There {
		t.Errorf("the same address and sum: %+v, %v", again, err)
	}
	for _, o := range []Options{{Name: "resnet18"}, {SHA256: strings.Repeat("0", 64)}} {
		o.From, o.Out = from, filepath.Join(t.TempDir(), "x.safetensors")
		if _, err := Fetch(t.Context(), o); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v", err)
		}
		for _, name := range strings.Fields(folder(t, filepath.Dir(o.Out))) {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(o.Out), name))
			if err != nil || bytes.Contains(text, []byte("SECRET")) {
				t.Errorf("%s holds a secret, %v", name, err)
			}
		}
	}
}

// Without --sha256, a file must have the digits in its name, and the sum that its address had at the first fetch.
func TestKnownSumsAreCompared(t *testing.T) {
	data := weights(t)
	sum := filehash.Text(data)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	defer s.Close()
	named := func(digits string) Options {
		return Options{Name: "convnet", From: s.URL + "/convnet-" + digits + ".safetensors",
			Out: filepath.Join(t.TempDir(), "convnet.safetensors")}
	}
	for _, digits := range []string{sum[:8], "20261129", "0a1b2c", "v2"} { // a date, and too few digits
		if _, err := Fetch(t.Context(), named(digits)); err != nil {
			t.Errorf("%s: %v", digits, err)
		}
	}
	if _, err := Fetch(t.Context(), named("0000000a")); !errors.Is(err, ErrSum) ||
		!strings.Contains(err.Error(), "want 0000000a…, as its name says") {
		t.Errorf("another sum than in the name: %v", err)
	}
	o := named("v2")
	if _, err := Fetch(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	data = slices.Clone(data)
	data[len(data)-1] ^= 1
	o.Replace = true
	must.Do(t, os.Remove(o.Out))
	if _, err := Fetch(t.Context(), o); !errors.Is(err, ErrSum) ||
		!strings.Contains(err.Error(), "want "+sum+", as when it was first fetched") {
		t.Errorf("the address has another file: %v", err)
	}
	o.SHA256 = filehash.Text(data)
	if _, err := Fetch(t.Context(), o); err != nil {
		t.Errorf("a new sum that was given: %v", err)
	}
	if _, err := Read(o.Out, ""); err != nil {
		t.Error(err)
	}
	data[len(data)-1] ^= 1
	must.Do(t, os.WriteFile(o.Out, data, 0o644))
	if _, err := Read(o.Out, ""); !errors.Is(err, ErrSum) || !strings.Contains(err.Error(), "was fetched from "+s.URL) {
		t.Errorf("changed since it was fetched: %v", err)
	}
}
