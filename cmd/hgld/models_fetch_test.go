package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// The printed settings are all that a training needs, beside its data.
func TestModelsFetchSaysWhatToTrainWith(t *testing.T) {
	for name, want := range map[string]string{
		"resnet50":     "-o model.backbone=resnet50 -o model.weights=w.safetensors",
		"dinov2-small": "-o model.backbone=dinov2-small -o model.weights=w.safetensors -o model.pooling=none",
	} {
		if got := trainedWith(name, "w.safetensors"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The file that says how images are prepared comes from an address, too.
func TestModelsFetchTakesTheSettingsOfAnAddress(t *testing.T) {
	from := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) { return x, true })
	data := must.Get(os.ReadFile(from))(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/w":
			w.Write(data)
		case "/a/config.json":
			w.Write([]byte(`{"architecture": "x", "pretrained_cfg": {"input_size": [3, 64, 64], "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5],
				"interpolation": "bicubic", "crop_pct": 1}}`))
		case "/b/config.json":
			w.Write([]byte(`[1`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("hgld.yaml", nil, 0o644))
	for _, c := range []struct {
		settings, want string
		code           int
	}{
		{"/b/config.json?sig=SECRET", "config.json?sig=…: unexpected end of JSON input", exitFailed},
		{"/c/config.json", "404", exitFailed},
		{"/w", `unknown file of settings "w"`, exitUsage},
		{"", "add --settings URL", exitOK},
		{"/a/config.json", "already exists: it is from", exitUsage},
		{"/a/config.json --replace", "/a/config.json: timm's x, mean [0.5 0.5 0.5]", exitOK},
		{"/a/config.json", "already exists, from the same source", exitOK},
	} {
		args := []string{"models", "fetch", "convnet", "--from", s.URL + "/w"}
		if settings := strings.Fields(c.settings); len(settings) > 0 {
			args = append(append(args, "--settings", s.URL+settings[0]), settings[1:]...)
		}
		code, out, errs := run(t, args...)
		if code != c.code || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "SECRET") {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.settings, code, c.code, c.want, out, errs)
		}
	}
	if left, _ := filepath.Glob("weights/.*"); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A user's way: fetch, check, fetch again; and a server that fails.
func TestModelsFetchKeepsWeightsInTheProject(t *testing.T) {
	from := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) { return x, true })
	data := must.Get(os.ReadFile(from))(t)
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write(data)
	}))
	defer s.Close()
	dir, address := t.TempDir(), s.URL+"/w"
	must.Do(t, os.WriteFile(filepath.Join(dir, "hgld.yaml"), nil, 0o644))
	fetch := func(name string) (string, int) {
		var out, errs bytes.Buffer
		code := hgld([]string{"hgld", "models", "fetch", name, "-C", dir, "--from", address}, &out, &errs)
		return out.String() + errs.String(), code
	}
	for _, want := range []string{"fetched 969072 bytes", "already exists"} {
		out, code := fetch("convnet")
		if code != exitOK || !strings.Contains(out, want) || !strings.Contains(out, "fits convnet") {
			t.Errorf("exit %d, no %q in\n%s", code, want, out)
		}
	}
	kept := filepath.Join(dir, "weights", "convnet.safetensors")
	if out, code := check(t, kept); code != exitOK {
		t.Errorf("exit %d\n%s", code, out)
	}
	for code, want := range map[int]int{http.StatusNotFound: exitFailed, http.StatusForbidden: exitFailed} {
		status = code
		if out, got := fetch("resnet18"); got != want || !strings.Contains(out, http.StatusText(code)) {
			t.Errorf("%d: exit %d, want %d\n%s", code, got, want, out)
		}
	}
	address = strings.Replace(s.URL, "//", "//me:SECRET@", 1) + "/w?sig=SECRET"
	for _, code := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusOK} {
		status = code
		if out, got := fetch("resnet18"); got == exitOK || strings.Contains(out, "SECRET") {
			t.Errorf("%d: exit %d\n%s", code, got, out)
		}
	}
	address = s.URL + "/w"
	status = http.StatusOK
	if out, code := fetch("resnet18"); code != exitIntegrity || !strings.Contains(out, "they fit convnet") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
