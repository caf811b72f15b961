package vendor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// A machine has a cuDNN of its loader and those of Python packages for two versions of CUDA. The newest whose CUDA is
// there comes first.
func TestNewestUsableCuDNNComesFirst(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	wheel := func(at, toolkit, minor string) string {
		t.Helper()
		write(at+"/nvidia_cudnn_"+toolkit+"-9."+minor+".0.dist-info/METADATA", "")
		write(at+"/nvidia/cudnn/include/cudnn_version.h",
			"#define CUDNN_MAJOR 9\n#define CUDNN_MINOR "+minor+"\n#define CUDNN_PATCHLEVEL 0\n")
		write(at+"/nvidia/cudnn/lib/libcudnn.so.9", "")
		return filepath.Join(root, at, "nvidia/cudnn/lib/libcudnn.so.9")
	}
	const loader = "libcudnn.so.9"
	write("system/libcudnn.so.9.14.0", "")
	must.Do(t, os.Symlink("libcudnn.so.9.14.0", filepath.Join(root, "system", loader)))
	write("conda/libcudnn.so.9", "") // tells no release
	old, twelve, thirteen := wheel("old", "cu12", "9"), wheel("a", "cu12", "19"), wheel("b", "cu13", "26")
	conda := filepath.Join(root, "conda", loader)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(root, "nowhere")+":"+filepath.Join(root, "system"))
	upTo := func(most int) func(int) bool { return func(toolkit int) bool { return toolkit <= most } }
	for _, c := range []struct {
		given  []string
		usable func(int) bool
		want   []string
	}{
		{[]string{loader, old, twelve, thirteen}, upTo(13), []string{thirteen, twelve, loader, old}},
		{[]string{loader, old, twelve, thirteen}, upTo(12), []string{twelve, loader, old, thirteen}},
		{[]string{loader, twelve, thirteen}, upTo(0), []string{loader, thirteen, twelve}},
		{[]string{conda, twelve}, upTo(12), []string{conda, twelve}},
		{nil, upTo(12), []string{}},
	} {
		if got := newest(c.given, c.usable); !slices.Equal(got, c.want) {
			t.Errorf("of %s\ngot  %s\nwant %s", strings.Join(c.given, " "), strings.Join(got, " "), strings.Join(c.want, " "))
		}
	}
}

// The loader's cache lists the C library, which every machine that can open libraries has.
func TestWhereReadsTheLoadersCache(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system's loader has no such cache")
	}
	t.Setenv("LD_LIBRARY_PATH", "")
	if path := where("libc.so.6"); filepath.Base(path) != "libc.so.6" || !strings.HasPrefix(path, "/") {
		t.Errorf("libc.so.6 is at %q", path)
	}
	if path := where("libnothing.so.1"); path != "" {
		t.Errorf("a library that is not there is at %q", path)
	}
}
